//! What computes the elements of a value: upstream through moves and elementwise operations, in and
//! out of fusions, to an operation of a kind.

use super::Context;
use crate::hlo::{CallRole, InstructionId, Opcode, ShapeIndex};

/// The most instructions that are looked at.
const STEPS: usize = 256;

type Place = (InstructionId, ShapeIndex);

/// The nearest instruction upstream of an instruction's result at an index for which `wanted` holds,
/// where each step keeps the number of elements. Operands in order, nearest first.
pub(super) fn upstream(
    context: &Context<'_>,
    instruction: InstructionId,
    index: ShapeIndex,
    wanted: impl Fn(InstructionId) -> bool,
) -> Option<InstructionId> {
    let mut seen: Vec<Place> = vec![(instruction, index)];
    let mut next = 0;
    while let Some((at, index)) = seen.get(next).cloned() {
        next += 1;
        if wanted(at) {
            return Some(at);
        }
        for place in steps(context, at, &index) {
            if seen.len() < STEPS && !seen.contains(&place) {
                seen.push(place);
            }
        }
    }
    None
}

/// One step upstream.
fn steps(context: &Context<'_>, at: InstructionId, index: &ShapeIndex) -> Vec<Place> {
    let module = context.module;
    let operands = module.operands(at);
    let whole = |id: Option<&InstructionId>, index: ShapeIndex| -> Vec<Place> {
        id.map(|&id| (id, index)).into_iter().collect()
    };
    match module.opcode(at) {
        Opcode::Fusion => {
            let body = module.calls(at).next().map(|(_, callee)| module.computation(callee).root);
            whole(body.as_ref(), index.clone())
        }
        Opcode::Tuple => {
            let element = index.first().and_then(|&element| operands.get(element as usize));
            whole(element, index.iter().skip(1).copied().collect())
        }
        Opcode::GetTupleElement => {
            let element = module.tuple_index(at).and_then(|element| u32::try_from(element).ok());
            let Some(element) = element else { return Vec::new() };
            whole(operands.first(), std::iter::once(element).chain(index.iter().copied()).collect())
        }
        Opcode::Parameter => caller(context, at, index).into_iter().collect(),
        Opcode::CopyDone => whole(operands.first(), ShapeIndex::from_slice(&[0])),
        Opcode::CopyStart => whole(operands.first(), ShapeIndex::new()),
        opcode if opcode.is_elementwise() || is_move(opcode) => {
            let elements = |id: InstructionId| module.shape(id).array()?.elements();
            let same = |id: &&InstructionId| elements(**id) == elements(at);
            operands.iter().filter(same).map(|&id| (id, ShapeIndex::new())).collect()
        }
        _ => Vec::new(),
    }
}

fn is_move(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Copy
            | Opcode::Bitcast
            | Opcode::BitcastConvert
            | Opcode::Reshape
            | Opcode::Transpose
            | Opcode::OptBarrier
    )
}

/// What a fusion hands its parameter.
fn caller(context: &Context<'_>, parameter: InstructionId, index: &ShapeIndex) -> Option<Place> {
    let module = context.module;
    let [caller] = context.graph.callers(module.instruction(parameter).computation) else {
        return None;
    };
    if caller.role != CallRole::Body {
        return None;
    }
    let number = usize::try_from(module.parameter_number(parameter)?).ok()?;
    Some((*module.operands(caller.instruction).get(number)?, index.clone()))
}
