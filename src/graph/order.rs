//! The order of instructions in a computation that decides ties, without recursion.

use super::dataflow::Dataflow;
use crate::hlo::{Attribute, ComputationId, InstructionId, Module, Opcode};

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
    let unused = computation.ids().filter(|id| !has_users[id.index() - first]).collect();
    let roots = roots(module, unused).into_iter().chain(computation.ids());

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

/// Instructions without users in the order in which the compiler's own list has them, as far as the
/// text tells. The text is in order of execution; the list is in order of creation.
fn roots(module: &Module<'_>, unused: Vec<InstructionId>) -> Vec<InstructionId> {
    // Memory space assignment makes its copies last, one after the other: the number in the name.
    let (mut copies, mut others): (Vec<InstructionId>, Vec<InstructionId>) = unused
        .into_iter()
        .partition(|&id| matches!(module.opcode(id), Opcode::CopyDone | Opcode::AsyncDone));
    copies.sort_by_key(|&id| name_number(module.instruction(id).name));
    // Sends stand in the order of their channels.
    let is_send = |id: &InstructionId| module.opcode(*id) == Opcode::SendDone;
    let mut sends: Vec<InstructionId> = others.iter().copied().filter(is_send).collect();
    sends.sort_by_key(|&id| channel(module, id));
    for (place, send) in others.iter_mut().filter(|id| is_send(id)).zip(sends) {
        *place = send;
    }
    others.extend(copies);
    others
}

fn channel(module: &Module<'_>, id: InstructionId) -> Option<i64> {
    module.attributes(id).iter().find_map(|attribute| match attribute {
        Attribute::ChannelId(channel) => Some(*channel),
        _ => None,
    })
}

/// The number behind the last dot of a name; `None` where there is none.
fn name_number(name: &str) -> Option<u64> {
    name.rsplit_once('.').and_then(|(_, number)| number.parse().ok())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}
