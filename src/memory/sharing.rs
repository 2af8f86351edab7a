//! Whether a result may take the memory of an operand (facts: tpu-memory section 5; XLA
//! `HloDataflowAnalysis::CanShareOperandBufferWithUser`).

use super::analysis::Analysis;
use super::in_place::InPlace;
use super::live_ranges::Position;
use super::tree::Trees;
use super::values::Values;
use crate::graph::Dataflow;
use crate::hlo::{InstructionId, Module, Opcode, Shape};
use crate::target::tpu::SharingHints;
use crate::target::{Backend, Policy, gpu};
use rustc_hash::FxHashMap;

/// Answers the question, and remembers what it has read.
pub(super) struct Sharing<'a, 'm> {
    pub(super) graph: &'a Dataflow<'m>,
    pub(super) trees: &'a Trees,
    pub(super) values: &'a Values,
    pub(super) policy: &'a Policy,
    /// In-place operations, for backends whose texts have no hints.
    pub(super) in_place: Option<InPlace<'a, 'm>>,
    pub(super) heroes: gpu::Heroes,
    hints: SharingHints,
    /// Per fusion which parameters are used element by element only.
    elementwise: FxHashMap<InstructionId, Vec<bool>>,
}

impl<'a, 'm> Sharing<'a, 'm> {
    pub(super) fn new(analysis: &'a Analysis<'_, 'm>) -> Self {
        let Analysis { graph, trees, values, policy, .. } = analysis;
        let in_place = (policy.backend != Backend::Tpu).then(|| InPlace::new(graph, trees, policy));
        let (hints, elementwise, heroes) = Default::default();
        Sharing { graph, trees, values, policy, in_place, heroes, hints, elementwise }
    }

    /// Whether the value that `user` defines at an offset of its result may take the place of what
    /// the operand holds. `copy` never shares.
    pub(super) fn can_share(
        &mut self,
        operand: Position,
        user: InstructionId,
        output: u32,
    ) -> bool {
        let module = self.graph.module();
        let opcode = module.opcode(user);
        if opcode == Opcode::Copy || !module.operands(user).contains(&operand.0) {
            return false;
        }
        if module.opcode(operand.0) == Opcode::Constant {
            return false;
        }
        if self.policy.backend != Backend::Tpu {
            return self.can_share_without_hints(operand, user, output);
        }
        let Some(hint) = self.hints.of(module, user) else {
            return self.can_share_by_rule(operand, user, output);
        };
        let Some(value) = self.values.at(operand.0, operand.1) else { return false };
        let leaves = |id| leaf_numbers(module, self.trees, id);
        let mut first = 0;
        let mut operand_leaves = Vec::new();
        for &operand in module.operands(user) {
            for (leaf, offset) in leaves(operand).enumerate() {
                if self.values.at(operand, offset) == Some(value) {
                    operand_leaves.push(first + leaf as u32);
                }
            }
            first += leaves(operand).count() as u32;
        }
        let Some(result) = leaves(user).position(|offset| offset == output) else { return false };
        let result = first + result as u32;
        operand_leaves.iter().any(|&leaf| hint.shares(leaf, result))
    }

    /// The rule for texts of XLA:TPU without hints.
    fn can_share_by_rule(&mut self, operand: Position, user: InstructionId, output: u32) -> bool {
        let module = self.graph.module();
        let node = |(id, offset): Position| {
            self.trees.nodes(module.instruction(id).shape).get(offset as usize).copied()
        };
        // Interned: equal ids are equal type, dimensions and layout.
        if node(operand).is_none() || node(operand) != node((user, output)) {
            return false;
        }
        let numbers = module
            .operands(user)
            .iter()
            .enumerate()
            .filter(|(_, found)| **found == operand.0)
            .map(|(number, _)| number as u32);
        let numbers: smallvec::SmallVec<[u32; 2]> = numbers.collect();
        let opcode = module.opcode(user);
        match opcode {
            Opcode::DynamicUpdateSlice | Opcode::Scatter => numbers.contains(&0),
            Opcode::While => numbers.contains(&0) && operand.1 == output,
            Opcode::Sort | Opcode::AllReduce => {
                let is_tuple = module.shape(user).elements().is_some();
                numbers.iter().any(|&number| output == number + u32::from(is_tuple))
            }
            Opcode::Fusion => {
                let elementwise = self.elementwise_parameters(user);
                numbers.iter().all(|&number| elementwise.get(number as usize) == Some(&true))
            }
            _ => opcode.is_elementwise(),
        }
    }

    /// For every parameter of a fusion whether all its uses, and theirs, are element by element.
    fn elementwise_parameters(&mut self, fusion: InstructionId) -> &[bool] {
        let graph = self.graph;
        self.elementwise.entry(fusion).or_insert_with(|| {
            let module = graph.module();
            let Some((_, callee)) = module.calls(fusion).next() else { return Vec::new() };
            let computation = module.computation(callee);
            let first = computation.instructions.start as usize;
            // From the last instruction to the first: users are decided before operands.
            let mut only_elementwise = vec![true; computation.instructions.len()];
            for id in computation.ids().rev() {
                let passes =
                    module.opcode(id).is_elementwise() || module.opcode(id) == Opcode::Tuple;
                let is_good = passes && only_elementwise[id.index() - first];
                for operand in module.operands(id) {
                    if let Some(at) = operand.index().checked_sub(first)
                        && let Some(found) = only_elementwise.get_mut(at)
                    {
                        *found &= is_good;
                    }
                }
            }
            graph
                .parameters(callee)
                .iter()
                .map(|id| only_elementwise.get(id.index() - first).copied().unwrap_or(false))
                .collect()
        })
    }
}

/// Offsets of the arrays in an instruction's result, in the order in which hints number them.
fn leaf_numbers<'a>(
    module: &'a Module<'_>,
    trees: &'a Trees,
    id: InstructionId,
) -> impl Iterator<Item = u32> + use<'a> {
    let nodes = trees.nodes(module.instruction(id).shape);
    nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| !matches!(module.shapes.get(**node), Shape::Tuple(_)))
        .map(|(offset, _)| offset as u32)
}
