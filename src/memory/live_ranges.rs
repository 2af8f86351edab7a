//! When every value is alive (facts: tpu-memory sections 3 and 11.1; XLA `HloLiveRange`).

use super::aliasing::Buffers;
use super::schedule::Schedule;
use super::tree::Trees;
use super::values::{Definition, Values};
use super::{LiveRange, ValueId};
use crate::graph::Dataflow;
use crate::hlo::{CallRole, ComputationId, InstructionId, Opcode};
use crate::target::AsyncStart;

/// Where a value is, in an instruction's result.
pub(super) type Position = (InstructionId, u32);

/// Live ranges of all values.
#[derive(Clone, Debug)]
pub(super) struct LiveRanges {
    /// Per value its range; `None` in computations without a schedule.
    pub(super) of: Vec<Option<LiveRange>>,
    /// Per value the position that holds it last: it decides whether a later value may take its place.
    pub(super) last: Vec<Position>,
    /// Values of entry parameters that live to the end because no result takes their memory, with the
    /// program point that they would live to otherwise.
    pub(super) undonated: Vec<(ValueId, u32)>,
}

impl LiveRanges {
    pub(super) fn new(
        graph: &Dataflow<'_>,
        trees: &Trees,
        values: &Values,
        buffers: &Buffers,
        schedule: &Schedule,
        async_start: AsyncStart,
    ) -> LiveRanges {
        let mut ranges = starts(graph, values, schedule, async_start);
        let last = extend_to_positions(graph, values, schedule, &mut ranges);
        extend_to_uses(graph, values, schedule, &mut ranges);
        extend_asynchronous(graph, values, schedule, &mut ranges);
        let undonated = extend_parameters(graph, trees, values, schedule, &mut ranges);
        for buffer in buffers.ids() {
            separate(buffers.values(buffer), &mut ranges);
        }
        LiveRanges { of: ranges, last, undonated }
    }
}

fn computation_of(graph: &Dataflow<'_>, definition: &Definition) -> ComputationId {
    graph.module().instruction(definition.instruction).computation
}

/// A parameter starts with its computation, any other value with its instruction.
fn starts(
    graph: &Dataflow<'_>,
    values: &Values,
    schedule: &Schedule,
    async_start: AsyncStart,
) -> Vec<Option<LiveRange>> {
    let module = graph.module();
    let start = |definition: &Definition| {
        let computation = computation_of(graph, definition);
        let own = if module.opcode(definition.instruction) == Opcode::Parameter {
            schedule.span(computation)?.0
        } else {
            schedule.time(definition.instruction)?
        };
        let is_moved = match async_start {
            AsyncStart::Own => false,
            AsyncStart::AtStart => true,
            AsyncStart::AtStartButSparseCore => {
                module.computation(computation).execution_thread != "sparsecore"
            }
        };
        let run = schedule.asynchronous[computation.index()].filter(|_| is_moved);
        let earliest = run.and_then(|run| schedule.time(run.start)).unwrap_or(0);
        Some(LiveRange { start: own.max(earliest), end: own.max(earliest) })
    };
    values.definitions.iter().map(start).collect()
}

/// A value lives at every position that holds it: up to its time, or up to the end of the computation
/// where that returns it. Also says which position is the last; on equal times the defining one, then
/// the first in the text, where called computations come first.
fn extend_to_positions(
    graph: &Dataflow<'_>,
    values: &Values,
    schedule: &Schedule,
    ranges: &mut [Option<LiveRange>],
) -> Vec<Position> {
    let module = graph.module();
    let until = |id: InstructionId| {
        if module.is_root(id) {
            schedule.span(module.instruction(id).computation).map(|span| span.1)
        } else {
            schedule.time(id)
        }
    };
    let mut last: Vec<(Option<u32>, Position)> = values
        .definitions
        .iter()
        .map(|found| (until(found.instruction), (found.instruction, found.offset)))
        .collect();
    for id in module.ids() {
        let Some(time) = until(id) else { continue };
        for (offset, value) in values.all(id).iter().enumerate() {
            let latest = &mut last[value.0 as usize];
            if latest.0 < Some(time) {
                *latest = (Some(time), (id, offset as u32));
            }
        }
    }
    for (range, (time, _)) in ranges.iter_mut().zip(&last) {
        if let (Some(range), Some(time)) = (range, time) {
            range.end = range.end.max(*time);
        }
    }
    last.into_iter().map(|(_, position)| position).collect()
}

