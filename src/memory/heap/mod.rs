//! Heap packing: items with lifetimes in, an offset for each out. The algorithms are XLA's
//! (`xla/service/heap_simulator`); they know nothing of values or instructions.

mod best_fit;
mod fast_merge;
mod interval_index;

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
            let temporal = best_fit::pack(items, best_fit::Order::Temporal, alignment)?;
            Some(if temporal.bytes < spatial.bytes { temporal } else { spatial })
        }
    }
}
