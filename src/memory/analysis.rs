//! What does not depend on how memory is assigned: values, buffers, schedule, live ranges, sizes. It is
//! done once for a module; [`Analysis::profile`] assigns memory, again and again for what-ifs.

use super::aliasing::Buffers;
use super::live_ranges::LiveRanges;
use super::schedule::Schedule;
use super::sizes::Sizes;
use super::tree::Trees;
use super::values::Values;
use super::{BufferId, MemoryError, ValueId};
use crate::graph::{ComputationKind, Dataflow};
use crate::hlo::{InstructionId, Opcode, Shape, ShapeId};
use crate::target::Policy;

/// The part of a memory analysis that edits do not change.
pub struct Analysis<'g, 'm> {
    pub(super) graph: &'g Dataflow<'m>,
    pub(super) policy: Policy,
    pub(super) trees: Trees,
    pub(super) values: Values,
    pub(super) buffers: Buffers,
    pub(super) schedule: Schedule,
    pub(super) ranges: LiveRanges,
    pub(super) sizes: Sizes,
    pub(super) facts: Vec<BufferFacts>,
    /// Per value, whether ENTRY's root holds it.
    pub(super) lives_out: Vec<bool>,
    /// Per instruction its place in the order of section 4: ENTRY first, operands first.
    pub(super) ranks: Vec<u32>,
}

/// What memory assignment asks of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferFacts {
    /// The memory space.
    pub(super) space: i64,
    /// Whether it belongs to computations that are applied to elements.
    pub(super) is_embedded: bool,
    /// A value of it is a constant.
    pub(super) has_constant: bool,
    /// A value of it is a parameter of ENTRY.
    pub(super) parameter: Option<ValueId>,
    /// ENTRY's root holds a value of it.
    pub(super) lives_out: bool,
    /// A value of it comes from an operation whose result the compiler copies before it returns it.
    pub(super) must_not_live_out: bool,
    /// A value of it is a tuple table.
    pub(super) is_table: bool,
    /// It is scratch of an async-update.
    pub(super) is_scratch: bool,
    /// The smallest rank of its defining instructions.
    pub(super) rank: u32,
}

impl<'g, 'm> Analysis<'g, 'm> {
    /// Finds values, buffers, schedule, live ranges and sizes.
    ///
    /// # Errors
    /// A module whose sizes overflow, or whose values cannot be followed.
    pub fn new(graph: &'g Dataflow<'m>, policy: &Policy) -> Result<Analysis<'g, 'm>, MemoryError> {
        let module = graph.module();
        let trees = Trees::new(&module.shapes)?;
        let values = Values::new(graph, &trees)?;
        let buffers = Buffers::new(graph, &trees, &values, policy);
        let schedule = Schedule::new(graph);
        let ranges =
            LiveRanges::new(graph, &trees, &values, &buffers, &schedule, policy.rules.async_start);
        let sizes = Sizes::new(graph, policy, &trees, &values)?;
        let mut analysis = Analysis {
            graph,
            policy: policy.clone(),
            trees,
            lives_out: vec![false; values.len()],
            ranks: ranks(graph, &values),
            values,
            buffers,
            schedule,
            ranges,
            sizes,
            facts: Vec::new(),
        };
        for value in analysis.values.all(module.entry().root) {
            analysis.lives_out[value.0 as usize] = true;
        }
        analysis.facts = analysis.buffers.ids().map(|id| analysis.facts_of(id)).collect();
        Ok(analysis)
    }

    /// The shape of a value.
    pub(super) fn shape_of(&self, value: ValueId) -> ShapeId {
        let definition = self.values.definition(value);
        let shape = self.graph.module().instruction(definition.instruction).shape;
        self.trees.nodes(shape)[definition.offset as usize]
    }

    pub(super) fn is_table(&self, value: ValueId) -> bool {
        matches!(self.graph.module().shapes.get(self.shape_of(value)), Shape::Tuple(_))
    }

    fn facts_of(&self, buffer: BufferId) -> BufferFacts {
        let module = self.graph.module();
        let mut facts = BufferFacts {
            space: 0,
            is_embedded: false,
            has_constant: false,
            parameter: None,
            lives_out: false,
            must_not_live_out: false,
            is_table: false,
            is_scratch: false,
            rank: u32::MAX,
        };
        for (at, &value) in self.buffers.values(buffer).iter().enumerate() {
            let definition = self.values.definition(value);
            let id = definition.instruction;
            let opcode = module.opcode(id);
            let computation = module.instruction(id).computation;
            if at == 0 {
                facts.space = self.sizes.space[value.0 as usize];
                facts.is_embedded = self.graph.kind(computation) == ComputationKind::Embedded;
            }
            if facts.space == 0 && self.policy.any_value_colours() {
                facts.space = self.sizes.space[value.0 as usize];
            }
            facts.has_constant |= opcode == Opcode::Constant;
            if opcode == Opcode::Parameter && computation == module.entry {
                facts.parameter = Some(value);
            }
            facts.lives_out |= self.lives_out[value.0 as usize];
            facts.must_not_live_out |= self.policy.copies_transferred_results()
                && matches!(
                    opcode,
                    Opcode::Recv
                        | Opcode::AllToAll
                        | Opcode::AllGather
                        | Opcode::AllGatherStart
                        | Opcode::CollectivePermute
                        | Opcode::CollectivePermuteStart
                );
            facts.is_table |= self.is_table(value);
            facts.is_scratch |= self.is_scratch(id, definition.offset);
            facts.rank = facts.rank.min(self.ranks[id.index()]);
        }
        facts.is_scratch &= !facts.is_table;
        facts
    }

    /// Whether a position is scratch that an async-update hands to the SparseCore: what stands under
    /// `{2}` of it.
    fn is_scratch(&self, id: InstructionId, offset: u32) -> bool {
        let module = self.graph.module();
        let shape = module.instruction(id).shape;
        let is_late = match module.opcode(id) {
            Opcode::AsyncUpdate => module.operands(id).len() > 1,
            _ => false,
        };
        is_late && self.trees.offset(&module.shapes, shape, &[2]).is_some_and(|from| offset > from)
    }
}

/// Computations from the last in the text to the first, which is from callers to callees: XLA prints
/// them in its post-order. Within one, operands first.
fn ranks(graph: &Dataflow<'_>, values: &Values) -> Vec<u32> {
    let mut ranks = vec![u32::MAX; graph.module().instructions.len()];
    let in_order = values.operands_first.iter().rev().flatten();
    for (rank, id) in in_order.enumerate() {
        ranks[id.index()] = rank as u32;
    }
    ranks
}

/// Whether a module is scheduled as far as memory is concerned.
pub(super) fn is_scheduled(graph: &Dataflow<'_>) -> bool {
    graph.module().header.is_scheduled
}
