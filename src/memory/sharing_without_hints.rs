//! XLA's own rule whether a result may take the memory of an operand, for backends whose texts say
//! nothing of it (facts: gpu-cpu-memory section 7; XLA
//! `HloDataflowAnalysis::CanShareOperandBufferWithUser`).

use super::live_ranges::Position;
use super::sharing::Sharing;
use crate::graph::is_elementwise_on;
use crate::hlo::{AttributeName, InstructionId, Opcode, ShapeId};
use crate::target::{Backend, gpu};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

impl Sharing<'_, '_> {
    /// The operand is one of the user's, and neither is a copy or a constant.
    pub(super) fn can_share_without_hints(
        &mut self,
        operand: Position,
        user: InstructionId,
        output: u32,
    ) -> bool {
        let module = self.graph.module();
        let is_gpu = self.policy.backend == Backend::Gpu;
        let index = self.trees.index(&module.shapes, module.instruction(user).shape, output);
        if is_gpu
            && self.policy.gpu.has_slice_fusions()
            && let Some(answer) = gpu::can_share_slices(self.graph, operand.0, user, &index)
        {
            return answer;
        }
        let node = |(id, offset): Position| -> Option<ShapeId> {
            self.trees.nodes(module.instruction(id).shape).get(offset as usize).copied()
        };
        // Interned: equal ids are equal type, dimensions, layout and memory space.
        let is_equal = node(operand).is_some() && node(operand) == node((user, output));
        if is_equal && self.is_in_place(operand, user, output) {
            return true;
        }
        if is_gpu
            && let Some(answer) =
                gpu::can_share(self.graph, &mut self.heroes, operand.0, user, &index)
        {
            return answer;
        }
        is_equal && self.operation_allows(operand.0, user, &index)
    }

    /// Whether the operation computes this result in place of what the operand holds.
    fn is_in_place(&self, operand: Position, user: InstructionId, output: u32) -> bool {
        let operands = self.graph.module().operands(user);
        let held = self.values.at(operand.0, operand.1);
        let pairs = self.in_place.iter().flat_map(|in_place| in_place.pairs(user));
        pairs.filter(|pair| pair.output_offset == output).any(|pair| {
            let from = operands.get(pair.operand as usize);
            held.is_some()
                && from.is_some_and(|&from| self.values.at(from, pair.operand_offset) == held)
        })
    }

    /// Whether an operation reads everything of an operand before it writes over it.
    fn operation_allows(
        &self,
        operand: InstructionId,
        user: InstructionId,
        output: &[u32],
    ) -> bool {
        let module = self.graph.module();
        let operands = module.operands(user);
        let numbers: SmallVec<[u32; 2]> = (0_u32..)
            .zip(operands)
            .filter(|(_, found)| **found == operand)
            .map(|(number, _)| number)
            .collect();
        let Some(&first) = numbers.first() else { return false };
        match module.opcode(user) {
            Opcode::Fusion => self.fusion_allows(user, first),
            Opcode::While | Opcode::Conditional => true,
            Opcode::DynamicUpdateSlice | Opcode::Scatter | Opcode::SetDimensionSize => {
                numbers[..] == [0]
            }
            Opcode::TriangularSolve => numbers[..] == [1],
            Opcode::Sort => {
                let is_only_user = self.graph.users(operand).all(|(other, _)| other == user);
                is_only_user
                    && (operands.len() == 1
                        || (numbers.len() == 1 && output.first() == Some(&first)))
            }
            _ => is_elementwise_on(module, user, first),
        }
    }

    fn fusion_allows(&self, fusion: InstructionId, number: u32) -> bool {
        let module = self.graph.module();
        let Some((_, callee)) = module.calls(fusion).next() else { return false };
        let parameter = self.graph.parameters(callee).get(number as usize).copied();
        let Some(parameter) = parameter else { return false };
        match module.attribute(fusion, AttributeName::Kind) {
            Some("kLoop" | "kInput") => self.flows_by_element(parameter),
            Some("kOutput") => self.is_added_last(parameter, module.computation(callee).root),
            _ => false,
        }
    }

    /// Whether all uses of a parameter, and theirs, are element by element, or tuples.
    fn flows_by_element(&self, parameter: InstructionId) -> bool {
        let module = self.graph.module();
        let mut seen = FxHashSet::from_iter([parameter]);
        let mut work = vec![parameter];
        while let Some(id) = work.pop() {
            for (user, number) in self.graph.users(id) {
                let is_tuple = module.opcode(user) == Opcode::Tuple;
                if !is_tuple && !is_elementwise_on(module, user, number) {
                    return false;
                }
                if seen.insert(user) {
                    work.push(user);
                }
            }
        }
        true
    }

    /// Whether a parameter is only added to a product, as the last thing.
    fn is_added_last(&self, parameter: InstructionId, root: InstructionId) -> bool {
        let module = self.graph.module();
        let &[left, right] = module.operands(root) else { return false };
        let is_product =
            |id: InstructionId| matches!(module.opcode(id), Opcode::Convolution | Opcode::Dot);
        let other = match (is_product(left), is_product(right)) {
            (true, _) => right,
            (false, true) => left,
            (false, false) => return false,
        };
        module.opcode(root) == Opcode::Add
            && other == parameter
            && self.graph.users(parameter).count() == 1
    }
}
