//! Values: which instruction defines one at which index, and which value every other position holds
//! (facts: tpu-memory section 2; XLA `HloDataflowAnalysis` in SSA form).
//!
//! Every subshape of an instruction's result is a *position*. A position either defines a value, or
//! holds what another position holds (bitcast, get-tuple-element, a parameter of a called
//! computation...), or is where values meet (loops, conditionals): a phi, where they differ.

use super::phis::{Meeting, settle};
use super::tree::Trees;
use super::{MemoryError, ValueId};
use crate::graph::{ComputationKind, Dataflow};
use crate::hlo::{CallRole, ComputationId, InstructionId, Module, Opcode, Shape};

/// Where a value is defined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    pub(super) instruction: InstructionId,
    /// Offset in the instruction's shape (see [`Trees`]).
    pub(super) offset: u32,
    pub(super) is_phi: bool,
}

/// What a position holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A value of its own.
    Own,
    /// What another position holds.
    Same(u32),
    /// What several positions hold: a number of a [`Meeting`].
    Meets(u32),
}

/// All values of a module, and what each position holds.
#[derive(Clone, Debug)]
pub(super) struct Values {
    /// Per instruction its first position; one more entry at the end. Instructions of fused and
    /// unused computations have none.
    first: Vec<u32>,
    /// Per position its value.
    at: Vec<ValueId>,
    /// Per value its definition.
    pub(super) definitions: Vec<Definition>,
    /// Instructions that have positions, operands first, computation after computation in text order.
    pub(super) operands_first: Vec<Vec<InstructionId>>,
}

impl Values {
    /// The value at a position; `None` for an instruction without positions or an offset outside.
    pub(super) fn at(&self, id: InstructionId, offset: u32) -> Option<ValueId> {
        self.all(id).get(offset as usize).copied()
    }

    /// The values at all positions of an instruction, in pre-order.
    pub(super) fn all(&self, id: InstructionId) -> &[ValueId] {
        let (from, to) = (self.first[id.index()], self.first[id.index() + 1]);
        &self.at[from as usize..to as usize]
    }

