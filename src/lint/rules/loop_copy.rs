//! `loop-copy`.

use crate::config::bytes;
use crate::graph::{Loop, Repetition, is_elementwise_on};
use crate::hlo::{InstructionId, Opcode};
use crate::lint::recompute::is_worth_a_word;
use crate::lint::rest::push_most;
use crate::lint::{Confidence, Context, Finding, Kind, Level, Meta, Reference, Rule};
use crate::memory::{BufferId, Edit, Value, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// See [`META`].
pub struct LoopCopy;

/// The declaration.
pub static META: Meta = Meta {
    name: "loop-copy",
    summary: "a loop copies a large carried buffer in each iteration",
    documentation: "\
What it does: finds copies without a change of layout in the body of a loop, between a value that the
loop carries and another buffer of the same size, where that buffer is alive at the peak. Silent where
the new value needs all of the old one (a matrix product): a second buffer is needed then.
Why it costs memory: each element of a loop's carry has one place. Where a body still reads the old
value after it has written the new one, or where two elements change places, XLA must hold a second
buffer and copy it in each iteration. The bytes are held once, and moved in each iteration.
Example: a wave equation that carries (before, now) and returns (now, next) copies a field a step.
Remedy: two steps an iteration, so that each field comes back to its own place; or read what is needed
of the old value before the update, and update with .at[].set or lax.dynamic_update_slice.
References: E1000, scenario 3 (the sum is too large).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference {
        code: "E1000",
        section: "scenario 3, the sum of allocations is too large",
    },
};

/// How many copies are reported one by one: each is priced by a run of the model.
const MOST: usize = 8;

impl Rule for LoopCopy {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let mut copies: Vec<Copied<'_>> =
            context.graph.loops().iter().flat_map(|around| copies(context, around)).collect();
        copies.sort_by_key(|copied| (std::cmp::Reverse(copied.size_bytes), copied.copy));
        let mut seen = FxHashSet::default();
        copies.retain(|copied| {
            let second = context.profile.value(copied.second);
            context.is_alive_at_peak(second) && seen.insert(second.buffer)
        });
        push_most(context, &META, findings, (MOST, "copies in loops"), &copies, |copied| {
            report(context, copied)
        });
    }
}

/// A copy in the body of a loop.
struct Copied<'c> {
    around: &'c Loop,
    copy: InstructionId,
    /// The buffer that the loop would do without.
    second: ValueId,
    size_bytes: u64,
}

/// The copies of a loop's body that need a second buffer which other code would do without.
fn copies<'c>(context: &'c Context<'_>, around: &'c Loop) -> Vec<Copied<'c>> {
    let module = context.module;
    let plain: Vec<Plain> = module
        .computation(around.body)
        .ids()
        .filter(|&id| matches!(module.opcode(id), Opcode::Copy | Opcode::CopyDone))
        .filter_map(|id| plain(context, around, id))
        .collect();
    // Of each carried buffer the new value that is copied into it.
    let written: FxHashMap<BufferId, ValueId> = plain
        .iter()
        .filter(|one| !one.from_carry && one.to_carry)
        .map(|one| (one.target_buffer, one.source))
        .collect();
    let second = |one: &Plain| match (one.from_carry, one.to_carry) {
        // A carried value is kept while its place is written.
        (true, false) => Some(one.target).filter(|_| !is_needed(context, one)),
        // Elements change places: what is written into the place that is left waits for it.
        (true, true) => written.get(&one.source_buffer).copied(),
        (false, true) => Some(one.source).filter(|_| !is_needed(context, one)),
        (false, false) => None,
    };
    plain
        .iter()
        .filter_map(|one| {
            let (copy, size_bytes) = (one.copy, one.size_bytes);
            Some(Copied { around, copy, second: second(one)?, size_bytes })
        })
        .collect()
}

/// A large copy that changes neither layout nor memory space.
struct Plain {
    copy: InstructionId,
    source: ValueId,
    source_buffer: BufferId,
    from_carry: bool,
    target: ValueId,
    target_buffer: BufferId,
    to_carry: bool,
    size_bytes: u64,
}

fn plain(context: &Context<'_>, around: &Loop, copy: InstructionId) -> Option<Plain> {
    let module = context.module;
    let operand = *module.operands(copy).first()?;
    let from = match module.opcode(copy) {
        Opcode::CopyDone => *module.operands(operand).first()?,
        _ => operand,
    };
    let (source_id, target_id) = (context.value_at(from)?, context.value_at(copy)?);
    let (source, target) = (context.profile.value(source_id), context.profile.value(target_id));
    let layout = |id: InstructionId| module.shape(id).array().map(|array| &array.layout);
    if !is_worth_a_word(context, &META, target.size_bytes)
        || source.size_bytes != target.size_bytes
        || source.buffer == target.buffer
        || layout(from) != layout(copy)
    {
        return None;
    }
    let is_carry = |value: &Value| {
        let members = context.profile.buffer(value.buffer).values.iter();
        members.map(|&id| context.profile.value(id)).any(|member| {
            member.is_phi && module.instruction(member.instruction).computation == around.body
        })
    };
    Some(Plain {
        copy,
        source: source_id,
        source_buffer: source.buffer,
        from_carry: is_carry(source),
        target: target_id,
        target_buffer: target.buffer,
        to_carry: is_carry(target),
        size_bytes: target.size_bytes,
    })
}

/// Whether a new value cannot be written to the place of the old one: what computes it reads the old
/// one, and not element by element.
fn is_needed(context: &Context<'_>, copied: &Plain) -> bool {
    let producers: Vec<InstructionId> = if copied.from_carry {
        let body = context.module.instruction(copied.copy).computation;
        let members = context.profile.buffer(copied.source_buffer).values.iter();
        members
            .map(|&id| context.profile.value(id).instruction)
            .filter(|&id| context.module.instruction(id).computation == body)
            .collect()
    } else {
        vec![context.profile.value(copied.source).instruction]
    };
    producers.into_iter().any(|producer| {
        let operands = (0..).zip(context.module.operands(producer));
        operands
            .filter(|(_, id)| is_in(context, **id, copied.target_buffer))
            .any(|(number, _)| !is_elementwise_on(context.module, producer, number))
    })
}

fn is_in(context: &Context<'_>, id: InstructionId, buffer: BufferId) -> bool {
    context.value_at(id).is_some_and(|value| context.profile.value(value).buffer == buffer)
}

fn report(context: &Context<'_>, copied: &Copied<'_>) -> Option<Finding> {
    let second = context.profile.value(copied.second);
    let remedy = context.priced(
        "two steps an iteration, or no use of the old value after its update",
        vec![Edit::Remove(second.buffer)],
        false,
    )?;
    let mut finding = context.finding(&META, Some(copied.copy));
    let shape = context.shape_text(second.shape);
    let times = match context.graph.repetition(copied.around.body) {
        Repetition::Times(times) => format!("each of {times} iterations"),
        _ => "each iteration".to_owned(),
    };
    finding.message = format!("the loop copies {shape}, {}, in {times}", bytes(copied.size_bytes));
    let (_, source) = context.origin(context.profile.value(copied.second));
    finding.source = source.or_else(|| context.source_near(copied.around.instruction));
    finding.shape = Some(shape);
    finding.bytes = copied.size_bytes;
    finding.buffers = vec![second.buffer];
    finding.confidence = Confidence::Heuristic;
    finding.remedies = vec![remedy];
    Some(finding)
}
