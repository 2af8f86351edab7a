//! `stacked-residuals`.

use crate::config::{bytes, total_bytes};
use crate::hlo::{InstructionId, Opcode};
use crate::lint::recompute::{is_worth_a_word, keep_only, only_moves};
use crate::lint::stacked::{Stacked, stacked};
use crate::lint::{Cause, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};
use crate::memory::{Edit, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// See [`META`].
pub struct StackedResiduals;

/// The declaration.
pub static META: Meta = Meta {
    name: "stacked-residuals",
    summary: "a scan keeps values of each iteration for the backward pass",
    documentation: "\
What it does: finds, over each loop, the buffers that it fills one slice an iteration (written by
dynamic-update-slice) and that a loop of the backward pass reads, where they are alive at the peak.
One finding speaks for all buffers of a loop. What XLA recomputes by itself is no such buffer, and
where the layer is checkpointed already the rule is silent.
Why it costs memory: the derivative of lax.scan keeps what each iteration's backward step needs, for
all iterations at once.
Example: 24 layers of a transformer keep 126 GiB, 72 of them attention scores.
Remedy: jax.checkpoint around the function that is scanned keeps one input a layer and computes the
rest again; around an inner function it keeps what is outside of it; where the carry itself is what is kept,
around chunks of iterations (a scan of scans). A policy (jax.checkpoint_policies) keeps or offloads
single values. The figure leaves the layers' inputs in
memory; what the recomputation of one layer needs may come on top and is stated beside it.
References: E1000, scenario 3.E (jax.checkpoint) and 3.B (offloading of activations).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "scenario 3.E, rematerialization" },
};

/// What of a scan's buffers must be one function's for it to be worth a checkpoint of its own.
const INNER: std::ops::Range<f64> = 0.25..0.9;

/// The fewest iterations that are worth a scan of scans.
const FEWEST_FOR_CHUNKS: u64 = 16;

