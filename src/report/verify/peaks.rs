//! The live peak of HBM, and the other peak that XLA's live-range file names.

use super::allocations::sum;
use super::{Count, Differences, Disagreement, Figure, LiveRangePeak, Ours, Pair, named};
use crate::dump::side::buffer_assignment::{AllocationRecord, BufferAssignment, ValueRecord};
use crate::dump::side::live_range::{LiveRanges, PeakValue};
use crate::hlo::ShapeIndex;
use crate::memory::{LiveRange, Value};
use rustc_hash::FxHashMap;

/// Compares our live peak of HBM with the one that follows from XLA's sizes, offsets and live
/// ranges: what lives for the whole program, and the largest part of the temporaries' memory that
/// holds live arrays at one program point.
pub(super) fn peak(
    ours: &Ours<'_>,
    assignment: &BufferAssignment<'_>,
    live_ranges: &LiveRanges<'_>,
    differences: &mut Differences,
) -> Option<Pair> {
    let hbm = ours.profile.hbm()?;
    hbm.peak_point?;
    let records = || {
        assignment
            .allocations
            .iter()
            .filter(|record| record.memory_space == 0 && !record.is_thread_local)
    };
    let lasting = sum(records().filter(|record| lasts(record)).map(|record| record.size_bytes));
    let ranges: FxHashMap<(&str, &[u32]), LiveRange> = live_ranges
        .intervals
        .iter()
        .map(|interval| ((interval.instruction, interval.index.as_slice()), interval.range))
        .collect();
    let temporaries = records().filter(|record| !lasts(record)).flat_map(|record| &record.values);
    let arrays = temporaries.filter(|value| value.size_bytes > 0 && !value.shape.starts_with('('));
    let alive = arrays.filter_map(|value| {
        let range = ranges.get(&(value.name.instruction, value.name.index.as_slice()))?;
        Some((value, *range))
    });
    let pair =
        Pair { ours: hbm.peak_live_bytes, xla: lasting.saturating_add(largest_moment(alive)) };
    if !pair.is_exact() {
        differences.add_in(0, || Disagreement {
            figure: Figure::Peak,
            subject: ours.memory.into(),
            ours: format!("{} bytes", pair.ours),
            xla: format!("{} bytes by XLA's sizes and live ranges", pair.xla),
            line: None,
        });
    }
    Some(pair)
}

/// Whether an allocation is there for the whole program.
fn lasts(record: &AllocationRecord<'_>) -> bool {
    record.parameter.is_some() || record.is_constant || record.maybe_live_out
}

/// The most bytes of a heap that hold live values at one program point. Values at one offset whose
/// live ranges touch share memory: they count once, with the largest size.
fn largest_moment<'v>(values: impl Iterator<Item = (&'v ValueRecord<'v>, LiveRange)>) -> u64 {
    let mut placed: Vec<(u64, LiveRange, u64)> =
        values.map(|(value, range)| (value.offset_bytes, range, value.size_bytes)).collect();
    placed.sort_unstable();
    let mut shared: Vec<(u64, LiveRange, u64)> = Vec::new();
    for (offset, range, size) in placed {
        match shared.last_mut() {
            Some((at, before, bytes)) if *at == offset && range.start <= before.end => {
                before.end = before.end.max(range.end);
                *bytes = (*bytes).max(size);
            }
            _ => shared.push((offset, range, size)),
        }
    }
    // At one point what has ended leaves before what starts comes.
    let mut events: Vec<(u32, i128)> = Vec::with_capacity(2 * shared.len());
    for (_, range, size) in shared {
        events.push((range.start, i128::from(size)));
        events.push((range.end.saturating_add(1), -i128::from(size)));
    }
    events.sort_unstable();
    let (mut now, mut largest) = (0_i128, 0_i128);
    for (_, bytes) in events {
        now += bytes;
        largest = largest.max(now);
    }
    u64::try_from(largest).unwrap_or(u64::MAX)
}

