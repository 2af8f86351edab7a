//! Where the data of a value comes from: upstream through everything that only moves it, to the first
//! instruction that computes it.

use super::Value;
use crate::graph::Dataflow;
use crate::hlo::{CallRole, InstructionId, Module, Opcode, ShapeIndex};
use smallvec::SmallVec;

/// The instruction that computes a value's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The instruction. It may stand inside a fusion or a loop's body.
    pub instruction: InstructionId,
    /// Whether it is another one than the value's own: the report says so.
    pub inferred: bool,
}

/// Steps that are followed; real chains have a few dozen.
const MAX_STEPS: usize = 1000;

/// The first instruction upstream that computes what a value holds.
pub fn origin(graph: &Dataflow<'_>, value: &Value) -> Origin {
    origin_at(graph, value.instruction, value.index.clone())
}

/// The same for what stands at an index of an instruction's result.
pub fn origin_at(graph: &Dataflow<'_>, instruction: InstructionId, index: ShapeIndex) -> Origin {
    let module = graph.module();
    let mut search = Search { graph, module, visited_loops: SmallVec::new() };
    let mut at = (instruction, index);
    for _ in 0..MAX_STEPS {
        match search.step(&at) {
            Some(next) => at = next,
            None => break,
        }
    }
    Origin { instruction: at.0, inferred: at.0 != instruction }
}

type Place = (InstructionId, ShapeIndex);

struct Search<'g, 'm> {
    graph: &'g Dataflow<'m>,
    module: &'m Module<'m>,
    /// Loops whose body root was followed already: a value that only goes around comes from the
    /// initial value.
    visited_loops: SmallVec<[InstructionId; 4]>,
}

impl Search<'_, '_> {
    /// One step upstream; `None` at the origin.
    fn step(&mut self, (id, index): &Place) -> Option<Place> {
        let module = self.module;
        let operands = module.operands(*id);
        let operand = |number: usize| operands.get(number).copied();
        match module.opcode(*id) {
            Opcode::Copy
            | Opcode::Bitcast
            | Opcode::Reshape
            | Opcode::Transpose
            | Opcode::OptBarrier
            | Opcode::AddDependency
            | Opcode::Domain
            | Opcode::AllReduceDone => Some((operand(0)?, index.clone())),
            Opcode::CopyDone => Some((operand(0)?, ShapeIndex::from_slice(&[0]))),
            Opcode::CopyStart => Some((operand(0)?, ShapeIndex::new())),
            Opcode::AllGatherDone | Opcode::CollectivePermuteDone | Opcode::AsyncDone => {
                let mut inner = ShapeIndex::from_slice(&[1]);
                inner.extend_from_slice(index);
                Some((operand(0)?, inner))
            }
            Opcode::GetTupleElement => {
                let mut inner =
                    ShapeIndex::from_slice(&[u32::try_from(module.tuple_index(*id)?).ok()?]);
                inner.extend_from_slice(index);
                Some((operand(0)?, inner))
            }
            Opcode::Tuple => {
                let (&first, rest) = index.split_first()?;
                Some((operand(first as usize)?, rest.into()))
            }
            Opcode::DynamicUpdateSlice => Some((operand(1)?, ShapeIndex::new())),
            // The element of the same index, through collectives that were combined into one.
            Opcode::AllReduce | Opcode::AllGather | Opcode::AllReduceStart
                if operands.len() > 1 =>
            {
                let (&first, rest) = index.split_first()?;
                Some((operand(first as usize)?, rest.into()))
            }
            Opcode::Fusion => self.inside(*id, index),
            Opcode::Call => {
                let (_, callee) = module.calls(*id).next()?;
                Some((module.computations.get(callee.index())?.root, index.clone()))
            }
            Opcode::Conditional => {
                let (_, callee) = module.calls(*id).next()?;
                Some((module.computations.get(callee.index())?.root, index.clone()))
            }
            Opcode::AsyncStart => {
                let (&first, rest) = index.split_first()?;
                let (_, callee) = module.calls(*id).next().filter(|_| first == 1)?;
                Some((module.computations.get(callee.index())?.root, rest.into()))
            }
            Opcode::While => self.around(*id, index),
            Opcode::Parameter => self.outside(*id, index),
            _ => None,
        }
    }

    /// From a fusion to its root, unless that is a parameter that is only handed through.
    fn inside(&self, id: InstructionId, index: &ShapeIndex) -> Option<Place> {
        let (_, callee) = self.module.calls(id).next()?;
        Some((self.module.computations.get(callee.index())?.root, index.clone()))
    }

    /// From a loop's result to what its body returns; the second time to what it starts with.
    fn around(&mut self, id: InstructionId, index: &ShapeIndex) -> Option<Place> {
        if self.visited_loops.contains(&id) {
            return Some((*self.module.operands(id).first()?, index.clone()));
        }
        self.visited_loops.push(id);
        let (_, body) = self.module.calls(id).find(|(role, _)| *role == CallRole::WhileBody)?;
        Some((self.module.computations.get(body.index())?.root, index.clone()))
    }

    /// From a parameter of a called computation to what the caller hands in.
    fn outside(&mut self, id: InstructionId, index: &ShapeIndex) -> Option<Place> {
        let module = self.module;
        let computation = module.instruction(id).computation;
        let number = usize::try_from(module.parameter_number(id)?).ok()?;
        let caller = self.graph.callers(computation).first()?;
        let operands = module.operands(caller.instruction);
        match caller.role {
            CallRole::Body => Some((*operands.get(number)?, index.clone())),
            CallRole::Branch(branch) => Some((*operands.get(branch as usize + 1)?, index.clone())),
            CallRole::WhileBody | CallRole::WhileCondition => {
                self.around(caller.instruction, index)
            }
            _ => None,
        }
    }
}
