//! A profile in; how much of a memory space is alive at each program point, out.

use super::{Allocation, AllocationKind, MemoryProfile, Value};
use crate::hlo::{Shape, Shapes};

/// The bytes that are alive from a program point on, until the next one that is named.
pub type Curve = Vec<(u32, u64)>;

/// What is alive over the program: parameters, results and constants all the time, temporaries by
/// live range. Values that share their memory count once. Ascending points, the first is 0; empty
/// without a schedule.
pub fn live_bytes(profile: &MemoryProfile, shapes: &Shapes, memory_space: i64) -> Curve {
    curve(profile, shapes, memory_space, |value| value.size_bytes)
}

/// The same without what padding adds.
pub fn live_unpadded_bytes(profile: &MemoryProfile, shapes: &Shapes, memory_space: i64) -> Curve {
    curve(profile, shapes, memory_space, |value| value.unpadded_bytes)
}

fn curve(
    profile: &MemoryProfile,
    shapes: &Shapes,
    memory_space: i64,
    size: fn(&Value) -> u64,
) -> Curve {
    let Some(usage) = profile.spaces.iter().find(|space| space.memory_space == memory_space) else {
        return Curve::new();
    };
    if profile.schedule.is_empty() {
        return Curve::new();
    }
    let whole = usage.peak_live_bytes.saturating_sub(usage.temporaries_live_bytes);
    let whole = whole.saturating_sub(lost(profile, memory_space, size));
    let mut changes: Vec<(u32, i128)> = vec![(0, i128::from(whole))];
    for allocation in &profile.allocations {
        if allocation.memory_space == memory_space && allocation.is_temporary() {
            add(profile, shapes, allocation, size, &mut changes);
        }
    }
    changes.sort_unstable();
    let mut curve = Curve::new();
    let (mut sum, last) = (0_i128, profile.schedule.len() as u32);
    for chunk in changes.chunk_by(|a, b| a.0 == b.0) {
        sum += chunk.iter().map(|(_, bytes)| bytes).sum::<i128>();
        let bytes = u64::try_from(sum).unwrap_or(0);
        let is_change = curve.last().is_none_or(|&(_, before)| before != bytes);
        if let Some(&(point, _)) = chunk.first().filter(|(point, _)| is_change && *point < last) {
            curve.push((point, bytes));
        }
    }
    curve
}

/// What a size leaves out of that which is there all the time: of each allocation's largest value.
fn lost(profile: &MemoryProfile, memory_space: i64, size: fn(&Value) -> u64) -> u64 {
    let whole = profile.allocations.iter().filter(|allocation| {
        allocation.memory_space == memory_space
            && !allocation.is_temporary()
            && allocation.kind != AllocationKind::ThreadLocal
    });
    let largest = whole.filter_map(|allocation| {
        let values = allocation.values.iter().map(|&id| profile.value(id));
        values.max_by_key(|value| value.size_bytes)
    });
    largest
        .fold(0, |sum: u64, value| sum.saturating_add(value.size_bytes.saturating_sub(size(value))))
}

/// Values at one place share it: it counts from the first that starts to the last that ends, as long
/// as they overlap or touch, with the largest of them. Where the compiler placed the values before, so
/// that no offset is known, those of one buffer share.
fn add(
    profile: &MemoryProfile,
    shapes: &Shapes,
    allocation: &Allocation,
    size: fn(&Value) -> u64,
    changes: &mut Vec<(u32, i128)>,
) {
    // Offset or buffer, start, end, bytes.
    let mut placed: Vec<(u64, u32, u32, u64)> = allocation
        .values
        .iter()
        .filter_map(|&id| {
            let value = profile.value(id);
            let live = value.live?;
            let place = match allocation.is_preset {
                true => u64::from(value.buffer.0),
                false => value.place?.offset_bytes,
            };
            let is_array = !matches!(shapes.get(value.shape), Shape::Tuple(_));
            (is_array && value.size_bytes > 0).then_some((place, live.start, live.end, size(value)))
        })
        .collect();
    placed.sort_unstable();
    let mut open: Option<(u64, u32, u32, u64)> = None;
    let mut emit = |(_, start, end, bytes): (u64, u32, u32, u64)| {
        changes.push((start, i128::from(bytes)));
        changes.push((end.saturating_add(1), -i128::from(bytes)));
    };
    for next in placed {
        match &mut open {
            Some(before) if next.0 == before.0 && next.1 <= before.2 => {
                before.2 = before.2.max(next.2);
                before.3 = before.3.max(next.3);
            }
            _ => {
                if let Some(before) = open.replace(next) {
                    emit(before);
                }
            }
        }
    }
    if let Some(last) = open {
        emit(last);
    }
}
