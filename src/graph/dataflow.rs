//! The graph itself. Nodes are the module's instructions, node n is instruction n; edges run in the
//! direction of data.

use super::kinds::{ComputationKind, classify};
use super::loops::{Loop, find_loops};
use super::order::operands_first;
use crate::hlo::{CallRole, ComputationId, InstructionId, Module};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

/// What an edge means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Operand → user, with the operand number.
    Operand(u32),
    /// Caller → parameter of a called computation, with the parameter number.
    Argument(u32),
    /// Root of a called computation → caller, with what the computation is to it.
    Result(CallRole),
    /// Control predecessor → successor.
    Control,
}

/// An instruction that calls a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The calling instruction.
    pub instruction: InstructionId,
    /// What the computation is to it.
    pub role: CallRole,
}

/// The dataflow graph of a module, with what follows from the graph alone.
#[derive(Clone, Debug)]
pub struct Dataflow<'m> {
    module: &'m Module<'m>,
    graph: DiGraph<InstructionId, Edge>,
    kinds: Vec<ComputationKind>,
    callers: Vec<Vec<Caller>>,
    parameters: Vec<Vec<InstructionId>>,
    loops: Vec<Loop>,
    /// Per computation the loop whose body or condition it is.
    loop_of: Vec<Option<u32>>,
}

impl<'m> Dataflow<'m> {
    /// Builds the graph of a module. Edges that lead out of the module's arenas are left out, so that
    /// every analysis may index without a check.
    pub fn new(module: &'m Module<'m>) -> Dataflow<'m> {
        let parameters: Vec<Vec<InstructionId>> = (0..module.computations.len() as u32)
            .map(|at| module.parameters(ComputationId(at)))
            .collect();
        let mut callers: Vec<Vec<Caller>> = vec![Vec::new(); module.computations.len()];
        for id in module.ids() {
            for (role, callee) in module.calls(id) {
                if let Some(callers) = callers.get_mut(callee.index()) {
                    callers.push(Caller { instruction: id, role });
                }
            }
        }
        let graph = edges(module, &parameters);
        let kinds = classify(module);
        let loops = find_loops(module, &kinds, &parameters);
        let mut loop_of = vec![None; module.computations.len()];
        for (at, found) in loops.iter().enumerate() {
            for computation in [found.body, found.condition] {
                if let Some(slot) = loop_of.get_mut(computation.index()) {
                    *slot = Some(at as u32);
                }
            }
        }
        Dataflow { module, graph, kinds, callers, parameters, loops, loop_of }
    }

    /// The module.
    pub fn module(&self) -> &'m Module<'m> {
        self.module
    }

    /// The petgraph graph, for its algorithms. Node n is instruction n.
    pub fn graph(&self) -> &DiGraph<InstructionId, Edge> {
        &self.graph
    }

    /// The node of an instruction.
    pub fn node(id: InstructionId) -> NodeIndex {
        NodeIndex::new(id.index())
    }

    /// The instructions that use an instruction's result, with the operand number, in text order. One
    /// that uses it twice comes twice.
    pub fn users(&self, id: InstructionId) -> impl Iterator<Item = (InstructionId, u32)> {
        self.graph.edges(Self::node(id)).filter_map(|edge| match edge.weight() {
            Edge::Operand(number) => Some((InstructionId(edge.target().index() as u32), *number)),
            _ => None,
        })
    }

    /// Whether a computation runs by its own schedule, is applied to elements, or is fused.
    pub fn kind(&self, id: ComputationId) -> ComputationKind {
        self.kinds.get(id.index()).copied().unwrap_or(ComputationKind::Unused)
    }

    /// The instructions that call a computation, in text order.
    pub fn callers(&self, id: ComputationId) -> &[Caller] {
        self.callers.get(id.index()).map_or(&[], Vec::as_slice)
    }

    /// The parameters of a computation by number.
    pub fn parameters(&self, id: ComputationId) -> &[InstructionId] {
        self.parameters.get(id.index()).map_or(&[], Vec::as_slice)
    }

    /// All `while` loops of the module, in text order.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The loop whose body (or, for values of it, condition) a computation is.
    pub fn loop_of(&self, id: ComputationId) -> Option<&Loop> {
        let at = (*self.loop_of.get(id.index())?)?;
        self.loops.get(at as usize)
    }

    /// How often a computation runs in one execution of the program.
    pub fn repetition(&self, id: ComputationId) -> super::Repetition {
        super::repetition::repetition(self, id)
    }

    /// Instructions of a computation, every one behind its operands: from those without users on,
    /// depth first, operand 0 first (XLA `HloComputation::MakeInstructionPostOrder`).
    pub fn operands_first(&self, id: ComputationId) -> Vec<InstructionId> {
        operands_first(self, id)
    }

    /// Every instruction that data or control of `from` reaches, `from` included: true at its number.
    pub fn reachable_from(&self, from: InstructionId) -> Vec<bool> {
        let mut reached = vec![false; self.module.instructions.len()];
        let mut search = petgraph::visit::Dfs::new(&self.graph, Self::node(from));
        while let Some(node) = search.next(&self.graph) {
            if let Some(reached) = reached.get_mut(node.index()) {
                *reached = true;
            }
        }
        reached
    }
}

/// All edges, added from the last instruction to the first, because petgraph iterates over a node's
/// edges from the newest to the oldest: users come out in text order.
fn edges(module: &Module<'_>, parameters: &[Vec<InstructionId>]) -> DiGraph<InstructionId, Edge> {
    let count = module.instructions.len();
    let mut graph = DiGraph::with_capacity(count, module.operand_arena.len());
    for id in module.ids() {
        graph.add_node(id);
    }
    let mut add = |from: InstructionId, to: InstructionId, edge: Edge| {
        if from.index() < count && to.index() < count {
            graph.add_edge(Dataflow::node(from), Dataflow::node(to), edge);
        }
    };
    for id in module.ids().rev() {
        for predecessor in module.control_predecessors(id) {
            add(predecessor, id, Edge::Control);
        }
        for (role, callee) in module.calls(id) {
            if let Some(computation) = module.computations.get(callee.index()) {
                add(computation.root, id, Edge::Result(role));
            }
            let parameters = parameters.get(callee.index()).map_or(&[][..], Vec::as_slice);
            for (number, &parameter) in parameters.iter().enumerate().rev() {
                add(id, parameter, Edge::Argument(number as u32));
            }
        }
        for (number, &operand) in module.operands(id).iter().enumerate().rev() {
            add(operand, id, Edge::Operand(number as u32));
        }
    }
    graph
}
