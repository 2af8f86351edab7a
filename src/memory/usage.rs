//! Usage by memory space, and the peak.

use super::analysis::Analysis;
use super::draft::{Draft, DraftKind};
use super::edits::Effective;
use super::{LiveRange, SpaceUsage};
use std::collections::BTreeMap;

/// What each memory space needs, ascending. HBM is always there.
pub(super) fn usage(
    analysis: &Analysis<'_, '_>,
    effective: &Effective,
    drafts: &[Draft],
) -> Vec<SpaceUsage> {
    let mut spaces: BTreeMap<i64, (SpaceUsage, Events)> = BTreeMap::new();
    spaces.entry(0).or_default();
    for draft in drafts {
        let (usage, events) = spaces.entry(draft.space).or_default();
        add(usage, draft);
        if draft.is_temporary() {
            add_events(effective, draft, events);
            add_table_events(analysis, effective, draft, events);
        }
    }
    spaces
        .into_iter()
        .map(|(memory_space, (usage, mut events))| {
            let (live_bytes, point) = peak(&mut events);
            let results_count = analysis.policy.rules.results_are_required;
            finish(SpaceUsage { memory_space, ..usage }, live_bytes, point, results_count)
        })
        .collect()
}

fn add(usage: &mut SpaceUsage, draft: &Draft) {
    let add = |sum: &mut u64| *sum = sum.saturating_add(draft.bytes);
    add(&mut usage.total_bytes);
    match draft.kind {
        DraftKind::Constant => add(&mut usage.constants_bytes),
        DraftKind::ThreadLocal => add(&mut usage.thread_local_bytes),
        DraftKind::ReadOnlyParameter(_) | DraftKind::DonatedParameter(_) => {
            add(&mut usage.parameters_bytes);
            if draft.lives_out {
                add(&mut usage.aliased_bytes);
            }
        }
        _ if draft.lives_out => add(&mut usage.outputs_bytes),
        _ => {}
    }
}

fn finish(
    mut usage: SpaceUsage,
    temporaries_live_bytes: u64,
    peak_point: Option<u32>,
    results_count: bool,
) -> SpaceUsage {
    usage.required_bytes = usage.total_bytes.saturating_sub(usage.thread_local_bytes);
    if !results_count {
        usage.required_bytes = usage.required_bytes.saturating_sub(usage.outputs_bytes);
    }
    usage.temporaries_live_bytes = temporaries_live_bytes;
    usage.peak_point = peak_point;
    usage.peak_live_bytes = usage
        .parameters_bytes
        .saturating_add(usage.outputs_bytes)
        .saturating_add(usage.constants_bytes)
        .saturating_add(temporaries_live_bytes);
    usage.fragmentation_bytes = usage
        .total_bytes
        .saturating_sub(usage.peak_live_bytes)
        .saturating_sub(usage.thread_local_bytes);
    usage
}

/// Program points at which bytes start to live (positive) or have just ended: first those of
/// arrays, then those of tuple tables, which only decide between points that are equal otherwise.
type Events = Vec<(u32, (i128, i128))>;

/// A group counts once while any of its values is alive.
fn add_events(effective: &Effective, draft: &Draft, events: &mut Events) {
    let mut ranges: Vec<LiveRange> = Vec::new();
    for group in &draft.groups {
        ranges.clear();
        let members = draft
            .members
            .get(group.members.start as usize..group.members.end as usize)
            .unwrap_or(&[]);
        ranges.extend(members.iter().filter_map(|&(value, _)| effective.range(value)));
        ranges.sort_unstable();
        let mut open: Option<LiveRange> = None;
        let mut emit = |range: LiveRange| {
            events.push((range.start, (i128::from(group.bytes), 0)));
            events.push((range.end.saturating_add(1), (-i128::from(group.bytes), 0)));
        };
        for &range in &ranges {
            match &mut open {
                Some(before) if range.start <= before.end.saturating_add(1) => {
                    before.end = before.end.max(range.end);
                }
                _ => {
                    if let Some(before) = open.replace(range) {
                        emit(before);
                    }
                }
            }
        }
        if let Some(last) = open {
            emit(last);
        }
    }
}

/// Tables stand beside the heap and have no group.
fn add_table_events(
    analysis: &Analysis<'_, '_>,
    effective: &Effective,
    draft: &Draft,
    events: &mut Events,
) {
    for &(value, _) in draft.members.iter().filter(|&&(value, _)| analysis.is_table(value)) {
        if let Some(range) = effective.range(value) {
            let bytes = i128::from(effective.value_bytes(value));
            events.push((range.start, (0, bytes)));
            events.push((range.end.saturating_add(1), (0, -bytes)));
        }
    }
}

/// The largest sum and the earliest point that has it. A program without temporaries peaks at its
/// first point.
fn peak(events: &mut Events) -> (u64, Option<u32>) {
    // At one point what has ended leaves before what starts comes.
    events.sort_unstable();
    let (mut sum, mut largest, mut point) = ((0_i128, 0_i128), (0_i128, 0_i128), 0_u32);
    for &(at, (arrays, tables)) in events.iter() {
        sum = (sum.0 + arrays, sum.1 + tables);
        if sum > largest {
            (largest, point) = (sum, at);
        }
    }
    (u64::try_from(largest.0).unwrap_or(u64::MAX), Some(point))
}
