//! Best fit (facts: tpu-memory section 6; XLA `GlobalDecreasingSizeBestFitHeap`): items in an order of
//! importance; each takes the smallest gap between what is placed already and alive with it.

use super::alive_count::AliveCount;
use super::interval_index::IntervalIndex;
use super::placed::{Block, Placed, Search};
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

/// The fewest blocks that make a full chunk of what is placed: it stands in one piece of memory.
const CHUNK: usize = 512;

pub(super) fn pack(items: &[Item], order: Order, alignment: u64) -> Option<Packing> {
    // As many chunks as blocks in a chunk, so that neither counts more than the other.
    pack_in_chunks(items, order, alignment, CHUNK.max(items.len().isqrt()))
}

fn pack_in_chunks(items: &[Item], order: Order, alignment: u64, chunk: usize) -> Option<Packing> {
    let mut packing = Packing { offsets: vec![0; items.len()], bytes: 0 };
    let mut index = IntervalIndex::new(items);
    let mut counts = AliveCount::new(items);
    let mut placed = Placed::new(items, chunk);
    // Per item the last round in which it was alive with the one to place.
    let mut seen = vec![0_u32; items.len()];
    let mut blocks: Vec<Block> = Vec::new();
    for (round, at) in (1_u32..).zip(sorted(items, order)) {
        let item = &items[at as usize];
        let offset = if counts.alive_with(item) > placed.len() / DENSE {
            placed.smallest_gap(item, alignment)?
        } else {
            blocks.clear();
            for ticks in &item.members {
                index.overlapping(*ticks, |other| {
                    if seen[other] != round {
                        seen[other] = round;
                        let (start, bytes) = (packing.offsets[other], items[other].bytes);
                        let end = start.saturating_add(bytes);
                        blocks.push(Block { start, end, item: other as u32 });
                    }
                });
            }
            blocks.sort_unstable();
            let mut search = Search::new(item, alignment);
            blocks.iter().try_for_each(|block| search.pass(block))?;
            search.offset()?
        };
        let end = offset.checked_add(item.bytes)?;
        packing.offsets[at as usize] = offset;
        packing.bytes = packing.bytes.max(end);
        index.activate(at as usize);
        counts.add(item);
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

#[cfg(test)]
mod tests {
    use super::{Block, Order, Search, pack_in_chunks, sorted};
    use crate::memory::heap::tests::items_alive_for;
    use crate::memory::heap::{Item, Packing};
    use proptest::prelude::*;

    /// As XLA does it: all that is placed and alive with an item, by offset, for every item.
    fn plain(items: &[Item], order: Order, alignment: u64) -> Option<Packing> {
        let mut packing = Packing { offsets: vec![0; items.len()], bytes: 0 };
        let mut placed: Vec<u32> = Vec::new();
        for at in sorted(items, order) {
            let item = &items[at as usize];
            let is_alive = |other: &&u32| {
                let other = &items[**other as usize];
                item.members.iter().any(|one| {
                    other.members.iter().any(|two| one.start <= two.end && two.start <= one.end)
                })
            };
            let block = |&other: &u32| {
                let start = packing.offsets[other as usize];
                Block { start, end: start + items[other as usize].bytes, item: other }
            };
            let mut blocks: Vec<Block> = placed.iter().filter(is_alive).map(block).collect();
            blocks.sort_unstable();
            let mut search = Search::new(item, alignment);
            blocks.iter().try_for_each(|block| search.pass(block))?;
            packing.offsets[at as usize] = search.offset()?;
            packing.bytes = packing.bytes.max(search.offset()? + item.bytes);
            placed.push(at);
        }
        Some(packing)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Chunks, small and large, change no offset; nor does it matter how many items are alive.
        #[test]
        fn chunks_change_nothing(
            items in prop::sample::select(vec![1_u32, 20, 150]).prop_flat_map(items_alive_for),
            alignment in prop::sample::select(vec![1, 64, 512]),
            chunk in prop::sample::select(vec![2_usize, 5, 512]),
        ) {
            for order in [Order::Spatial, Order::Temporal] {
                let found = pack_in_chunks(&items, order, alignment, chunk);
                prop_assert_eq!(found, plain(&items, order, alignment));
            }
        }
    }
}