impl Rule for StackedResiduals {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        for scan in scans(context) {
            if let Some(finding) = report(context, &scan) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// A loop and the buffers that it keeps for the backward pass.
struct Scan {
    stacked: Stacked,
    /// The largest first.
    values: Vec<ValueId>,
    held_bytes: u64,
}

/// The loops with what they keep, in text order.
fn scans(context: &Context<'_>) -> Vec<Scan> {
    let mut scans: BTreeMap<InstructionId, Scan> = BTreeMap::new();
    for one in &context.alive {
        let is_kept = !matches!(one.cause, Cause::ArgumentCopy | Cause::Gradient);
        let Some(stacked) = one.stacked.as_ref().filter(|found| is_kept && found.for_backward)
        else {
            continue;
        };
        let scan = scans.entry(stacked.filled_by).or_insert_with(|| Scan {
            stacked: stacked.clone(),
            values: Vec::new(),
            held_bytes: 0,
        });
        scan.values.push(one.value);
        scan.held_bytes = scan.held_bytes.saturating_add(one.size_bytes);
    }
    scans.into_values().collect()
}

fn report(context: &Context<'_>, scan: &Scan) -> Option<Finding> {
    if !is_worth_a_word(context, &META, scan.held_bytes) {
        return None;
    }
    let largest = *scan.values.iter().max_by_key(|&&id| context.profile.value(id).size_bytes)?;
    let layer = unit(context, scan.stacked.iterations);
    let whole = whole_layer(context, scan, layer)?;
    let mut finding = context.finding(&META, Some(scan.stacked.filled_by));
    finding.source = scan.stacked.source.clone();
    finding.shape = Some(context.shape_text(context.profile.value(largest).shape));
    let count = scan.values.len();
    finding.message = format!(
        "lax.scan keeps {count} buffer{}, {}, one slice per {layer}",
        if count == 1 { "" } else { "s" },
        bytes(scan.held_bytes)
    );
    finding.bytes = scan.held_bytes;
    finding.buffers = scan.values.iter().map(|&id| context.profile.value(id).buffer).collect();
    // One around all of the layer but its input is the same one.
    let after = |remedy: &Remedy| remedy.required_bytes_after.unwrap_or(0);
    let inner =
        inner_function(context, scan).filter(|inner| after(inner) > after(&whole) / 10 * 11);
    finding.remedies.push(whole);
    finding.remedies.extend(inner);
    Some(finding)
}

/// What an iteration is: a layer where an argument has a slice for each, else an iteration.
fn unit(context: &Context<'_>, iterations: u64) -> &'static str {
    let has_slices = context.arguments.iter().any(|argument| {
        let array = context.module.shape(argument.instruction).array();
        array.is_some_and(|array| {
            array.dimensions.len() > 1
                && array.dimensions.first().is_some_and(|first| first.size == iterations)
        })
    });
    if has_slices { "layer" } else { "iteration" }
}

/// The checkpoint around what is scanned: the carry stays, one for each iteration. Where the carry is
/// most of it already, one around chunks of iterations. `None` where little would be gained.
fn whole_layer(context: &Context<'_>, scan: &Scan, layer: &str) -> Option<Remedy> {
    let iterations = scan.stacked.iterations.max(1);
    let keep_bytes = carry_bytes(context, scan.stacked.filled_by).saturating_mul(iterations);
    if keep_bytes > scan.held_bytes / 2 {
        return chunks(context, scan, layer);
    }
    let edits = keep_only(context, &scan.values, keep_bytes);
    let action = match layer {
        "layer" => "jax.checkpoint around the scanned layer",
        _ => "jax.checkpoint around the scanned function",
    };
    let remedy = context.priced(action, edits, false)?;
    Some(Remedy { recomputed_bytes: Some(scan.held_bytes / iterations), ..remedy })
}

/// Scans of scans, the outer one checkpointed: of n iterations the slices of some 2 sqrt(n) are kept at
/// a time. Only where the slices are much of a program that is short of memory.
fn chunks(context: &Context<'_>, scan: &Scan, layer: &str) -> Option<Remedy> {
    let iterations = scan.stacked.iterations;
    let chunk = iterations.isqrt();
    let is_much = scan.held_bytes >= context.hbm().required_bytes / 4;
    if iterations < FEWEST_FOR_CHUNKS || !is_much || !context.is_near_capacity() {
        return None;
    }
    let kept = chunk.saturating_add(iterations.div_ceil(chunk));
    let keep_bytes = (scan.held_bytes / iterations).saturating_mul(kept);
    let edits = keep_only(context, &scan.values, keep_bytes);
    context.priced(format!("jax.checkpoint around chunks of {chunk} {layer}s"), edits, false)
}

/// Bytes of what a loop hands from one iteration to the next, apart from what it fills slice by slice
/// and what it hands on as it got it.
fn carry_bytes(context: &Context<'_>, around: InstructionId) -> u64 {
    let module = context.module;
    let Some(found) = context.graph.loops().iter().find(|found| found.instruction == around) else {
        return 0;
    };
    let root = module.computation(found.body).root;
    if module.opcode(root) != Opcode::Tuple {
        return 0;
    }
    let parameter = context.graph.parameters(found.body).first().copied();
    let is_handed_on = |id: InstructionId| {
        module.opcode(id) == Opcode::GetTupleElement
            && module.operands(id).first().copied() == parameter
    };
    let is_stacked = |id: InstructionId| {
        let value = context.value_at(id).map(|value| context.profile.value(value));
        value.is_some_and(|value| stacked(context, value).is_some())
    };
    let carried = module.operands(root).iter().copied();
    total_bytes(
        carried
            .filter(|&id| !is_handed_on(id) && !is_stacked(id))
            .map(|id| context.natural_bytes(id)),
    )
}

/// The checkpoint around the one function that most of the buffers come from, where it is not all of
/// what is scanned: its inner values are gone, its results stay.
fn inner_function(context: &Context<'_>, scan: &Scan) -> Option<Remedy> {
    let outer: FxHashSet<String> = functions(context, scan.stacked.filled_by).collect();
    let mut inner: FxHashMap<String, (u64, Vec<ValueId>)> = FxHashMap::default();
    for &id in &scan.values {
        let value = context.profile.value(id);
        let (origin, _) = context.origin(value);
        let mut functions: Vec<String> = functions(context, origin).collect();
        functions.sort_unstable();
        functions.dedup();
        for name in functions.into_iter().filter(|name| !outer.contains(name)) {
            if !is_result_of(context, origin, &name) {
                let (size, members) = inner.entry(name).or_default();
                *size = size.saturating_add(value.size_bytes);
                members.push(id);
            }
        }
    }
    let share = |size: u64| size as f64 / scan.held_bytes.max(1) as f64;
    let (name, (_, members)) = inner
        .into_iter()
        .filter(|(_, (size, _))| INNER.contains(&share(*size)))
        .max_by(|a, b| a.1.0.cmp(&b.1.0).then_with(|| b.0.cmp(&a.0)))?;
    let edits = members.iter().map(|&id| Edit::Remove(context.profile.value(id).buffer)).collect();
    context.priced(format!("jax.checkpoint around {name} only"), edits, false)
}

/// The user's functions in an instruction's call stack, by their own names.
fn functions<'c>(
    context: &'c Context<'_>,
    instruction: InstructionId,
) -> impl Iterator<Item = String> + use<'c> {
    context.stack(instruction).into_iter().filter(|frame| frame.is_own()).filter_map(|frame| {
        let name = frame.function.rsplit('.').next()?;
        (!name.is_empty() && !name.starts_with('<')).then(|| name.to_owned())
    })
}

/// Whether something outside a function uses a value that is computed in it. Steps from an
/// instruction to its users, into and out of fusions, through what only moves data.
fn is_result_of(context: &Context<'_>, origin: InstructionId, function: &str) -> bool {
    const STEPS: usize = 64;
    let module = context.module;
    let mut work = vec![origin];
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    while let Some(at) = work.pop() {
        if !seen.insert(at) || seen.len() > STEPS {
            continue;
        }
        let computation = module.instruction(at).computation;
        let is_root = module.computation(computation).root == at;
        if is_root
            && let [caller] = context.graph.callers(computation)
            && module.opcode(caller.instruction) == Opcode::Fusion
        {
            work.push(caller.instruction);
        }
        for (user, operand) in context.graph.users(at) {
            match module.opcode(user) {
                Opcode::Fusion => {
                    let body = module.calls(user).next().map(|(_, body)| body);
                    let parameters = body.map_or(&[][..], |body| context.graph.parameters(body));
                    work.extend(parameters.get(operand as usize));
                }
                // Where it is kept, which is the scan's doing.
                Opcode::DynamicUpdateSlice => {}
                opcode if only_moves(opcode) || context.source(user).is_none() => work.push(user),
                _ if functions(context, user).any(|name| name == function) => {}
                _ => return true,
            }
        }
    }
    false
}
