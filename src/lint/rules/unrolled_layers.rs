//! `unrolled-layers`.

use crate::config::{bytes, total_bytes};
use crate::hlo::InstructionId;
use crate::lint::cause::Alive;
use crate::lint::layers::inputs_bytes;
use crate::lint::recompute::{is_in_backward, is_worth_a_word, keep_only, only_moves};
use crate::lint::{
    Cause, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Source, Threshold,
    composition,
};
use crate::memory::ValueId;
use rustc_hash::{FxHashMap, FxHashSet};

/// See [`META`].
pub struct UnrolledLayers;

/// The declaration.
pub static META: Meta = Meta {
    name: "unrolled-layers",
    summary: "equal buffers of many layers are alive together",
    documentation: "\
What it does: finds buffers of one shape that one line computes many times, outside of any loop that
stacks them, and that are alive together at the peak: values of the forward pass that the backward
pass reads, in one finding for all of them, and gradients of all layers in another.
Why it costs memory: layers that stand one behind the other in a Python loop keep what their backward
steps need, each in buffers of its own; gradients of all layers wait for the optimizer.
Example: twelve layers with bf16[32768,8192] of 512 MiB each hold 6 GiB.
Remedy: jax.checkpoint around each layer keeps one input a layer and computes the rest again; the
figure leaves as much as the narrowest cut between the layers carries, what the recomputation of one
layer needs may come on top. Gradients: let the optimizer take them in bf16, shard them, or update
layer by layer; what that leaves is not told.
References: E1000, scenario 3.E (jax.checkpoint); many equal tensors in the backward pass are its sign.",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[Threshold {
        name: "layers",
        default: 4.0,
        documentation: "how many equal buffers of one line are layers",
    }],
    reference: Reference { code: "E1000", section: "scenario 3.E, rematerialization" },
};

impl Rule for UnrolledLayers {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        for is_backward in [false, true] {
            let groups = groups(context, is_backward);
            let held = total_bytes(groups.iter().map(|group| group.bytes));
            let largest = groups.iter().max_by_key(|group| group.bytes);
            let Some(largest) = largest.filter(|_| is_worth_a_word(context, &META, held)) else {
                continue;
            };
            let finding = if is_backward {
                Some(of_gradients(context, &groups, largest, held))
            } else {
                of_activations(context, &groups, largest, held)
            };
            if let Some(finding) = finding {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// Equal buffers of one line.
struct Group {
    values: Vec<ValueId>,
    bytes: u64,
    shape: String,
    source: Option<Source>,
}

/// The groups of at least so many buffers as there are layers, in the order of the peak's list.
fn groups(context: &Context<'_>, is_backward: bool) -> Vec<Group> {
    let fewest = (context.threshold(&META, "layers") as usize).max(2);
    let mut groups: Vec<Group> = Vec::new();
    let mut places: FxHashMap<(String, String, Option<Source>), usize> = FxHashMap::default();
    for one in context.alive.iter().filter(|one| one.stacked.is_none()) {
        let value = context.profile.value(one.value);
        let (origin, source) = context.origin(value);
        if !belongs(context, one, origin, is_backward) {
            continue;
        }
        let source = source.map(|source| Source { inferred: false, ..source });
        let shape = context.shape_text(value.shape);
        // A kernel or line that is not known makes nothing equal.
        if source.is_none() {
            continue;
        }
        let operation = composition::operation(context, origin);
        let key = (shape.clone(), operation, source.clone());
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => {
                group.values.push(one.value);
                group.bytes = group.bytes.saturating_add(one.size_bytes);
            }
            None => {
                groups.push(Group { values: vec![one.value], bytes: one.size_bytes, shape, source })
            }
        }
    }
    groups.retain(|group| {
        let instructions: FxHashSet<InstructionId> =
            group.values.iter().map(|&id| context.profile.value(id).instruction).collect();
        instructions.len() >= fewest
    });
    groups
}

/// Whether a temporary is one that its pass keeps: a gradient, or a value of the forward pass that the
/// backward pass reads.
fn belongs(context: &Context<'_>, one: &Alive, origin: InstructionId, is_backward: bool) -> bool {
    match one.cause {
        Cause::Gradient => is_backward,
        Cause::ArgumentCopy => false,
        _ => {
            let instruction = context.profile.value(one.value).instruction;
            !is_backward
                && !is_in_backward(context, origin)
                && !is_in_backward(context, instruction)
                && backward_reads(context, instruction)
        }
    }
}

/// Whether an instruction of the backward pass uses a result, directly or moved.
fn backward_reads(context: &Context<'_>, instruction: InstructionId) -> bool {
    const STEPS: usize = 64;
    let mut work = vec![instruction];
    for step in 0.. {
        let Some(at) = work.pop().filter(|_| step < STEPS) else { break };
        for (user, _) in context.graph.users(at) {
            if is_in_backward(context, user) {
                return true;
            }
            if only_moves(context.module.opcode(user)) {
                work.push(user);
            }
        }
    }
    false
}

/// `12 x bf16[32768,8192] of 512.00 MiB (models.py:10)`, and how many others there are.
fn largest_line(context: &Context<'_>, groups: &[Group], largest: &Group) -> String {
    let count = largest.values.len();
    let each = largest.values.iter().map(|&id| context.profile.value(id).size_bytes).max();
    let place = largest.source.as_ref().map_or(String::new(), |source| format!(" ({source})"));
    let all: usize = groups.iter().map(|group| group.values.len()).sum();
    let others = match all - count {
        0 => String::new(),
        1 => ", 1 other".to_owned(),
        others => format!(", {others} others"),
    };
    format!("{count} x {} of {}{place}{others}", largest.shape, bytes(each.unwrap_or(0)))
}

fn finding_of(context: &Context<'_>, groups: &[Group], largest: &Group, held: u64) -> Finding {
    let first = largest.values.first().map(|&id| context.profile.value(id));
    let mut finding = context.finding(&META, first.map(|value| context.origin(value).0));
    finding.source = largest.source.clone();
    finding.shape = Some(largest.shape.clone());
    finding.details = vec![largest_line(context, groups, largest)];
    finding.bytes = held;
    finding.buffers = groups
        .iter()
        .flat_map(|group| &group.values)
        .map(|&id| context.profile.value(id).buffer)
        .collect();
    finding
}

/// What the forward pass keeps. `None` where a checkpoint would save little, as where it is there.
fn of_activations(
    context: &Context<'_>,
    groups: &[Group],
    largest: &Group,
    held: u64,
) -> Option<Finding> {
    let values: Vec<ValueId> = groups.iter().flat_map(|group| &group.values).copied().collect();
    let keep_bytes = inputs_bytes(context, &largest.values);
    if keep_bytes > held / 2 {
        return None;
    }
    let layers = largest.values.len() as u64;
    let edits = keep_only(context, &values, keep_bytes);
    let remedy = context.priced("jax.checkpoint around each layer", edits, false)?;
    let mut finding = finding_of(context, groups, largest, held);
    finding.message = format!("{layers} layers keep {} for the backward pass", bytes(held));
    finding.remedies = vec![Remedy { recomputed_bytes: Some(held / layers.max(1)), ..remedy }];
    Some(finding)
}

fn of_gradients(context: &Context<'_>, groups: &[Group], largest: &Group, held: u64) -> Finding {
    let mut finding = finding_of(context, groups, largest, held);
    finding.message = format!(
        "gradients of {} layers, {}, are alive together",
        largest.values.len(),
        bytes(held)
    );
    finding.remedies =
        vec![Remedy::new("shard the gradients, keep them in bf16, or update layer by layer")];
    finding
}
