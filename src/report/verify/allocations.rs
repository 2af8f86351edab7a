//! Allocations, offsets, and totals by memory space.

use super::{
    Count, Differences, Disagreement, Figure, Oracle, Ours, Pair, Space, is_left_out, named,
};
use crate::dump::side::buffer_assignment::{AllocationRecord, BufferAssignment};
use crate::dump::side::memory_usage_report::MemoryUsageReport;
use crate::memory::{Allocation, AllocationId, AllocationKind};
use std::collections::{BTreeMap, BTreeSet};

/// Compares allocations (size, kind, members with sizes and offsets) and, value by value, offsets.
/// Allocations are paired by their members, since the order of thread-local ones follows numbers
/// that the text does not show.
pub(super) fn compare(
    ours: &Ours<'_>,
    assignment: &BufferAssignment<'_>,
    differences: &mut Differences,
) -> (Count, Count) {
    let mut allocations = Count::default();
    let mut offsets = Count::default();
    let mut unpaired: BTreeSet<u32> = (0..ours.profile.allocations.len() as u32)
        .filter(|&at| !is_left_out(ours.profile.allocation(AllocationId(at))))
        .collect();
    for record in &assignment.allocations {
        if is_preset(ours, record) {
            continue;
        }
        let paired = pair(ours, record, &unpaired);
        if let Some(AllocationId(at)) = paired {
            unpaired.remove(&at);
        }
        let mine = paired.map(|id| ours.profile.allocation(id));
        let same_head = mine.is_some_and(|mine| same_head(mine, record));
        let placed = record_offsets(ours, record, paired, &mut offsets, differences);
        let same_count = mine.is_some_and(|mine| mine.values.len() == record.values.len());
        let is_equal = same_head && placed && same_count;
        allocations.add(is_equal);
        if !is_equal {
            differences.add(|| Disagreement {
                figure: Figure::Allocation,
                subject: format!("allocation {}", record.number),
                ours: mine.map_or("no such allocation".into(), describe),
                xla: describe_record(record),
                line: Some(record.line),
            });
        }
    }
    for at in unpaired {
        let mine = ours.profile.allocation(AllocationId(at));
        allocations.add(false);
        differences.add(|| Disagreement {
            figure: Figure::Allocation,
            subject: format!("our allocation {at}"),
            ours: describe(mine),
            xla: "no such allocation".into(),
            line: None,
        });
    }
    (allocations, offsets)
}

/// Whether the compiler placed an allocation's values before buffer assignment.
pub(super) fn is_preset(ours: &Ours<'_>, record: &AllocationRecord<'_>) -> bool {
    record.is_preallocated_temp && ours.preset.contains(&record.memory_space)
}

/// Our allocation that holds the record's first value; of an empty one, the first that looks alike.
fn pair(
    ours: &Ours<'_>,
    record: &AllocationRecord<'_>,
    unpaired: &BTreeSet<u32>,
) -> Option<AllocationId> {
    match record.values.first() {
        Some(first) => {
            let id = ours.value(first.name.instruction, &first.name.index)?;
            let id = ours.profile.value(id).place?.allocation;
            unpaired.contains(&id.0).then_some(id)
        }
        None => unpaired.iter().map(|&at| AllocationId(at)).find(|&id| {
            let mine = ours.profile.allocation(id);
            mine.values.is_empty() && same_head(mine, record)
        }),
    }
}

/// Size, memory space and kind.
fn same_head(mine: &Allocation, record: &AllocationRecord<'_>) -> bool {
    let same_kind = match (&mine.kind, &record.parameter) {
        (AllocationKind::Parameter { number, index }, Some(parameter)) => {
            *number == parameter.number && *index == parameter.index
        }
        (AllocationKind::Constant, None) => record.is_constant,
        (AllocationKind::ThreadLocal, None) => record.is_thread_local,
        (AllocationKind::Temporary, None) => !record.is_constant && !record.is_thread_local,
        _ => false,
    };
    same_kind
        && mine.size_bytes == record.size_bytes
        && mine.memory_space == record.memory_space
        && mine.maybe_live_out == record.maybe_live_out
}

/// Compares where the values of an allocation stand; whether all stand in the paired one, at the
/// same offsets, with the same sizes.
fn record_offsets(
    ours: &Ours<'_>,
    record: &AllocationRecord<'_>,
    paired: Option<AllocationId>,
    offsets: &mut Count,
    differences: &mut Differences,
) -> bool {
    let mut all = true;
    for theirs in &record.values {
        let name = &theirs.name;
        let mine = ours.value(name.instruction, &name.index).map(|id| ours.profile.value(id));
        let place = mine.and_then(|mine| mine.place);
        let same_size = mine.is_some_and(|mine| mine.size_bytes == theirs.size_bytes);
        let same_place = place.is_some_and(|place| {
            Some(place.allocation) == paired && place.offset_bytes == theirs.offset_bytes
        });
        offsets.add(same_size && same_place);
        all &= same_size && same_place;
        if !same_place {
            differences.add(|| Disagreement {
                figure: Figure::Offset,
                subject: named(name.instruction, &name.index),
                ours: place.map_or("not placed".into(), |place| {
                    let other = match Some(place.allocation) == paired {
                        true => String::new(),
                        false => format!("our allocation {}, ", place.allocation.0),
                    };
                    format!("{other}offset {}", place.offset_bytes)
                }),
                xla: format!("allocation {}, offset {}", record.number, theirs.offset_bytes),
                line: Some(theirs.line),
            });
        }
    }
    all
}