/// A value lives up to its uses. Where it only flows on, the position there counts instead.
fn extend_to_uses(
    graph: &Dataflow<'_>,
    values: &Values,
    schedule: &Schedule,
    ranges: &mut [Option<LiveRange>],
) {
    let module = graph.module();
    for &id in &schedule.order {
        let time = match module.opcode(id) {
            Opcode::Call
            | Opcode::Tuple
            | Opcode::Bitcast
            | Opcode::OptBarrier
            | Opcode::AddDependency => continue,
            Opcode::While => while_use_time(graph, schedule, id),
            _ => schedule.time(id),
        };
        let Some(time) = time else { continue };
        let reads_table_only = module.opcode(id) == Opcode::GetTupleElement;
        for &operand in module.operands(id) {
            let used = values.all(operand);
            let used = if reads_table_only { used.get(..1).unwrap_or(&[]) } else { used };
            for value in used {
                if let Some(range) = &mut ranges[value.0 as usize] {
                    range.end = range.end.max(time);
                }
            }
        }
    }
}

/// A use by a `while` is one by the body's parameter.
fn while_use_time(graph: &Dataflow<'_>, schedule: &Schedule, id: InstructionId) -> Option<u32> {
    let body = graph
        .module()
        .calls(id)
        .find_map(|(role, callee)| (role == CallRole::WhileBody).then_some(callee))?;
    schedule.time(*graph.parameters(body).first()?)
}

/// A value of a computation that runs asynchronously lives at least up to the async-done.
fn extend_asynchronous(
    graph: &Dataflow<'_>,
    values: &Values,
    schedule: &Schedule,
    ranges: &mut [Option<LiveRange>],
) {
    for (definition, range) in values.definitions.iter().zip(ranges) {
        let run = schedule.asynchronous[computation_of(graph, definition).index()];
        let done = run.and_then(|run| run.done).and_then(|done| schedule.time(done));
        if let (Some(range), Some(done)) = (range, done) {
            range.end = range.end.max(done);
        }
    }
}

/// A parameter of ENTRY that no result takes is alive from the first to the last program point.
fn extend_parameters(
    graph: &Dataflow<'_>,
    trees: &Trees,
    values: &Values,
    schedule: &Schedule,
    ranges: &mut [Option<LiveRange>],
) -> Vec<(ValueId, u32)> {
    let module = graph.module();
    let mut undonated = Vec::new();
    let mut is_donated = vec![false; values.len()];
    for alias in &module.header.input_output_alias {
        let parameter = usize::try_from(alias.parameter.parameter)
            .ok()
            .and_then(|number| graph.parameters(module.entry).get(number));
        let value = parameter.and_then(|&parameter| {
            let shape = module.instruction(parameter).shape;
            values.at(parameter, trees.offset(&module.shapes, shape, &alias.parameter.index)?)
        });
        if let Some(value) = value {
            is_donated[value.0 as usize] = true;
        }
    }
    for &parameter in graph.parameters(module.entry) {
        for value in values.all(parameter) {
            if let Some(range) = &mut ranges[value.0 as usize]
                && !is_donated[value.0 as usize]
            {
                undonated.push((*value, range.end));
                range.end = schedule.end();
            }
        }
    }
    undonated
}

/// Values of one buffer follow each other: where one ends after the next has started, it ends there.
///
/// ```text
///   a |-----------|            a |----|
///   b      |---|         →     b      |------|
/// ```
pub(super) fn separate(values: &[ValueId], ranges: &mut [Option<LiveRange>]) {
    if values.len() < 2 {
        return;
    }
    let mut order: Vec<(LiveRange, ValueId)> =
        values.iter().filter_map(|&id| Some((ranges[id.0 as usize]?, id))).collect();
    order.sort_unstable();
    for at in 1..order.len() {
        let (before, after) = (order[at - 1].0, order[at].0);
        order[at].0.end = before.end.max(after.end);
        order[at - 1].0.end = before.end.min(after.start);
    }
    for (range, id) in order {
        ranges[id.0 as usize] = Some(range);
    }
}
