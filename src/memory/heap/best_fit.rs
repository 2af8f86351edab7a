//! Best fit (facts: tpu-memory section 6; XLA `GlobalDecreasingSizeBestFitHeap`): items in an order of
//! importance; each takes the smallest gap between what is placed already and alive with it.

use super::interval_index::IntervalIndex;
use super::{Item, Packing};
use std::cmp::Reverse;

/// Which items are placed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The largest.
    Spatial,
    /// Those that live longest.
    Temporal,
}

pub(super) fn pack(items: &[Item], order: Order, alignment: u64) -> Option<Packing> {
    let mut packing = Packing { offsets: vec![0; items.len()], bytes: 0 };
    let mut index = IntervalIndex::new(items);
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for at in sorted(items, order) {
        let at = at as usize;
        let item = &items[at];
        blocks.clear();
        for ticks in &item.members {
            index.overlapping(*ticks, |other| {
                let offset = packing.offsets[other];
                blocks.push((offset, offset.saturating_add(items[other].bytes)));
            });
        }
        let offset = smallest_gap(&mut blocks, item, alignment)?;
        packing.offsets[at] = offset;
        packing.bytes = packing.bytes.max(offset.checked_add(item.bytes)?);
        index.activate(at);
    }
    Some(packing)
}

fn sorted(items: &[Item], order: Order) -> Vec<u32> {
    let key = |(at, item): (usize, &Item)| {
        let start = item.members.first().map_or(0, |ticks| ticks.start);
        let (first, second) = match order {
            Order::Spatial => {
                let own = item.members.first().map_or(0, |ticks| ticks.end - ticks.start);
                (item.own_bytes, u64::from(own))
            }
            Order::Temporal => (u64::from(item.end() - start), item.own_bytes),
        };
        (Reverse(first), Reverse(second), item.id, at as u32)
    };
    let mut sorted: Vec<_> = items.iter().enumerate().map(key).collect();
    sorted.sort_unstable();
    sorted.into_iter().map(|(_, _, _, at)| at).collect()
}

/// The start of the smallest gap between blocks that fits, the lowest on ties. Behind the last block
/// the gap is without end.
fn smallest_gap(blocks: &mut [(u64, u64)], item: &Item, alignment: u64) -> Option<u64> {
    blocks.sort_unstable();
    let mut best: Option<(u64, u64)> = None;
    let mut end = 0_u64;
    for &(from, to) in blocks.iter() {
        let start = end.checked_next_multiple_of(alignment)?;
        if let Some(gap) = from.checked_sub(start)
            && gap >= item.own_bytes
            && gap >= item.bytes
            && best.is_none_or(|(smallest, _)| gap < smallest)
        {
            best = Some((gap, start));
        }
        end = end.max(to);
    }
    match best {
        Some((_, start)) => Some(start),
        None => end.checked_next_multiple_of(alignment),
    }
}
