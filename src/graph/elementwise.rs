//! Whether an instruction computes its result element by element from an operand (XLA
//! `HloInstruction::IsElementwiseOnOperand`).

use crate::hlo::{AttributeName, InstructionId, Module, Opcode};

/// Whether element n of the result depends on element n of operand `number` alone, as far as that
/// operand goes.
pub fn is_elementwise_on(module: &Module<'_>, id: InstructionId, number: u32) -> bool {
    match module.opcode(id) {
        Opcode::DynamicUpdateSlice => number == 0,
        Opcode::Map => true,
        Opcode::BitcastConvert => {
            let bits =
                |id: InstructionId| module.shape(id).array().map(|array| array.element_type.bits());
            module.operands(id).first().is_some_and(|&operand| bits(operand) == bits(id))
        }
        Opcode::Fusion => is_elementwise_fusion(module, id),
        opcode => opcode.is_elementwise(),
    }
}

/// A loop fusion all of whose instructions are.
fn is_elementwise_fusion(module: &Module<'_>, id: InstructionId) -> bool {
    let Some((_, callee)) = module.calls(id).next() else { return false };
    module.attribute(id, AttributeName::Kind) == Some("kLoop")
        && module.computation(callee).ids().all(|id| {
            let opcode = module.opcode(id);
            matches!(opcode, Opcode::Parameter | Opcode::Constant | Opcode::Map)
                || opcode.is_elementwise()
        })
}
