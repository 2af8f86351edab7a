//! Best fit (facts: tpu-memory section 6; XLA `GlobalDecreasingSizeBestFitHeap`): items in an order of
//! importance; each takes the smallest gap between what is placed already and alive with it.

use super::interval_index::IntervalIndex;
use super::placed::{Block, Placed};
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

/// Where more than this share (one in so many) of the placed items is alive with one, walking all of
/// them in the order of their offsets costs less than sorting those that are.
const DENSE: usize = 8;

pub(super) fn pack(items: &[Item], order: Order, alignment: u64) -> Option<Packing> {
    let mut packing = Packing { offsets: vec![0; items.len()], bytes: 0 };
    let mut index = IntervalIndex::new(items);
    let mut placed = Placed::default();
    let mut alive: Vec<u32> = Vec::new();
    // Per item the last round in which it was alive with the one to place.
    let mut seen = vec![0_u32; items.len()];
    let mut blocks: Vec<Block> = Vec::new();
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
        let offset = if alive.len() > placed.len() / DENSE {
            let is_alive = |block: &&Block| seen[block.item as usize] == round;
            smallest_gap(placed.iter().filter(is_alive), item, alignment)?
        } else {
            blocks.clear();
            blocks.extend(alive.iter().map(|&other| {
                let (start, bytes) = (packing.offsets[other as usize], items[other as usize].bytes);
                Block { start, end: start.saturating_add(bytes), item: other }
            }));
            blocks.sort_unstable();
            smallest_gap(blocks.iter(), item, alignment)?
        };
        let end = offset.checked_add(item.bytes)?;
        packing.offsets[at as usize] = offset;
        packing.bytes = packing.bytes.max(end);
        index.activate(at as usize);
        placed.insert(Block { start: offset, end, item: at });
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
fn smallest_gap<'b>(
    blocks: impl Iterator<Item = &'b Block>,
    item: &Item,
    alignment: u64,
) -> Option<u64> {
    let needed = item.own_bytes.max(item.bytes);
    let mut best: Option<(u64, u64)> = None;
    let mut end = 0_u64;
    for block in blocks {
        // Aligning costs a division: only where the gap could do.
        if block.start.checked_sub(end).is_some_and(|gap| gap >= needed) {
            let start = end.checked_next_multiple_of(alignment)?;
            if let Some(gap) = block.start.checked_sub(start)
                && gap >= needed
                && best.is_none_or(|(smallest, _)| gap < smallest)
            {
                best = Some((gap, start));
            }
        }
        end = end.max(block.end);
    }
    match best {
        Some((_, start)) => Some(start),
        None => end.checked_next_multiple_of(alignment),
    }
}
