//! In-place operations: which operand of an instruction shares memory with which output by the
//! operation's nature (facts: tpu-memory section 2; XLA
//! `HloDataflowAnalysis::GetInPlaceInputOutputPairs`).

use super::tree::Trees;
use crate::graph::{ComputationKind, Dataflow};
use crate::hlo::{Attribute, InstructionId, Module, Opcode, Shape};
use crate::target::Policy;
use smallvec::SmallVec;

/// An operand's subshape that shares memory with an output's: operand number, offset in the operand's
/// shape, offset in the result's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) operand: u32,
    pub(super) operand_offset: u32,
    pub(super) output_offset: u32,
}

pub(super) type Pairs = SmallVec<[Pair; 1]>;

/// The in-place pairs of all instructions of a module: read with [`InPlace::pairs`].
pub(super) struct InPlace<'a, 'm> {
    graph: &'a Dataflow<'m>,
    trees: &'a Trees,
    policy: &'a Policy,
    /// Per fused computation the pairs of parameters and outputs, for fusions that call it.
    fused: Vec<Pairs>,
}

impl<'a, 'm> InPlace<'a, 'm> {
    /// Reads the fused computations, in text order, so that those inside come before those around.
    pub(super) fn new(
        graph: &'a Dataflow<'m>,
        trees: &'a Trees,
        policy: &'a Policy,
    ) -> InPlace<'a, 'm> {
        let module = graph.module();
        let fused = Vec::with_capacity(module.computations.len());
        let mut found = InPlace { graph, trees, policy, fused };
        for (at, computation) in module.computations.iter().enumerate() {
            let id = crate::hlo::ComputationId(at as u32);
            let pairs = if graph.kind(id) == ComputationKind::Fused {
                found.outputs_of(computation.root)
            } else {
                Pairs::new()
            };
            found.fused.push(pairs);
        }
        found
    }

    /// The pairs of an instruction.
    pub(super) fn pairs(&self, id: InstructionId) -> Pairs {
        let module = self.graph.module();
        let whole = |operand| Pair { operand, operand_offset: 0, output_offset: 0 };
        let operands = module.operands(id).len() as u32;
        let mut pairs = Pairs::new();
        match module.opcode(id) {
            Opcode::DynamicUpdateSlice | Opcode::SetDimensionSize => pairs.push(whole(0)),
            Opcode::Scatter | Opcode::AllReduceStart => {
                let tables = module.shape(id).elements();
                // scatter: operands, indices, updates; as many operands as outputs.
                let outputs = tables.map_or(1, <[_]>::len) as u32;
                for operand in 0..outputs.min(operands) {
                    let output_offset = match tables {
                        Some(_) => self.element(id, operand),
                        None => Some(0),
                    };
                    pairs.extend(output_offset.map(|output_offset| Pair {
                        operand,
                        operand_offset: 0,
                        output_offset,
                    }));
                }
            }
            Opcode::CollectivePermute if operands == 4 => pairs.push(whole(1)),
            Opcode::CollectivePermuteStart if operands == 4 => {
                pairs.extend(self.element(id, 1).map(|output_offset| Pair {
                    operand: 1,
                    operand_offset: 0,
                    output_offset,
                }));
            }
            Opcode::Fusion => {
                let callee = module.calls(id).next().map(|(_, callee)| callee.index());
                pairs.extend(
                    callee.and_then(|at| self.fused.get(at)).into_iter().flatten().copied(),
                );
                pairs.extend(self.stated(id));
            }
            Opcode::RaggedAllToAll if operands > 1 => pairs.push(whole(1)),
            Opcode::CustomCall | Opcode::AsyncStart | Opcode::AsyncUpdate => {
                pairs.extend(self.stated(id));
            }
            _ => {}
        }
        pairs
    }

    fn element(&self, id: InstructionId, element: u32) -> Option<u32> {
        let module = self.graph.module();
        self.trees.element(&module.shapes, module.instruction(id).shape, element)
    }

    /// `output_to_operand_aliasing`.
    fn stated(&self, id: InstructionId) -> impl Iterator<Item = Pair> {
        let module = self.graph.module();
        module.attributes(id).iter().filter_map(move |attribute| {
            let Attribute::OutputToOperandAlias(alias) = attribute else { return None };
            let operand = u32::try_from(alias.operand).ok()?;
            let from = module.instruction(*module.operands(id).get(operand as usize)?).shape;
            let offset = |shape, index| self.trees.offset(&module.shapes, shape, index);
            Some(Pair {
                operand,
                operand_offset: offset(from, &alias.operand_index)?,
                output_offset: offset(module.instruction(id).shape, &alias.output)?,
            })
        })
    }

    /// For every array of a fused root: the parameter that it is computed in place of.
    fn outputs_of(&self, root: InstructionId) -> Pairs {
        let module = self.graph.module();
        let shape = module.instruction(root).shape;
        let mut pairs = Pairs::new();
        for (offset, &node) in self.trees.nodes(shape).iter().enumerate() {
            if matches!(module.shapes.get(node), Shape::Tuple(_)) {
                continue;
            }
            let mut at = self.upstream((root, offset as u32));
            let mut is_in_place = false;
            // Every step goes to an operand, which stands earlier.
            while let Some(pair) = self.pair_of_output(at) {
                let Some(&operand) = module.operands(at.0).get(pair.operand as usize) else {
                    break;
                };
                if operand >= at.0 {
                    break;
                }
                is_in_place = true;
                at = self.upstream((operand, pair.operand_offset));
            }
            if is_in_place && module.opcode(at.0) == Opcode::Parameter {
                let number = module.parameter_number(at.0).and_then(|n| u32::try_from(n).ok());
                pairs.extend(number.map(|operand| Pair {
                    operand,
                    operand_offset: at.1,
                    output_offset: offset as u32,
                }));
            }
        }
        pairs
    }

    fn pair_of_output(&self, at: (InstructionId, u32)) -> Option<Pair> {
        self.pairs(at.0).into_iter().find(|pair| pair.output_offset == at.1)
    }

    /// The instruction and offset behind tuples and get-tuple-elements, then behind what the
    /// backend looks through.
    fn upstream(&self, mut at: (InstructionId, u32)) -> (InstructionId, u32) {
        let module: &Module<'_> = self.graph.module();
        while let Some(next) = self.tuple_step(module, at).filter(|next| next.0 < at.0) {
            at = next;
        }
        while self.policy.in_place_through(module.opcode(at.0))
            && let Some(&operand) = module.operands(at.0).first().filter(|&&id| id < at.0)
        {
            at.0 = operand;
        }
        at
    }

    fn tuple_step(
        &self,
        module: &Module<'_>,
        (id, offset): (InstructionId, u32),
    ) -> Option<(InstructionId, u32)> {
        let operands = module.operands(id);
        match module.opcode(id) {
            Opcode::Tuple => {
                let mut rest = offset.checked_sub(1)?;
                for &operand in operands {
                    let count = self.trees.count(module.instruction(operand).shape);
                    if rest < count {
                        return Some((operand, rest));
                    }
                    rest -= count;
                }
                None
            }
            Opcode::GetTupleElement => {
                let &operand = operands.first()?;
                let index = u32::try_from(module.tuple_index(id)?).ok()?;
                let shape = module.instruction(operand).shape;
                Some((operand, self.trees.element(&module.shapes, shape, index)? + offset))
            }
            _ => None,
        }
    }
}
