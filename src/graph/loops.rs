//! `while` loops and how often they run, where the text tells.

use super::kinds::ComputationKind;
use crate::hlo::{
    Attribute, AttributeName, CallRole, ComputationId, InstructionId, Module, Opcode,
};

/// How a trip count is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TripCountSource {
    /// `known_trip_count` of the backend config.
    Recorded,
    /// A counter that starts at a constant, grows by a constant and is compared with a constant.
    Counter,
}

/// A `while`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The `while` instruction.
    pub instruction: InstructionId,
    /// Its body.
    pub body: ComputationId,
    /// Its condition.
    pub condition: ComputationId,
    /// How many times the body runs, and how that is known.
    pub trip_count: Option<(u64, TripCountSource)>,
}

/// All loops of computations that are used, in text order.
pub(super) fn find_loops(
    module: &Module<'_>,
    kinds: &[ComputationKind],
    parameters: &[Vec<InstructionId>],
) -> Vec<Loop> {
    module
        .ids()
        .filter(|&id| module.opcode(id) == Opcode::While)
        .filter(|&id| {
            let computation = module.instruction(id).computation;
            kinds.get(computation.index()).is_some_and(|kind| *kind != ComputationKind::Unused)
        })
        .filter_map(|id| {
            let called = |wanted: CallRole| {
                module.calls(id).find_map(|(role, callee)| (role == wanted).then_some(callee))
            };
            let body = called(CallRole::WhileBody)?;
            let condition = called(CallRole::WhileCondition)?;
            let trip_count = recorded(module, id)
                .map(|count| (count, TripCountSource::Recorded))
                .or_else(|| {
                    let count = counted(module, parameters, id, body, condition)?;
                    Some((count, TripCountSource::Counter))
                });
            Some(Loop { instruction: id, body, condition, trip_count })
        })
        .collect()
}

/// `"known_trip_count":{"n":"12"}`, with or without blanks and escapes.
fn recorded(module: &Module<'_>, id: InstructionId) -> Option<u64> {
    let config = module.backend_config(id)?;
    let (_, rest) = config.split_once("known_trip_count")?;
    let value = rest.get(..rest.find('}')?)?;
    let digits = value.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// The trip count of a loop whose condition compares a counter with a constant.
fn counted(
    module: &Module<'_>,
    parameters: &[Vec<InstructionId>],
    id: InstructionId,
    body: ComputationId,
    condition: ComputationId,
) -> Option<u64> {
    let root = module.computations.get(condition.index())?.root;
    let &[counter, bound] = module.operands(root) else { return None };
    if module.opcode(root) != Opcode::Compare {
        return None;
    }
    let inclusive = match module.attribute(root, AttributeName::Direction)? {
        "LT" => 0,
        "LE" => 1,
        _ => return None,
    };
    let element = parameter_element(module, parameters.get(condition.index())?, counter)?;
    let bound = constant(module, bound)?;
    let start = element_of(module, *module.operands(id).first()?, element)
        .and_then(|start| constant(module, start))?;
    let next = element_of(module, module.computations.get(body.index())?.root, element)?;
    let step = step_of(module, parameters.get(body.index())?, next, element)?;
    let span = bound.checked_add(inclusive)?.checked_sub(start)?;
    if step <= 0 {
        return None;
    }
    u64::try_from(span.max(0)).ok().map(|span| span.div_ceil(step.unsigned_abs()))
}

/// The constant that is added to the counter.
fn step_of(
    module: &Module<'_>,
    parameters: &[InstructionId],
    next: InstructionId,
    element: i64,
) -> Option<i64> {
    let &[left, right] = module.operands(next) else { return None };
    if module.opcode(next) != Opcode::Add {
        return None;
    }
    let is_counter = |id| parameter_element(module, parameters, id) == Some(element);
    if is_counter(left) {
        constant(module, right)
    } else if is_counter(right) {
        constant(module, left)
    } else {
        None
    }
}

/// The operand of a tuple at an element.
fn element_of(module: &Module<'_>, tuple: InstructionId, element: i64) -> Option<InstructionId> {
    (module.opcode(tuple) == Opcode::Tuple)
        .then(|| module.operands(tuple).get(usize::try_from(element).ok()?).copied())?
}

/// The element of the parameter that an instruction reads.
fn parameter_element(
    module: &Module<'_>,
    parameters: &[InstructionId],
    id: InstructionId,
) -> Option<i64> {
    let id = through_copies(module, id);
    let &[operand] = module.operands(id) else { return None };
    (module.opcode(id) == Opcode::GetTupleElement && parameters.first() == Some(&operand))
        .then(|| module.tuple_index(id))?
}

/// The integer of a scalar constant.
fn constant(module: &Module<'_>, id: InstructionId) -> Option<i64> {
    let id = through_copies(module, id);
    module.attributes(id).iter().find_map(|attribute| match attribute {
        Attribute::Literal(text) => text.trim_matches(['(', ')', ' ']).parse().ok(),
        _ => None,
    })
}

/// The instruction behind copies and bitcasts; a few steps suffice, more are not followed.
fn through_copies(module: &Module<'_>, mut id: InstructionId) -> InstructionId {
    for _ in 0..8 {
        match (module.opcode(id), module.operands(id)) {
            (Opcode::Copy | Opcode::Bitcast | Opcode::OptBarrier, &[operand]) => id = operand,
            _ => break,
        }
    }
    id
}
