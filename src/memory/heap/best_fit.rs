//! Best fit (facts: tpu-memory section 6; XLA `GlobalDecreasingSizeBestFitHeap`): items in an order of
//! importance; each takes the smallest gap between what is placed already and alive with it.

use super::interval_index::IntervalIndex;
use super::{Item, Packing};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Which items are placed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The largest.
    Spatial,
    /// Those that live longest.
    Temporal,
}

/// Where more than this share (one in so many) of the placed items is alive with one, walking all of
/// them in the order of their offsets costs less than sorting those that are.
const DENSE: usize = 8;

pub(super) fn pack(items: &[Item], order: Order, alignment: u64) -> Option<Packing> {
    let mut packing = Packing { offsets: vec![0; items.len()], bytes: 0 };
    let mut index = IntervalIndex::new(items);
    let mut placed: BTreeSet<(u64, u32)> = BTreeSet::new();
    let mut alive: Vec<u32> = Vec::new();
    // Per item the last round in which it was alive with the one to place.
    let mut seen = vec![0_u32; items.len()];
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for (round, at) in (1_u32..).zip(sorted(items, order)) {
        let item = &items[at as usize];
        alive.clear();
        for ticks in &item.members {
            index.overlapping(*ticks, |other| {
                if seen[other] != round {
                    seen[other] = round;
                    alive.push(other as u32);
                }
            });
        }
        let block = |other: u32| {
            let offset = packing.offsets[other as usize];
            (offset, offset.saturating_add(items[other as usize].bytes))
        };
        blocks.clear();
        if alive.len() > placed.len() / DENSE {
            let is_alive = |other: u32| seen[other as usize] == round;
            blocks.extend(placed.iter().filter(|(_, o)| is_alive(*o)).map(|(_, o)| block(*o)));
        } else {
            blocks.extend(alive.iter().map(|&other| block(other)));
            blocks.sort_unstable();
        }
        let offset = smallest_gap(&blocks, item, alignment)?;
        packing.offsets[at as usize] = offset;
        packing.bytes = packing.bytes.max(offset.checked_add(item.bytes)?);
        index.activate(at as usize);
        placed.insert((offset, at));
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

/// The start of the smallest gap between blocks that fits, the lowest on ties. Blocks are sorted by
/// their starts. Behind the last block the gap is without end.
fn smallest_gap(blocks: &[(u64, u64)], item: &Item, alignment: u64) -> Option<u64> {
    let mut best: Option<(u64, u64)> = None;
    let mut end = 0_u64;
    for &(from, to) in blocks {
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
