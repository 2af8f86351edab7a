//! Who reads a value: its users, seen through copies and bitcasts and into fusions.

use super::Context;
use crate::hlo::{ElementType, InstructionId, Opcode};
use rustc_hash::FxHashSet;

/// How many instructions are looked at for one value.
const STEPS: usize = 512;

/// The instructions that compute something of an instruction's result; `None` where there are too
/// many to look at.
pub(super) fn readers(context: &Context<'_>, id: InstructionId) -> Option<Vec<InstructionId>> {
    let module = context.module;
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let mut todo = vec![id];
    while let Some(at) = todo.pop() {
        for (user, number) in context.graph.users(at) {
            if seen.len() >= STEPS {
                return None;
            }
            if !seen.insert((user, number)) {
                continue;
            }
            match module.opcode(user) {
                Opcode::Bitcast | Opcode::Reshape | Opcode::Copy | Opcode::OptBarrier => {
                    todo.push(user);
                }
                Opcode::Fusion => todo.extend(inside(context, user, number)),
                _ => found.push(user),
            }
        }
        if module.is_root(at) {
            found.push(at);
        }
    }
    Some(found)
}

/// The parameter of a fusion's computation that stands for an operand.
pub(super) fn inside(
    context: &Context<'_>,
    fusion: InstructionId,
    operand: u32,
) -> Option<InstructionId> {
    let (_, body) = context.module.calls(fusion).next()?;
    context.graph.parameters(body).get(operand as usize).copied()
}

/// The type of an array's elements.
pub(super) fn element_type(context: &Context<'_>, id: InstructionId) -> Option<ElementType> {
    Some(context.module.shape(id).array()?.element_type)
}

/// Whether an instruction converts to a float of half the bits or fewer.
pub(super) fn is_narrowing(context: &Context<'_>, id: InstructionId) -> bool {
    let from = context.module.operands(id).first().and_then(|&id| element_type(context, id));
    context.module.opcode(id) == Opcode::Convert
        && from == Some(ElementType::F32)
        && element_type(context, id).is_some_and(is_narrow)
}

/// Whether a type is a float of at most 16 bits.
pub(super) fn is_narrow(of: ElementType) -> bool {
    of.is_floating() && of.bits() <= 16
}