    pub(super) fn definition(&self, id: ValueId) -> &Definition {
        &self.definitions[id.0 as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Finds all values.
    pub(super) fn new(graph: &Dataflow<'_>, trees: &Trees) -> Result<Values, MemoryError> {
        let mut builder = Builder::new(graph, trees)?;
        for id in graph.module().ids() {
            if builder.has_positions(id) {
                builder.connect(id);
            }
        }
        builder.finish()
    }
}

struct Builder<'g, 'm> {
    graph: &'g Dataflow<'m>,
    trees: &'g Trees,
    first: Vec<u32>,
    sources: Vec<Source>,
    meetings: Vec<Meeting>,
}

impl<'g, 'm> Builder<'g, 'm> {
    fn new(graph: &'g Dataflow<'m>, trees: &'g Trees) -> Result<Builder<'g, 'm>, MemoryError> {
        let module = graph.module();
        let mut first = Vec::with_capacity(module.instructions.len() + 1);
        let mut count = 0_u32;
        for instruction in &module.instructions {
            first.push(count);
            let kind = graph.kind(instruction.computation);
            if matches!(kind, ComputationKind::Control | ComputationKind::Embedded) {
                let more = trees.count(instruction.shape);
                count = count.checked_add(more).ok_or(MemoryError::TooLarge)?;
            }
        }
        first.push(count);
        let sources = vec![Source::Own; count as usize];
        Ok(Builder { graph, trees, first, sources, meetings: Vec::new() })
    }

    fn module(&self) -> &'m Module<'m> {
        self.graph.module()
    }

    fn has_positions(&self, id: InstructionId) -> bool {
        self.first[id.index()] < self.first[id.index() + 1]
    }

    /// The positions at an index of an instruction; empty where there are none.
    fn positions(&self, id: InstructionId, index: &[u32]) -> std::ops::Range<u32> {
        let module = self.module();
        let shape = module.instruction(id).shape;
        let found = self.has_positions(id).then(|| {
            let offset = self.trees.offset(&module.shapes, shape, index)?;
            let count = self.trees.count(module.shapes.subshape(shape, index)?);
            Some(self.first[id.index()] + offset..self.first[id.index()] + offset + count)
        });
        found.flatten().unwrap_or(0..0)
    }

    /// Positions at an index hold what those at another hold. Where the shapes differ (a malformed
    /// text), nothing is connected and the positions keep values of their own.
    fn same(&mut self, to: (InstructionId, &[u32]), from: (InstructionId, &[u32])) {
        let (to, from) = (self.positions(to.0, to.1), self.positions(from.0, from.1));
        if to.len() == from.len() {
            for (to, from) in to.zip(from) {
                self.sources[to as usize] = Source::Same(from);
            }
        }
    }

    /// The same for arrays only: tuple tables keep values of their own.
    fn same_arrays(&mut self, to: (InstructionId, &[u32]), from: (InstructionId, &[u32])) {
        let module = self.module();
        let (targets, from) = (self.positions(to.0, to.1), self.positions(from.0, from.1));
        let Some(shape) = module.subshape(to.0, to.1) else { return };
        if targets.len() != from.len() {
            return;
        }
        for ((to, from), &node) in targets.zip(from).zip(self.trees.nodes(shape)) {
            if !matches!(module.shapes.get(node), Shape::Tuple(_)) {
                self.sources[to as usize] = Source::Same(from);
            }
        }
    }

    /// Values of several instructions meet at an instruction. What meets there already stays.
    fn meet(&mut self, to: InstructionId, from: &[InstructionId]) {
        let targets = self.positions(to, &[]);
        for from in from {
            let from = self.positions(*from, &[]);
            if from.len() != targets.len() {
                continue;
            }
            for (to, from) in targets.clone().zip(from) {
                match self.sources[to as usize] {
                    Source::Meets(meeting) => self.meetings[meeting as usize].inputs.push(from),
                    _ => {
                        self.sources[to as usize] = Source::Meets(self.meetings.len() as u32);
                        let inputs = smallvec::smallvec![from];
                        self.meetings.push(Meeting { position: to, inputs });
                    }
                }
            }
        }
    }

    fn root(&self, computation: ComputationId) -> Option<InstructionId> {
        self.module().computations.get(computation.index()).map(|found| found.root)
    }

    /// Connects the positions of an instruction, and those of parameters that it calls.
    fn connect(&mut self, id: InstructionId) {
        let module = self.module();
        let operands = module.operands(id);
        let first = operands.first().copied();
        match (module.opcode(id), first) {
            (Opcode::Tuple, _) => {
                for (at, &operand) in operands.iter().enumerate() {
                    self.same((id, &[at as u32]), (operand, &[]));
                }
            }
            (
                Opcode::Bitcast
                | Opcode::OptBarrier
                | Opcode::AddDependency
                | Opcode::Domain
                | Opcode::AllReduceDone,
                Some(operand),
            ) => self.same((id, &[]), (operand, &[])),
            (Opcode::GetTupleElement, Some(operand)) => {
                let index = module.tuple_index(id).and_then(|index| u32::try_from(index).ok());
                if let Some(index) = index {
                    self.same((id, &[]), (operand, &[index]));
                }
            }
            (Opcode::CopyStart, Some(operand)) => self.same((id, &[1]), (operand, &[])),
            (Opcode::CopyDone, Some(operand)) => self.same((id, &[]), (operand, &[0])),
            (Opcode::AllGatherStart | Opcode::CollectivePermuteStart, Some(_)) => {
                self.connect_source_side(id, operands);
            }
            (Opcode::Send, Some(operand)) => self.same((id, &[0]), (operand, &[])),
            (Opcode::RecvDone, Some(operand)) => self.same((id, &[0]), (operand, &[0])),
            (Opcode::Call, _) => self.connect_call(id, operands),
            (Opcode::While, Some(init)) => self.connect_while(id, init),
            (Opcode::Conditional, _) => self.connect_conditional(id, operands),
            (Opcode::AsyncStart, _) => self.connect_async_start(id, id, operands),
            (Opcode::AsyncUpdate, Some(operand)) => self.connect_async_update(id, operand),
            (
                Opcode::AsyncDone | Opcode::AllGatherDone | Opcode::CollectivePermuteDone,
                Some(operand),
            ) => {
                self.same_arrays((id, &[]), (operand, &[1]));
            }
            _ => {}
        }
    }

    /// `{0}` of all-gather-start and collective-permute-start is the operand, or one operand an
    /// element.
    fn connect_source_side(&mut self, id: InstructionId, operands: &[InstructionId]) {
        let module = self.module();
        let is_tuple = module
            .subshape(id, &[0])
            .is_some_and(|shape| matches!(module.shapes.get(shape), Shape::Tuple(_)));
        if !is_tuple {
            self.same((id, &[0]), (operands[0], &[]));
            return;
        }
        for (at, &operand) in operands.iter().enumerate() {
            self.same((id, &[0, at as u32]), (operand, &[]));
        }
    }

    fn connect_call(&mut self, id: InstructionId, operands: &[InstructionId]) {
        let Some((_, callee)) = self.module().calls(id).next() else { return };
        if let Some(root) = self.root(callee) {
            self.same((id, &[]), (root, &[]));
        }
        if self.graph.kind(callee) != ComputationKind::Control {
            // Embedded: parameters define values of their own.
            return;
        }
        let graph = self.graph;
        let is_only_caller = graph.callers(callee).len() == 1;
        for (&parameter, &operand) in graph.parameters(callee).iter().zip(operands) {
            if is_only_caller {
                self.same((parameter, &[]), (operand, &[]));
            } else {
                self.meet(parameter, &[operand]);
            }
        }
    }

    fn connect_while(&mut self, id: InstructionId, init: InstructionId) {
        let (mut body, mut condition) = (None, None);
        for (role, callee) in self.module().calls(id) {
            match role {
                CallRole::WhileBody => body = Some(callee),
                CallRole::WhileCondition => condition = Some(callee),
                _ => {}
            }
        }
        let (Some(body), Some(condition)) = (body, condition) else { return };
        if self.graph.kind(body) != ComputationKind::Control {
            return;
        }
        let Some(root) = self.root(body) else { return };
        let graph = self.graph;
        for callee in [condition, body] {
            if let Some(&parameter) = graph.parameters(callee).first() {
                self.meet(parameter, &[init, root]);
            }
        }
        self.meet(id, &[root, init]);
    }

    fn connect_conditional(&mut self, id: InstructionId, operands: &[InstructionId]) {
        let module = self.module();
        let graph = self.graph;
        for (role, callee) in module.calls(id) {
            let CallRole::Branch(branch) = role else { continue };
            if graph.kind(callee) != ComputationKind::Control {
                continue;
            }
            let operand = operands.get(branch as usize + 1).copied();
            if let (Some(&parameter), Some(operand)) = (graph.parameters(callee).first(), operand) {
                self.meet(parameter, &[operand]);
            }
            if let Some(root) = self.root(callee) {
                self.meet(id, &[root]);
            }
        }
    }

    /// The start with its operands, or (facts: section 11.6) an update that brings them: `{0,i}` is
    /// operand i, `{1}` the root of the wrapped computation, whose parameter i is operand i.
    fn connect_async_start(
        &mut self,
        start: InstructionId,
        id: InstructionId,
        operands: &[InstructionId],
    ) {
        for (at, &operand) in operands.iter().enumerate() {
            self.same_arrays((id, &[0, at as u32]), (operand, &[]));
        }
        let Some((_, callee)) = self.module().calls(start).next() else { return };
        if let Some(root) = self.root(callee) {
            self.same_arrays((id, &[1]), (root, &[]));
        }
        let graph = self.graph;
        if graph.kind(callee) != ComputationKind::Control {
            return;
        }
        for (&parameter, &operand) in graph.parameters(callee).iter().zip(operands) {
            self.same((parameter, &[]), (operand, &[]));
        }
    }

    fn connect_async_update(&mut self, id: InstructionId, operand: InstructionId) {
        let module = self.module();
        let late_operands = &module.operands(id)[1..];
        let start = async_start_of(module, id);
        match start {
            Some(start) if !late_operands.is_empty() => {
                self.connect_async_start(start, id, late_operands);
            }
            _ => self.same_arrays((id, &[]), (operand, &[])),
        }
    }

    fn finish(self) -> Result<Values, MemoryError> {
        let module = self.graph.module();
        let operands_first: Vec<Vec<InstructionId>> = (0..module.computations.len() as u32)
            .map(ComputationId)
            .filter(|&id| {
                matches!(self.graph.kind(id), ComputationKind::Control | ComputationKind::Embedded)
            })
            .map(|id| self.graph.operands_first(id))
            .collect();

        // Own values first, numbered computation by computation; phis behind them.
        let mut definitions = Vec::new();
        let mut own = vec![ValueId(u32::MAX); self.sources.len()];
        for &id in operands_first.iter().flatten() {
            let first = self.first[id.index()];
            for position in first..self.first[id.index() + 1] {
                if self.sources[position as usize] == Source::Own {
                    own[position as usize] = ValueId(definitions.len() as u32);
                    let offset = position - first;
                    definitions.push(Definition { instruction: id, offset, is_phi: false });
                }
            }
        }
        let phi_order = self.phi_order();
        let settled = settle(&self.sources, &self.meetings, &phi_order, own, definitions.len())?;
        for &meeting in &settled.phis {
            let position = self.meetings[meeting as usize].position;
            let instruction = self.first.partition_point(|&first| first <= position) - 1;
            let offset = position - self.first[instruction];
            let instruction = InstructionId(instruction as u32);
            definitions.push(Definition { instruction, offset, is_phi: true });
        }
        Ok(Values { first: self.first, at: settled.at, definitions, operands_first })
    }

    /// Meetings in the order in which phis are numbered: as they were found, which is the order of
    /// the calling instructions in the text.
    fn phi_order(&self) -> Vec<u32> {
        (0..self.meetings.len() as u32).collect()
    }
}

/// The async-start of an async-update or async-done (or the start itself).
pub(super) fn async_start_of(module: &Module<'_>, id: InstructionId) -> Option<InstructionId> {
    let mut at = id;
    for _ in 0..=module.instructions.len() {
        match module.opcode(at) {
            Opcode::AsyncStart => return Some(at),
            Opcode::AsyncUpdate | Opcode::AsyncDone => at = *module.operands(at).first()?,
            _ => return None,
        }
    }
    None
}