/// Compares what XLA compares with the capacity: HBM without thread-local allocations and, up to
/// libtpu 0.0.41, without results.
pub(super) fn required(
    ours: &Ours<'_>,
    assignment: &BufferAssignment<'_>,
    differences: &mut Differences,
) -> Pair {
    let counts = |record: &&AllocationRecord<'_>| {
        let is_result = record.maybe_live_out && record.parameter.is_none();
        record.memory_space == 0
            && !record.is_thread_local
            && (ours.results_are_required || !is_result)
    };
    let xla = sum(assignment.allocations.iter().filter(counts).map(|record| record.size_bytes));
    let mine = ours.profile.hbm().map_or(0, |space| space.required_bytes);
    let pair = Pair { ours: mine, xla };
    if !pair.is_exact() {
        differences.add_in(0, || disagreement(Figure::Required, ours.memory, pair));
    }
    pair
}

/// Compares totals: XLA's report, else the sum of its allocations.
pub(super) fn spaces(
    ours: &Ours<'_>,
    oracle: &Oracle<'_>,
    differences: &mut Differences,
) -> Vec<Space> {
    let Some(theirs) = totals(oracle) else { return Vec::new() };
    let mine = ours.profile.spaces.iter().map(|space| (space.memory_space, space.total_bytes));
    let mine: BTreeMap<i64, u64> = mine.collect();
    let numbers: BTreeSet<i64> = mine.keys().chain(theirs.keys()).copied().collect();
    let space = |memory_space: i64| Space {
        memory_space,
        total: Pair {
            ours: mine.get(&memory_space).copied().unwrap_or(0),
            xla: theirs.get(&memory_space).copied().unwrap_or(0),
        },
        compared: !ours.preset.contains(&memory_space),
    };
    let spaces: Vec<Space> = numbers.into_iter().map(space).collect();
    for space in spaces.iter().filter(|space| space.compared && !space.total.is_exact()) {
        let name = match space.memory_space {
            0 => ours.memory.to_owned(),
            number => format!("memory space {number}"),
        };
        let in_space = space.memory_space;
        differences.add_in(in_space, || disagreement(Figure::Total, &name, space.total));
    }
    spaces
}

fn totals(oracle: &Oracle<'_>) -> Option<BTreeMap<i64, u64>> {
    if let Some(MemoryUsageReport::BySpace(spaces)) = oracle.report {
        return Some(spaces.iter().map(|space| (space.memory_space, space.total_bytes)).collect());
    }
    let mut totals: BTreeMap<i64, u64> = BTreeMap::new();
    for record in &oracle.assignment?.allocations {
        let total = totals.entry(record.memory_space).or_default();
        *total = total.saturating_add(record.size_bytes);
    }
    Some(totals)
}

fn disagreement(figure: Figure, subject: &str, pair: Pair) -> Disagreement {
    Disagreement {
        figure,
        subject: subject.into(),
        ours: format!("{} bytes", pair.ours),
        xla: format!("{} bytes", pair.xla),
        line: None,
    }
}

pub(super) fn sum(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

fn describe(mine: &Allocation) -> String {
    let kind = match &mine.kind {
        AllocationKind::Parameter { number, index } => {
            let place = named("", index).split_off(1);
            format!("parameter {number}{place}")
        }
        AllocationKind::Constant => "constant".into(),
        AllocationKind::ThreadLocal => "thread-local".into(),
        AllocationKind::Temporary => "temporary".into(),
    };
    line(mine.size_bytes, mine.memory_space, &kind, mine.maybe_live_out, mine.values.len())
}

fn describe_record(record: &AllocationRecord<'_>) -> String {
    let kind = match &record.parameter {
        Some(parameter) => {
            let place = named("", &parameter.index).split_off(1);
            format!("parameter {}{place}", parameter.number)
        }
        None if record.is_constant => "constant".into(),
        None if record.is_thread_local => "thread-local".into(),
        None => "temporary".into(),
    };
    let values = record.values.len();
    line(record.size_bytes, record.memory_space, &kind, record.maybe_live_out, values)
}

fn line(size_bytes: u64, memory_space: i64, kind: &str, live_out: bool, values: usize) -> String {
    let live_out = if live_out { ", live out" } else { "" };
    format!("{size_bytes} bytes in space {memory_space}, {kind}{live_out}, {values} values")
}
