//! Heap packing: items with lifetimes in, an offset for each out. The algorithms are XLA's
//! (`xla/service/heap_simulator`); they know nothing of values or instructions.

mod alive_count;
mod best_fit;
mod fast_merge;
mod interval_index;
mod placed;

/// A stretch of time, both ends inclusive, in ticks of a heap's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What is placed as one: values that share a place, the first of them first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Size of the first member: best fit sorts by it.
    pub(super) own_bytes: u64,
    /// The largest size of all members.
    pub(super) bytes: u64,
    /// When each member is alive.
    pub(super) members: smallvec::SmallVec<[Ticks; 1]>,
    /// Breaks ties.
    pub(super) id: u32,
}

impl Item {
    fn start(&self) -> u32 {
        self.members.iter().map(|ticks| ticks.start).min().unwrap_or(0)
    }

    fn end(&self) -> u32 {
        self.members.iter().map(|ticks| ticks.end).max().unwrap_or(0)
    }

    /// When any member is alive: members that overlap joined.
    fn alive(&self) -> smallvec::SmallVec<[Ticks; 1]> {
        let mut members = self.members.clone();
        members.sort_unstable_by_key(|ticks| ticks.start);
        members.dedup_by(|next, before| {
            let overlaps = next.start <= before.end;
            if overlaps {
                before.end = before.end.max(next.end);
            }
            overlaps
        });
        members
    }
}

/// Where everything went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Packing {
    /// Per item its offset.
    pub(super) offsets: Vec<u64>,
    /// The highest end.
    pub(super) bytes: u64,
}

/// Who packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// In order of time, into the smallest free chunk.
    FastMerge,
    /// Best fit by size and best fit by duration; the smaller heap, by size on a tie.
    BestOfSpatialAndTemporal,
}

/// Packs items. `None` when offsets do not fit 64 bits.
pub(super) fn pack(items: &[Item], algorithm: Algorithm, alignment: u64) -> Option<Packing> {
    match algorithm {
        Algorithm::FastMerge => fast_merge::pack(items, alignment),
        Algorithm::BestOfSpatialAndTemporal => {
            let spatial = best_fit::pack(items, best_fit::Order::Spatial, alignment)?;
            if spatial.bytes <= at_least(items, alignment)? {
                // Nothing is smaller, and on a tie spatial is kept.
                return Some(spatial);
            }
            let temporal = best_fit::pack(items, best_fit::Order::Temporal, alignment)?;
            Some(if temporal.bytes < spatial.bytes { temporal } else { spatial })
        }
    }
}

/// No packing with aligned offsets is smaller: what is alive at one tick stands side by side, each but
/// the last up to the next multiple of the alignment.
fn at_least(items: &[Item], alignment: u64) -> Option<u64> {
    let mut events: Vec<(u32, bool, u64)> = Vec::with_capacity(2 * items.len());
    let mut largest_padding = 0;
    for item in items {
        let aligned = item.bytes.checked_next_multiple_of(alignment)?;
        largest_padding = largest_padding.max(aligned - item.bytes);
        for ticks in item.alive() {
            events.push((ticks.start, false, aligned));
            events.push((ticks.end, true, aligned));
        }
    }
    events.sort_unstable();
    let (mut now, mut most) = (0_u64, 0_u64);
    for (_, is_end, bytes) in events {
        now = if is_end { now.checked_sub(bytes)? } else { now.checked_add(bytes)? };
        most = most.max(now);
    }
    Some(most.saturating_sub(largest_padding))
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, Item, Packing, Ticks, at_least, best_fit, pack};
    use proptest::prelude::*;

    fn items() -> impl Strategy<Value = Vec<Item>> {
        items_alive_for(60)
    }

    /// Up to 60 items, of which each lives up to so many ticks of 200, once or several times.
    pub(super) fn items_alive_for(ticks: u32) -> impl Strategy<Value = Vec<Item>> {
        let member = (0_u32..200, 0_u32..ticks);
        let item = (0_u64..5, prop::collection::vec(member, 1..4), 1_u64..5000);
        prop::collection::vec(item, 0..60).prop_map(|items| {
            items
                .into_iter()
                .enumerate()
                .map(|(id, (growth, members, bytes))| Item {
                    own_bytes: bytes,
                    bytes: bytes + growth * 100,
                    members: members
                        .into_iter()
                        .map(|(start, length)| Ticks { start, end: start + length })
                        .collect(),
                    id: id as u32,
                })
                .collect()
        })
    }

    /// Items that are alive together and stand in each other's way. With `whole`, an item holds its
    /// place from its first to its last tick (fast merge frees what ends at a tick before it places).
    fn collision(items: &[Item], packing: &Packing, whole: bool) -> Option<(usize, usize)> {
        let alive_together = |left: &Item, right: &Item| match whole {
            true => left.start() < right.end() && right.start() < left.end(),
            false => left.members.iter().any(|left| {
                right.members.iter().any(|right| left.start <= right.end && right.start <= left.end)
            }),
        };
        for (at, left) in items.iter().enumerate() {
            for (other, right) in items.iter().enumerate().skip(at + 1) {
                let (from, to) = (packing.offsets[at], packing.offsets[other]);
                if alive_together(left, right) && from < to + right.bytes && to < from + left.bytes
                {
                    return Some((at, other));
                }
            }
        }
        None
    }

    proptest! {
        /// Nothing overlaps, offsets are aligned, the heap ends where its last item does, is never
        /// smaller than what must be, and comes out the same again.
        #[test]
        fn packings_are_sound(items in items(), alignment in prop::sample::select(vec![1, 4, 512])) {
            for algorithm in [Algorithm::FastMerge, Algorithm::BestOfSpatialAndTemporal] {
                let packing = pack(&items, algorithm, alignment).unwrap();
                let whole = algorithm == Algorithm::FastMerge;
                prop_assert_eq!(collision(&items, &packing, whole), None);
                prop_assert!(packing.offsets.iter().all(|offset| offset % alignment == 0));
                let ends = packing.offsets.iter().zip(&items).map(|(offset, item)| offset + item.bytes);
                prop_assert_eq!(packing.bytes, ends.max().unwrap_or(0));
                if !whole {
                    prop_assert!(packing.bytes >= at_least(&items, alignment).unwrap());
                }
                prop_assert_eq!(&packing, &pack(&items, algorithm, alignment).unwrap());
            }
        }

        /// Leaving out the second order changes nothing.
        #[test]
        fn the_shortcut_is_exact(items in items()) {
            let both = [best_fit::Order::Spatial, best_fit::Order::Temporal]
                .map(|order| best_fit::pack(&items, order, 4).unwrap());
            let [spatial, temporal] = both;
            let expected = if temporal.bytes < spatial.bytes { temporal } else { spatial };
            let found = pack(&items, Algorithm::BestOfSpatialAndTemporal, 4).unwrap();
            prop_assert_eq!(found, expected);
        }
    }

    /// The smallest gap that fits is taken, the lowest on ties; sizes beyond 64 bits are refused.
    #[test]
    fn overflow_is_no_panic() {
        let item = |id| Item {
            own_bytes: u64::MAX / 2,
            bytes: u64::MAX / 2,
            members: smallvec::smallvec![Ticks { start: 0, end: 9 }],
            id,
        };
        let items = [item(0), item(1), item(2), item(3)];
        for algorithm in [Algorithm::FastMerge, Algorithm::BestOfSpatialAndTemporal] {
            assert_eq!(pack(&items, algorithm, 16384), None);
        }
    }
}
