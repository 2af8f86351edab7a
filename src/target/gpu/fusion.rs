//! Whether a fusion may write a result over an operand: the kernel must read each element before it
//! writes it, so everything on the way must keep the order of elements (facts: gpu-cpu-memory section
//! 7, "GPU fusion rule").

use super::hero::{Heroes, has_transposing_hero, roots};
use crate::graph::{Dataflow, is_elementwise_on};
use crate::hlo::{InstructionId, Module, Opcode, Shape};
use rustc_hash::FxHashSet;

pub(super) fn can_share(
    graph: &Dataflow<'_>,
    heroes: &mut Heroes,
    operand: InstructionId,
    user: InstructionId,
    output: &[u32],
) -> bool {
    let module = graph.module();
    if !has_same_bytes(module, operand, user, output) {
        return false;
    }
    let Some((_, callee)) = module.calls(user).next() else { return false };
    let number = module.operands(user).iter().position(|&found| found == operand);
    let Some(&parameter) = number.and_then(|at| graph.parameters(callee).get(at)) else {
        return false;
    };
    let root = module.computation(callee).root;
    let written = match (module.opcode(root), output) {
        (Opcode::Tuple, [at, ..]) => module.operands(root).get(*at as usize).copied(),
        (Opcode::Tuple, []) => None,
        _ => Some(root),
    };
    let Some(written) = written else { return false };
    let walk = Walk { graph, user, output, written, target: behind_bitcast(module, written) };
    let Some(reached) = walk.from(parameter, heroes) else { return false };
    reached.contains(&written) && walk.other_roots_allow(root, &reached)
}

/// Equal shapes, or arrays of as many elements of the same width.
fn has_same_bytes(
    module: &Module<'_>,
    operand: InstructionId,
    user: InstructionId,
    output: &[u32],
) -> bool {
    let Some(result) = module.subshape(user, output) else { return false };
    if module.instruction(operand).shape == result {
        return true;
    }
    match (module.shape(operand), module.shapes.get(result)) {
        (Shape::Array(from), Shape::Array(to)) => {
            from.elements() == to.elements() && from.element_type.bits() == to.element_type.bits()
        }
        _ => false,
    }
}

fn behind_bitcast(module: &Module<'_>, id: InstructionId) -> InstructionId {
    match (module.opcode(id), module.operands(id)) {
        (Opcode::Bitcast, &[operand]) => operand,
        _ => id,
    }
}

struct Walk<'a, 'm> {
    graph: &'a Dataflow<'m>,
    user: InstructionId,
    output: &'a [u32],
    /// What the kernel writes: the root, or an element of it.
    written: InstructionId,
    /// The same behind a bitcast.
    target: InstructionId,
}

impl Walk<'_, '_> {
    /// Everything that a parameter reaches; `None` where something on the way forbids sharing.
    fn from(
        &self,
        parameter: InstructionId,
        heroes: &mut Heroes,
    ) -> Option<FxHashSet<InstructionId>> {
        let mut reached = FxHashSet::from_iter([parameter]);
        let mut work = vec![parameter];
        while let Some(id) = work.pop() {
            // The reduction is computed before anything else is written.
            if heroes.is_reduction_hero(self.graph, self.user, id) {
                continue;
            }
            for (next, _) in self.graph.users(id) {
                if !self.allows(next, id, heroes) {
                    return None;
                }
                if reached.insert(next) {
                    work.push(next);
                }
            }
        }
        Some(reached)
    }

    /// Whether an instruction may be on the way from one of its operands.
    fn allows(&self, id: InstructionId, operand: InstructionId, heroes: &mut Heroes) -> bool {
        let module = self.graph.module();
        let operands = module.operands(id);
        let Some(first) = operands.iter().position(|&found| found == operand) else { return false };
        let is_alone = operands.iter().filter(|&&found| found == operand).count() == 1;
        let opcode = module.opcode(id);
        if id == self.target && opcode == Opcode::Scatter {
            let inputs = module.shape(id).elements().map_or(1, <[_]>::len);
            if first < inputs && is_alone {
                return true;
            }
        }
        if id == self.target && opcode == Opcode::Sort {
            let position = self.output.first().map_or(0, |&at| at as usize);
            return is_alone && position == first;
        }
        if self.is_slice_of_updated(id) {
            return self.reads_what_is_updated(id);
        }
        let number = u32::try_from(first).unwrap_or(u32::MAX);
        let keeps_order = opcode != Opcode::Copy && is_elementwise_on(module, id, number);
        let is_update = id == self.target && opcode == Opcode::DynamicUpdateSlice && first == 1;
        keeps_order
            || matches!(opcode, Opcode::Bitcast | Opcode::Tuple)
            || is_update
            || heroes.is_reduction_hero(self.graph, self.user, id)
    }

    /// A dynamic-slice of what the target updates, of the update's shape.
    fn is_slice_of_updated(&self, id: InstructionId) -> bool {
        let module = self.graph.module();
        let updated = module.operands(self.target);
        module.opcode(self.target) == Opcode::DynamicUpdateSlice
            && module.opcode(id) == Opcode::DynamicSlice
            && module.operands(id).first() == updated.first()
            && updated.get(1).is_some_and(|&update| {
                module.instruction(update).shape == module.instruction(id).shape
            })
    }

    /// Whether such a slice reads just the elements that are updated, or only one element.
    fn reads_what_is_updated(&self, id: InstructionId) -> bool {
        let module = self.graph.module();
        let is_one = module.shape(id).array().is_some_and(|array| array.elements() == Some(1));
        is_one || module.operands(id).get(1..) == module.operands(self.target).get(2..)
    }

    /// With several results, another one that the parameter reaches must be written in the same
    /// order.
    fn other_roots_allow(&self, root: InstructionId, reached: &FxHashSet<InstructionId>) -> bool {
        let module = self.graph.module();
        let roots = roots(module, root);
        let reached: Vec<InstructionId> =
            roots.iter().copied().filter(|id| reached.contains(id)).collect();
        if roots.len() < 2 || !reached.iter().any(|&id| id != self.written) {
            return true;
        }
        module.opcode(self.target).is_elementwise()
            && !reached.iter().any(|&id| has_transposing_hero(self.graph, id))
    }
}
