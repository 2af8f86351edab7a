//! Fusions whose results are slices without strides, as releases up to 0.7 share them (facts:
//! gpu-cpu-memory section 10; XLA `IsSliceInputFusion`).

use crate::graph::{Dataflow, is_elementwise_on};
use crate::hlo::{AttributeName, InstructionId, Module, Opcode, Shape};
use rustc_hash::FxHashSet;

/// The answer for such a fusion; `None` for any other instruction.
pub fn can_share_slices(
    graph: &Dataflow<'_>,
    operand: InstructionId,
    user: InstructionId,
    output: &[u32],
) -> Option<bool> {
    let module = graph.module();
    let (_, callee) = module.calls(user).next()?;
    let root = module.computation(callee).root;
    let slices = module.operands(root);
    let is_slice_fusion = module.opcode(user) == Opcode::Fusion
        && module.attribute(user, AttributeName::Kind) == Some("kInput")
        && module.opcode(root) == Opcode::Tuple
        && slices.iter().all(|&slice| is_plain_slice(module, slice));
    if !is_slice_fusion {
        return None;
    }
    let number = module.operands(user).iter().position(|&found| found == operand);
    let parameter = number.and_then(|at| graph.parameters(callee).get(at).copied());
    let slice = output.first().and_then(|&at| slices.get(at as usize).copied());
    let (Some(parameter), Some(slice)) = (parameter, slice) else { return Some(false) };
    let same_bytes = match (module.shape(operand), module.shape(slice)) {
        (Shape::Array(from), Shape::Array(to)) => {
            from.element_type == to.element_type && from.elements() == to.elements()
        }
        _ => false,
    };
    Some(same_bytes && reaches_only(graph, parameter, slice))
}

/// A slice of one dimension without a stride.
fn is_plain_slice(module: &Module<'_>, id: InstructionId) -> bool {
    let is_flat = module.shape(id).array().is_some_and(|array| array.dimensions.len() == 1);
    let bounds = module.attribute(id, AttributeName::Slice).unwrap_or("");
    module.opcode(id) == Opcode::Slice && is_flat && bounds.matches(':').count() == 1
}

/// Whether a parameter flows to a slice element by element: through elementwise operations and
/// reshapes, and a concatenate whose slices give its operands back.
fn reaches_only(graph: &Dataflow<'_>, parameter: InstructionId, slice: InstructionId) -> bool {
    let module = graph.module();
    let mut seen = FxHashSet::from_iter([parameter]);
    let mut work = vec![parameter];
    let mut is_reached = false;
    while let Some(id) = work.pop() {
        for (user, number) in graph.users(id) {
            match module.opcode(user) {
                Opcode::Concatenate => {
                    let Some(own) = slice_of(graph, user, number) else { return false };
                    is_reached |= own == slice;
                    if own != slice {
                        return false;
                    }
                }
                Opcode::Reshape | Opcode::Bitcast => {
                    if seen.insert(user) {
                        work.push(user);
                    }
                }
                _ if is_elementwise_on(module, user, number) => {
                    if seen.insert(user) {
                        work.push(user);
                    }
                }
                _ => return false,
            }
        }
    }
    is_reached
}

/// The slice that gives operand `number` of a concatenate back.
fn slice_of(
    graph: &Dataflow<'_>,
    concatenate: InstructionId,
    number: u32,
) -> Option<InstructionId> {
    let module = graph.module();
    let size = |id: InstructionId| module.shape(id).array().and_then(|array| array.elements());
    let operands = module.operands(concatenate);
    let before = operands.get(..number as usize)?;
    let from = before.iter().try_fold(0_u64, |sum, &id| sum.checked_add(size(id)?))?;
    let to = from.checked_add(size(*operands.get(number as usize)?)?)?;
    graph.users(concatenate).map(|(user, _)| user).find(|&user| {
        let bounds = module.attribute(user, AttributeName::Slice).unwrap_or("");
        let numbers: Vec<u64> = bounds
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|part| part.parse().ok())
            .collect();
        module.opcode(user) == Opcode::Slice && numbers == [from, to]
    })
}
