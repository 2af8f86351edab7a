//! Which values must share a buffer (facts: tpu-memory section 2; XLA `HloAliasAnalysis`).

use super::in_place::InPlace;
use super::tree::Trees;
use super::values::Values;
use super::{BufferId, ValueId};
use crate::graph::{ComputationKind, Dataflow};
use crate::hlo::{CallRole, InstructionId, Opcode};
use crate::target::Policy;
use petgraph::unionfind::UnionFind;

/// Buffers: sets of values that share memory.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    /// Per value its buffer.
    pub(super) of: Vec<BufferId>,
    /// All values, buffer by buffer, by id; see [`Buffers::values`].
    members: Vec<ValueId>,
    /// Per buffer its first member; one more entry at the end.
    first: Vec<u32>,
}

impl Buffers {
    /// The values of a buffer, by id.
    pub(super) fn values(&self, id: BufferId) -> &[ValueId] {
        let (from, to) = (self.first[id.0 as usize], self.first[id.0 as usize + 1]);
        &self.members[from as usize..to as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.first.len() - 1
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = BufferId> + use<> {
        (0..self.len() as u32).map(BufferId)
    }

    /// Joins all values that must alias.
    pub(super) fn new(
        graph: &Dataflow<'_>,
        trees: &Trees,
        values: &Values,
        policy: &Policy,
    ) -> Buffers {
        let mut sets = UnionFind::<u32>::new(values.len());
        join_control_flow(graph, values, &mut sets);
        join_donated(graph, trees, values, &mut sets);
        join_in_place(graph, &InPlace::new(graph, trees, policy), values, &mut sets);
        Buffers::of_sets(&mut sets, values.len())
    }

    /// Numbers the sets by their smallest value.
    fn of_sets(sets: &mut UnionFind<u32>, count: usize) -> Buffers {
        let mut number_of_set = vec![u32::MAX; count];
        let mut of = Vec::with_capacity(count);
        let mut sizes: Vec<u32> = Vec::new();
        for value in 0..count as u32 {
            let set = sets.find_mut(value) as usize;
            if number_of_set[set] == u32::MAX {
                number_of_set[set] = sizes.len() as u32;
                sizes.push(0);
            }
            sizes[number_of_set[set] as usize] += 1;
            of.push(BufferId(number_of_set[set]));
        }
        let mut first = Vec::with_capacity(sizes.len() + 1);
        let mut sum = 0;
        for size in sizes {
            first.push(sum);
            sum += size;
        }
        first.push(sum);
        let mut next = first.clone();
        let mut members = vec![ValueId(0); count];
        for (value, buffer) in of.iter().enumerate() {
            let at = &mut next[buffer.0 as usize];
            members[*at as usize] = ValueId(value as u32);
            *at += 1;
        }
        Buffers { of, members, first }
    }
}

fn join(sets: &mut UnionFind<u32>, left: &[ValueId], right: &[ValueId]) {
    if left.len() == right.len() {
        for (left, right) in left.iter().zip(right) {
            sets.union(left.0, right.0);
        }
    }
}

/// A loop's result, initial value, parameters and body root are one buffer at each index; a
/// conditional's result and the roots of its branches.
fn join_control_flow(graph: &Dataflow<'_>, values: &Values, sets: &mut UnionFind<u32>) {
    let module = graph.module();
    for id in module.ids() {
        let computation = module.instruction(id).computation;
        if graph.kind(computation) != ComputationKind::Control {
            continue;
        }
        match module.opcode(id) {
            Opcode::While => {
                let result = values.all(id);
                if let Some(&init) = module.operands(id).first() {
                    join(sets, result, values.all(init));
                }
                for (role, callee) in module.calls(id) {
                    if let Some(&parameter) = graph.parameters(callee).first() {
                        join(sets, result, values.all(parameter));
                    }
                    if role == CallRole::WhileBody {
                        join(sets, result, values.all(module.computation(callee).root));
                    }
                }
            }
            Opcode::Conditional => {
                for (_, callee) in module.calls(id) {
                    join(sets, values.all(id), values.all(module.computation(callee).root));
                }
            }
            _ => {}
        }
    }
}

/// `input_output_alias` of the module.
fn join_donated(graph: &Dataflow<'_>, trees: &Trees, values: &Values, sets: &mut UnionFind<u32>) {
    let module = graph.module();
    let root = module.entry().root;
    for alias in &module.header.input_output_alias {
        let parameter = usize::try_from(alias.parameter.parameter)
            .ok()
            .and_then(|number| graph.parameters(module.entry).get(number));
        let value_at = |id: InstructionId, index: &[u32]| {
            let shape = module.instruction(id).shape;
            values.at(id, trees.offset(&module.shapes, shape, index)?)
        };
        let pair = parameter.and_then(|&parameter| {
            Some((value_at(parameter, &alias.parameter.index)?, value_at(root, &alias.output)?))
        });
        if let Some((parameter, output)) = pair {
            sets.union(parameter.0, output.0);
        }
    }
}

/// In-place operations, in control computations and embedded ones alike.
fn join_in_place(
    graph: &Dataflow<'_>,
    in_place: &InPlace<'_, '_>,
    values: &Values,
    sets: &mut UnionFind<u32>,
) {
    let module = graph.module();
    for &id in values.operands_first.iter().flatten() {
        for pair in in_place.pairs(id) {
            let operand = module.operands(id).get(pair.operand as usize);
            let from = operand.and_then(|&operand| values.at(operand, pair.operand_offset));
            if let (Some(from), Some(to)) = (from, values.at(id, pair.output_offset)) {
                sets.union(from.0, to.0);
            }
        }
    }
}
