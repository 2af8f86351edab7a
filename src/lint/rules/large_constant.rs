//! `large-constant`.

use crate::config::bytes;
use crate::graph::ComputationKind;
use crate::hlo::{InstructionId, Module, Opcode};
use crate::lint::readers::inside;
use crate::lint::rest::push_most;
use crate::lint::{
    Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Source,
};
use crate::memory::{BufferId, Edit};
use std::cmp::Reverse;

/// See [`META`].
pub struct LargeConstant;

/// The declaration.
pub static META: Meta = Meta {
    name: "large-constant",
    summary: "a large array is part of the program text",
    documentation: "\
What it does: finds constants in HBM, sized by their shape (the text leaves out large literals).
What the text computes, a broadcast of one number or an iota, is none.
Why it costs memory: a constant lives as long as the program is loaded, once for each program
compiled with it, and each device holds all of it, whatever the sharding of what it is used with.
Example: a table of positions of 256 MiB, made with numpy, that a jitted function uses from around
it.
Remedy: give it as an argument, with a sharding where devices need different parts of it; or make
it in the function with jax.numpy, which fuses it into its users. Where every device needs all of
it, an argument takes as many bytes as the constant: no saving is claimed then.
References: E1000, scenario 2 (one unexpectedly large allocation; replication).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference {
        code: "E1000",
        section: "scenario 2, one unexpectedly large allocation",
    },
};

/// How many constants are reported one by one.
const MOST: usize = 8;

/// How many instructions are looked at for a constant's users.
const STEPS: usize = 64;

impl Rule for LargeConstant {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let mut large: Vec<Large> = constants(context).collect();
        large.sort_by_key(|large| (Reverse(large.size_bytes), large.instruction));
        push_most(context, &META, findings, (MOST, "constants"), &large, |large| {
            Some(report(context, large))
        });
    }
}

/// A constant in HBM.
struct Large {
    instruction: InstructionId,
    size_bytes: u64,
    /// Its buffer; `None` in a text without a schedule.
    buffer: Option<BufferId>,
}

/// The large constants of computations that run by a schedule, sized by their shapes: literals may be
/// left out of the text.
fn constants<'c>(context: &'c Context<'_>) -> impl Iterator<Item = Large> + 'c {
    let module = context.module;
    let is_constant = move |&id: &InstructionId| {
        let computation = module.instruction(id).computation;
        module.opcode(id) == Opcode::Constant
            && context.graph.kind(computation) == ComputationKind::Control
            && module.shape(id).array().is_some_and(|array| array.memory_space() == 0)
    };
    module.ids().filter(is_constant).filter_map(|id| {
        let size_bytes = context.natural_bytes(id);
        let value = || context.value_at(id).map(|value| context.profile.value(value).buffer);
        (size_bytes >= context.min_bytes(&META)).then(|| Large {
            instruction: id,
            size_bytes,
            buffer: value(),
        })
    })
}

fn report(context: &Context<'_>, large: &Large) -> Finding {
    let id = large.instruction;
    let shape = context.shape_text(context.module.instruction(id).shape);
    let devices = context.mesh.devices;
    let mut finding = context.finding(&META, Some(id));
    let place = match devices {
        0 | 1 => String::new(),
        _ => format!(", on each of {devices} devices"),
    };
    finding.message = format!("constant {shape}, {}{place}", bytes(large.size_bytes));
    finding.shape = Some(shape);
    finding.bytes = large.size_bytes;
    finding.buffers = large.buffer.into_iter().collect();
    finding.source = context.source(id).or_else(|| user_source(context, id));
    finding.remedies = remedies(context, large, devices);
    if finding.remedies.iter().any(|remedy| remedy.required_bytes_after.is_some()) {
        finding.details.push(format!("each device reads only its part, 1 of {devices}"));
        finding.confidence = Confidence::Estimate;
    }
    finding
}

fn remedies(context: &Context<'_>, large: &Large, devices: u64) -> Vec<Remedy> {
    let own = "make it in the function with jax.numpy, which fuses it into its users";
    match part_bytes(context, large.instruction) {
        Some(part) if part < large.size_bytes => {
            let action = "give it as an argument, split like what it is used with";
            let shrink = |buffer| vec![Edit::Shrink { buffer, bytes: part }];
            let edits = large.buffer.map(shrink).unwrap_or_default();
            let priced = context.priced(action, edits, true);
            vec![priced.unwrap_or_else(|| Remedy::new(action)), Remedy::new(own)]
        }
        _ if devices > 1 => vec![
            Remedy::new("give it as an argument, with a sharding where devices need parts of it"),
            Remedy::new(own),
        ],
        _ => vec![
            Remedy::new(
                "give it as an argument: as many bytes, but once for all programs that use it",
            ),
            Remedy::new(own),
        ],
    }
}

/// The bytes of a device's part of a constant, where every user takes only such a part: a slice that
/// starts where the device's number says.
fn part_bytes(context: &Context<'_>, constant: InstructionId) -> Option<u64> {
    if context.module.header.num_partitions <= 1 {
        return None;
    }
    let mut largest = 0_u64;
    let mut todo = vec![constant];
    let mut steps = 0;
    while let Some(id) = todo.pop() {
        for (user, number) in context.graph.users(id) {
            steps += 1;
            if steps > STEPS {
                return None;
            }
            match context.module.opcode(user) {
                Opcode::Bitcast | Opcode::Copy => todo.push(user),
                Opcode::Fusion => todo.push(inside(context, user, number)?),
                Opcode::DynamicSlice if number == 0 && is_by_device(context, user) => {
                    largest = largest.max(context.natural_bytes(user));
                }
                _ => return None,
            }
        }
    }
    (largest > 0).then_some(largest)
}

/// Whether a slice's start comes from the number of the device.
fn is_by_device(context: &Context<'_>, slice: InstructionId) -> bool {
    let module = context.module;
    let mut todo: Vec<InstructionId> = module.operands(slice).iter().skip(1).copied().collect();
    for _ in 0..STEPS {
        let Some(id) = todo.pop() else { return false };
        match module.opcode(id) {
            Opcode::PartitionId => return true,
            Opcode::Parameter => todo.extend(handed_in(context, module, id)),
            Opcode::Fusion => {
                todo.extend(module.calls(id).map(|(_, body)| module.computation(body).root));
            }
            _ => todo.extend(module.operands(id)),
        }
    }
    false
}

fn handed_in(
    context: &Context<'_>,
    module: &Module<'_>,
    parameter: InstructionId,
) -> Option<InstructionId> {
    let number = usize::try_from(module.parameter_number(parameter)?).ok()?;
    let [caller] = context.graph.callers(module.instruction(parameter).computation) else {
        return None;
    };
    module.operands(caller.instruction).get(number).copied()
}

/// The line of the first user that has one.
fn user_source(context: &Context<'_>, id: InstructionId) -> Option<Source> {
    let source = context.graph.users(id).find_map(|(user, _)| context.source_near(user))?;
    Some(Source { inferred: true, ..source })
}
