//! Sizes, schedule and live ranges, value by value.

use super::{Count, Differences, Disagreement, Figure, Names, Ours, named};
use crate::dump::side::buffer_assignment::BufferAssignment;
use crate::dump::side::live_range::LiveRanges;
use crate::memory::LiveRange;

const NONE: &str = "no such value";

/// Compares the size of every value that XLA placed.
pub(super) fn sizes(
    ours: &Ours<'_>,
    assignment: &BufferAssignment<'_>,
    differences: &mut Differences,
) -> Count {
    let mut count = Count::default();
    let mut seen = Names::default();
    for record in assignment.allocations.iter().flat_map(|allocation| &allocation.values) {
        let name = &record.name;
        seen.insert((name.instruction, &name.index));
        let value = ours.value(name.instruction, &name.index).map(|id| ours.profile.value(id));
        let size_bytes = value.map(|value| value.size_bytes);
        count.add(size_bytes == Some(record.size_bytes));
        if size_bytes != Some(record.size_bytes) {
            differences.add_in(name.memory_space, || Disagreement {
                figure: if value.is_some() { Figure::Size } else { Figure::Value },
                subject: named(name.instruction, &name.index),
                ours: size_bytes.map_or(NONE.into(), |bytes| format!("{bytes} bytes")),
                xla: format!("{} bytes, {}", record.size_bytes, record.shape),
                line: Some(record.line),
            });
        }
    }
    for value in ours.profile.values.iter().filter(|value| value.place.is_some()) {
        let instruction = ours.module.instruction(value.instruction).name;
        if !seen.contains(&(instruction, value.index.as_slice())) {
            count.add(false);
            differences.add_in(value.memory_space, || Disagreement {
                figure: Figure::Value,
                subject: named(instruction, &value.index),
                ours: format!("{} bytes", value.size_bytes),
                xla: NONE.into(),
                line: None,
            });
        }
    }
    count
}

/// Compares the order of execution.
pub(super) fn schedule(
    ours: &Ours<'_>,
    live_ranges: &LiveRanges<'_>,
    differences: &mut Differences,
) -> Count {
    let schedule = &ours.profile.schedule;
    let mut count = Count::default();
    for point in 0..schedule.len().max(live_ranges.sequence.len()) {
        let mine = schedule.get(point).map(|id| ours.module.instruction(*id).name);
        let theirs = live_ranges.sequence.get(point).copied();
        count.add(mine == theirs);
        if mine != theirs {
            let name =
                |name: Option<&str>| name.map_or("the end".into(), |name| format!("%{name}"));
            differences.add(|| Disagreement {
                figure: Figure::Schedule,
                subject: format!("program point {point}"),
                ours: name(mine),
                xla: name(theirs),
                line: None,
            });
        }
    }
    count
}

/// Compares when every value is alive.
pub(super) fn live_ranges(
    ours: &Ours<'_>,
    live_ranges: &LiveRanges<'_>,
    differences: &mut Differences,
) -> Count {
    let show = |range: LiveRange| format!("{}-{}", range.start, range.end);
    let mut count = Count::default();
    let mut seen = Names::default();
    for interval in &live_ranges.intervals {
        seen.insert((interval.instruction, &interval.index));
        let value =
            ours.value(interval.instruction, &interval.index).map(|id| ours.profile.value(id));
        let range = value.and_then(|value| value.live);
        count.add(range == Some(interval.range));
        if range != Some(interval.range) {
            differences.add(|| Disagreement {
                figure: Figure::LiveRange,
                subject: named(interval.instruction, &interval.index),
                ours: range.map_or(NONE.into(), show),
                xla: show(interval.range),
                line: Some(interval.line),
            });
        }
    }
    for value in &ours.profile.values {
        let Some(range) = value.live else { continue };
        let instruction = ours.module.instruction(value.instruction).name;
        if !seen.contains(&(instruction, value.index.as_slice())) {
            count.add(false);
            differences.add(|| Disagreement {
                figure: Figure::LiveRange,
                subject: named(instruction, &value.index),
                ours: show(range),
                xla: NONE.into(),
                line: None,
            });
        }
    }
    count
}
