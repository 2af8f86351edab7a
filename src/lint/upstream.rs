//! Whether a value is an argument in another type, layout or place, whole or slice by slice.

use super::Context;
use crate::graph::Dataflow;
use crate::hlo::{CallRole, InstructionId, Opcode, ShapeIndex};
use crate::memory::Value;

/// The most steps that are followed.
const STEPS: usize = 64;

/// The entry parameter that a value is a copy of (converted, transposed, gathered, moved), where it
/// is one.
pub(super) fn argument_upstream(context: &Context<'_>, value: &Value) -> Option<InstructionId> {
    let module = context.module;
    let (mut at, mut index) = (value.instruction, value.index.clone());
    let mut looped = Vec::new();
    for _ in 0..STEPS {
        let operands = module.operands(at);
        match module.opcode(at) {
            Opcode::Parameter => {
                let computation = module.instruction(at).computation;
                if computation == module.entry {
                    return Some(at);
                }
                (at, index) = from_caller(context.graph, &mut looped, at, index)?;
            }
            Opcode::Tuple => {
                let element = usize::try_from(index.first().copied()?).ok()?;
                index.remove(0);
                at = *operands.get(element)?;
            }
            Opcode::GetTupleElement => {
                index.insert(0, u32::try_from(module.tuple_index(at)?).ok()?);
                at = *operands.first()?;
            }
            Opcode::Fusion => {
                let (_, body) = module.calls(at).next()?;
                at = module.computation(body).root;
            }
            Opcode::While => (at, index) = around(context.graph, &mut looped, at, index)?,
            Opcode::CopyDone | Opcode::AllGatherDone => {
                at = *operands.first()?;
            }
            Opcode::DynamicUpdateSlice => at = *operands.get(1)?,
            Opcode::CopyStart | Opcode::AllGatherStart => {
                index.clear();
                at = *operands.first()?;
            }
            Opcode::Convert
            | Opcode::Copy
            | Opcode::Bitcast
            | Opcode::BitcastConvert
            | Opcode::Transpose
            | Opcode::Reshape
            | Opcode::AllGather
            | Opcode::ReducePrecision
            | Opcode::DynamicSlice
            | Opcode::OptBarrier => at = *operands.first()?,
            _ => return None,
        }
    }
    None
}

type Place = (InstructionId, ShapeIndex);

/// From a loop to what it starts with, where it hands the element on as it got it or was gone
/// around already; else to what its body returns.
fn around(
    graph: &Dataflow<'_>,
    looped: &mut Vec<InstructionId>,
    while_loop: InstructionId,
    index: ShapeIndex,
) -> Option<Place> {
    let module = graph.module();
    if looped.contains(&while_loop) || is_invariant(graph, while_loop, &index) {
        return Some((*module.operands(while_loop).first()?, index));
    }
    looped.push(while_loop);
    let (_, body) = module.calls(while_loop).find(|(role, _)| *role == CallRole::WhileBody)?;
    Some((module.computation(body).root, index))
}

/// What the caller hands a parameter of a fusion or a loop.
fn from_caller(
    graph: &Dataflow<'_>,
    looped: &mut Vec<InstructionId>,
    parameter: InstructionId,
    index: ShapeIndex,
) -> Option<Place> {
    let module = graph.module();
    let computation = module.instruction(parameter).computation;
    let [caller] = graph.callers(computation) else { return None };
    if matches!(caller.role, CallRole::WhileBody | CallRole::WhileCondition) {
        return around(graph, looped, caller.instruction, index);
    }
    let number = usize::try_from(module.parameter_number(parameter)?).ok()?;
    Some((*module.operands(caller.instruction).get(number)?, index))
}

/// Whether a loop hands an element on as it got it.
fn is_invariant(graph: &Dataflow<'_>, while_loop: InstructionId, index: &[u32]) -> bool {
    let module = graph.module();
    let Some(found) = graph.loops().iter().find(|found| found.instruction == while_loop) else {
        return false;
    };
    let (Some(&element), Some(&parameter)) = (index.first(), graph.parameters(found.body).first())
    else {
        return false;
    };
    let root = module.computation(found.body).root;
    let handed_on = (module.opcode(root) == Opcode::Tuple)
        .then(|| module.operands(root).get(element as usize).copied())
        .flatten();
    handed_on.is_some_and(|id| {
        module.opcode(id) == Opcode::GetTupleElement
            && module.tuple_index(id) == Some(i64::from(element))
            && module.operands(id).first() == Some(&parameter)
    })
}
