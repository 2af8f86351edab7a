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
        let item = &items[at];
        blocks.clear();
        for ticks in &item.members {
            index.overlapping(*ticks, |other| {
                let offset = packing.offsets[other];
                blocks.push((offset, offset + items[other].bytes));
            });
        }
        let offset = smallest_gap(&mut blocks, item, alignment)?;
        packing.offsets[at] = offset;
        packing.bytes = packing.bytes.max(offset.checked_add(item.bytes)?);
        index.activate(at);
    }
    Some(packing)
}

fn sorted(items: &[Item], order: Order) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..items.len()).collect();
    sorted.sort_unstable_by_key(|&at| {
        let item = &items[at];
        let own = item.members.first().map_or(0, |ticks| ticks.end - ticks.start);
        let whole = item.end() - item.members.first().map_or(0, |ticks| ticks.start);
        match order {
            Order::Spatial => (Reverse(item.own_bytes), Reverse(u64::from(own)), item.id),
            Order::Temporal => (Reverse(u64::from(whole)), Reverse(item.own_bytes), item.id),
        }
    });
    sorted
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
