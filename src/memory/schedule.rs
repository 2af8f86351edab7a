//! The flattened schedule: all control computations in execution order (facts: tpu-memory section 3;
//! XLA `HloLiveRange::FlattenSchedule`).

use super::values::async_start_of;
use crate::graph::{ComputationKind, Dataflow};
use crate::hlo::{CallRole, ComputationId, InstructionId, Module, Opcode};
use smallvec::SmallVec;

/// Program points.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// The instruction at each program point.
    pub(super) order: Vec<InstructionId>,
    /// Per instruction its program point.
    times: Vec<Option<u32>>,
    /// Per computation its first program point and the one just after its last.
    spans: Vec<Option<(u32, u32)>>,
    /// Per computation the async-done up to which its values stay alive, for those that run
    /// asynchronously, and the async-start.
    pub(super) asynchronous: Vec<Option<AsyncRun>>,
}

/// The asynchronous operation that a computation is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AsyncRun {
    pub(super) start: InstructionId,
    pub(super) done: Option<InstructionId>,
}

impl Schedule {
    /// The program point of an instruction; `None` where it is not executed by the schedule.
    pub(super) fn time(&self, id: InstructionId) -> Option<u32> {
        self.times[id.index()]
    }

    /// First program point of a computation, and the one just after its last.
    pub(super) fn span(&self, id: ComputationId) -> Option<(u32, u32)> {
        self.spans[id.index()]
    }

    /// One past the last program point.
    pub(super) fn end(&self) -> u32 {
        self.order.len() as u32
    }

    /// Flattens the schedule from ENTRY, each computation once.
    pub(super) fn new(graph: &Dataflow<'_>) -> Schedule {
        let module = graph.module();
        let mut schedule = Schedule {
            order: Vec::with_capacity(module.instructions.len()),
            times: vec![None; module.instructions.len()],
            spans: vec![None; module.computations.len()],
            asynchronous: asynchronous_computations(graph),
        };
        let mut entered = vec![false; module.computations.len()];
        entered[module.entry.index()] = true;
        let mut stack = vec![Frame::new(module, module.entry, 0)];
        while let Some(frame) = stack.last_mut() {
            if let Some(callee) = frame.pending.pop() {
                if graph.kind(callee) == ComputationKind::Control && !entered[callee.index()] {
                    entered[callee.index()] = true;
                    let start = schedule.order.len() as u32;
                    stack.push(Frame::new(module, callee, start));
                }
                continue;
            }
            if let Some(id) = frame.current.take() {
                schedule.times[id.index()] = Some(schedule.order.len() as u32);
                schedule.order.push(id);
            }
            match frame.instructions.next() {
                Some(id) => {
                    frame.current = Some(id);
                    frame.pending = flattened_before(module, id);
                    frame.pending.reverse();
                }
                None => {
                    let span = (frame.start, schedule.order.len() as u32);
                    schedule.spans[frame.computation.index()] = Some(span);
                    stack.pop();
                }
            }
        }
        schedule
    }
}

struct Frame {
    computation: ComputationId,
    start: u32,
    instructions: Box<dyn Iterator<Item = InstructionId>>,
    current: Option<InstructionId>,
    pending: SmallVec<[ComputationId; 2]>,
}

impl Frame {
    fn new(module: &Module<'_>, computation: ComputationId, start: u32) -> Frame {
        Frame {
            computation,
            start,
            instructions: Box::new(module.computation(computation).ids()),
            current: None,
            pending: SmallVec::new(),
        }
    }
}

/// The computations that run before an instruction: those it calls, of a `while` the condition first.
fn flattened_before(module: &Module<'_>, id: InstructionId) -> SmallVec<[ComputationId; 2]> {
    let caller = match module.opcode(id) {
        Opcode::Call | Opcode::Conditional | Opcode::While => id,
        Opcode::AsyncStart if !has_late_operands(module, id) => id,
        Opcode::AsyncUpdate if module.operands(id).len() > 1 => {
            async_start_of(module, id).unwrap_or(id)
        }
        _ => return SmallVec::new(),
    };
    let mut called: SmallVec<[(CallRole, ComputationId); 2]> = module.calls(caller).collect();
    called.sort_by_key(|(role, _)| *role == CallRole::WhileBody);
    called.into_iter().map(|(_, callee)| callee).collect()
}

/// Whether an async-start has neither operands nor results yet: an async-update brings them (facts:
/// section 11.6).
pub(super) fn has_late_operands(module: &Module<'_>, id: InstructionId) -> bool {
    module.operands(id).is_empty()
        && module
            .subshape(id, &[1])
            .is_some_and(|shape| module.shapes.get(shape).elements().is_some_and(<[_]>::is_empty))
}

/// For the wrapped computation of every async-start, and what that calls (up to another async-start):
/// the start and the done.
fn asynchronous_computations(graph: &Dataflow<'_>) -> Vec<Option<AsyncRun>> {
    let module = graph.module();
    let mut found = vec![None; module.computations.len()];
    // Called computations stand before their callers.
    for computation in (0..module.computations.len() as u32).rev().map(ComputationId) {
        if graph.kind(computation) != ComputationKind::Control {
            continue;
        }
        let around: Option<AsyncRun> = found[computation.index()];
        for id in module.computation(computation).ids() {
            let run = match module.opcode(id) {
                Opcode::AsyncStart => Some(AsyncRun { start: id, done: done_of(graph, id) }),
                _ => around,
            };
            if run.is_some() {
                for (_, callee) in module.calls(id) {
                    found[callee.index()] = run;
                }
            }
        }
    }
    found
}

/// The async-done of an async-start, through async-updates.
fn done_of(graph: &Dataflow<'_>, start: InstructionId) -> Option<InstructionId> {
    let module = graph.module();
    let mut at = start;
    loop {
        let next = graph.users(at).map(|(user, _)| user).find(|&user| {
            matches!(module.opcode(user), Opcode::AsyncDone | Opcode::AsyncUpdate) && user > at
        })?;
        if module.opcode(next) == Opcode::AsyncDone {
            return Some(next);
        }
        at = next;
    }
}