/// Compares XLA's live-range peak with ours, computed XLA's way.
pub(super) fn live_range_peak(
    ours: &Ours<'_>,
    live_ranges: &LiveRanges<'_>,
    differences: &mut Differences,
) -> Option<LiveRangePeak> {
    let theirs = live_ranges.peak.as_ref()?;
    let has_indices = theirs.values.iter().any(|value| value.index.is_some());
    let point = peak_point(ours);
    let mine = match has_indices {
        true => list(ours, point, |value| value.unpadded_bytes),
        false => list(ours, point, |value| instruction_bytes(ours, value)),
    };
    let mut listed: Vec<Line<'_>> = theirs.values.iter().map(Line::of).collect();
    if !has_indices {
        // Older files list values by XLA's own numbers.
        listed.sort();
    }
    let mut mine: Vec<Line<'_>> = mine;
    if has_indices {
        // By size; jaxlib 0.6 lists them by XLA's own numbers.
        let by_size =
            |a: &Line<'_>, b: &Line<'_>| b.size_bytes.cmp(&a.size_bytes).then_with(|| a.cmp(b));
        listed.sort_by(by_size);
        mine.sort_by(by_size);
    } else {
        mine.iter_mut().for_each(|line| line.index.clear());
        mine.sort();
    }
    let mut count = Count::default();
    for at in 0..mine.len().max(listed.len()) {
        count.add(mine.get(at) == listed.get(at));
    }
    let peak = LiveRangePeak {
        ours: sum(mine.iter().map(|line| line.size_bytes)),
        xla: sum(listed.iter().map(|line| line.size_bytes)),
        point: Pair { ours: u64::from(point), xla: u64::from(theirs.point) },
        list: count,
    };
    if !peak.is_exact() {
        let at = (0..mine.len().max(listed.len())).find(|&at| mine.get(at) != listed.get(at));
        let show =
            |lines: &[Line<'_>], bytes: u64, point: u64| match at.and_then(|at| lines.get(at)) {
                Some(line) => format!("{bytes} bytes at {point}, with {line}"),
                None => format!("{bytes} bytes at {point}"),
            };
        differences.add(|| Disagreement {
            figure: Figure::XlaLiveRangePeak,
            subject: "all memory spaces, without padding".into(),
            ours: show(&mine, peak.ours, peak.point.ours),
            xla: show(&listed, peak.xla, peak.point.xla),
            line: None,
        });
    }
    Some(peak)
}

/// A line of the list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Line<'a> {
    instruction: &'a str,
    index: ShapeIndex,
    size_bytes: u64,
}

impl<'a> Line<'a> {
    fn of(value: &PeakValue<'a>) -> Line<'a> {
        Line {
            instruction: value.instruction,
            index: value.index.clone().unwrap_or_default(),
            size_bytes: value.size_bytes,
        }
    }
}

impl std::fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} bytes", named(self.instruction, &self.index), self.size_bytes)
    }
}

/// The values alive at a program point.
fn list<'a>(ours: &Ours<'a>, point: u32, size: impl Fn(&Value) -> u64) -> Vec<Line<'a>> {
    let is_alive = |range: LiveRange| range.start <= point && point <= range.end;
    let alive = ours.profile.values.iter().filter(|value| value.live.is_some_and(is_alive));
    alive
        .map(|value| Line {
            instruction: ours.module.instruction(value.instruction).name,
            index: value.index.clone(),
            size_bytes: size(value),
        })
        .collect()
}

/// The moment that XLA calls the peak: the first with the largest sum, where every value counts the
/// bytes of its whole instruction's shape, and values that end a point earlier still count
/// (`HloLiveRange::ComputePeakMemoryMoment`).
fn peak_point(ours: &Ours<'_>) -> u32 {
    let mut events: Vec<(u32, bool, u64)> = Vec::with_capacity(2 * ours.profile.values.len());
    for value in &ours.profile.values {
        let Some(range) = value.live else { continue };
        let bytes = instruction_bytes(ours, value);
        events.push((range.start, false, bytes));
        events.push((range.end.saturating_add(1), true, bytes));
    }
    events.sort_unstable();
    let (mut now, mut largest, mut point) = (0_u64, 0_u64, 0);
    for (time, is_end, bytes) in events {
        now = if is_end { now.saturating_sub(bytes) } else { now.saturating_add(bytes) };
        if now > largest {
            (largest, point) = (now, time);
        }
    }
    point
}

/// Unpadded bytes of the shape of the instruction that defines a value; a tuple is a table of 8
/// bytes an element.
fn instruction_bytes(ours: &Ours<'_>, value: &Value) -> u64 {
    match ours.module.shape(value.instruction).elements() {
        Some(elements) => 8 * elements.len() as u64,
        None => value.unpadded_bytes,
    }
}
