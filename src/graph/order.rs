//! Orders of instructions and computations, all without recursion.

use super::dataflow::Dataflow;
use crate::hlo::{CallRole, ComputationId, InstructionId, Module, Opcode};

/// See [`Dataflow::operands_first`].
pub(super) fn operands_first(graph: &Dataflow<'_>, id: ComputationId) -> Vec<InstructionId> {
    let module = graph.module();
    let computation = module.computation(id);
    let first = computation.instructions.start as usize;
    let mut has_users = vec![false; computation.instructions.len()];
    for instruction in computation.ids() {
        let operands = module.operands(instruction).iter().copied();
        for operand in operands.chain(module.control_predecessors(instruction)) {
            if let Some(found) =
                operand.index().checked_sub(first).and_then(|at| has_users.get_mut(at))
            {
                *found = true;
            }
        }
    }
    let is_dead_done =
        |at: &InstructionId| matches!(module.opcode(*at), Opcode::CopyDone | Opcode::AsyncDone);
    let without_users = || computation.ids().filter(|id| !has_users[id.index() - first]);
    let roots = without_users()
        .filter(|id| !is_dead_done(id))
        .chain(without_users().filter(is_dead_done))
        .chain(computation.ids());

    let mut order = Vec::with_capacity(has_users.len());
    let mut state = vec![State::New; has_users.len()];
    let mut stack = Vec::new();
    for root in roots {
        stack.push(root);
        while let Some(&top) = stack.last() {
            let Some(seen) = top.index().checked_sub(first).and_then(|at| state.get_mut(at)) else {
                stack.pop();
                continue;
            };
            match *seen {
                State::New => {
                    *seen = State::Open;
                    stack.extend(module.operands(top).iter().rev());
                    stack.extend(module.control_predecessors(top));
                }
                State::Open => {
                    *seen = State::Done;
                    order.push(top);
                    stack.pop();
                }
                State::Done => {
                    stack.pop();
                }
            }
        }
    }
    order
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// See [`Dataflow::callees_first`].
pub(super) fn callees_first(module: &Module<'_>) -> Vec<ComputationId> {
    let mut order = Vec::with_capacity(module.computations.len());
    let mut seen = vec![false; module.computations.len()];
    let mut stack = vec![(module.entry, callees(module, module.entry).into_iter())];
    if let Some(seen) = seen.get_mut(module.entry.index()) {
        *seen = true;
    }
    while let Some((id, pending)) = stack.last_mut() {
        match pending.next() {
            Some(callee) => {
                if let Some(seen) = seen.get_mut(callee.index()).filter(|seen| !**seen) {
                    *seen = true;
                    stack.push((callee, callees(module, callee).into_iter()));
                }
            }
            None => {
                order.push(*id);
                stack.pop();
            }
        }
    }
    order
}

/// The computations that a computation calls, in text order, of a `while` the body first.
fn callees(module: &Module<'_>, id: ComputationId) -> Vec<ComputationId> {
    let mut found = Vec::new();
    for instruction in module.computation(id).ids() {
        let at = found.len();
        found.extend(module.calls(instruction));
        found[at..].sort_by_key(|(role, _)| *role == CallRole::WhileCondition);
    }
    found.into_iter().map(|(_, callee)| callee).collect()
}
