//! Fast merge (facts: tpu-memory section 6): items in order of time; each takes the smallest free
//! chunk that fits. O(n log n).

use super::{Item, Packing};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Free chunks of a line without end.
struct Free {
    alignment: u64,
    /// Start → end.
    by_start: BTreeMap<u64, u64>,
    /// Usable size (from the aligned start on), start.
    by_size: BTreeSet<(u64, u64)>,
}

impl Free {
    fn new(alignment: u64) -> Free {
        let mut free = Free { alignment, by_start: BTreeMap::new(), by_size: BTreeSet::new() };
        free.insert(0, u64::MAX);
        free
    }

    fn usable(&self, start: u64, end: u64) -> Option<u64> {
        end.checked_sub(start.checked_next_multiple_of(self.alignment)?)
    }

    fn insert(&mut self, start: u64, end: u64) {
        if start < end {
            self.by_start.insert(start, end);
            self.by_size.insert((self.usable(start, end).unwrap_or(0), start));
        }
    }

    fn remove(&mut self, start: u64) -> Option<u64> {
        let end = self.by_start.remove(&start)?;
        self.by_size.remove(&(self.usable(start, end).unwrap_or(0), start));
        Some(end)
    }

    /// Takes the smallest chunk of at least a size: its unaligned start and the end of what was taken.
    fn take(&mut self, bytes: u64) -> Option<(u64, u64)> {
        let &(_, start) = self.by_size.range((bytes, 0)..).next()?;
        let chunk_end = self.remove(start)?;
        let end = start.checked_next_multiple_of(self.alignment)?.checked_add(bytes)?;
        self.insert(end, chunk_end);
        Some((start, end))
    }

    /// Gives a chunk back and joins it with its neighbours.
    fn release(&mut self, mut start: u64, mut end: u64) {
        if let Some((&before, &before_end)) = self.by_start.range(..start).next_back()
            && before_end == start
        {
            self.remove(before);
            start = before;
        }
        if let Some(after_end) = self.remove(end) {
            end = after_end;
        }
        self.insert(start, end);
    }
}

pub(super) fn pack(items: &[Item], alignment: u64) -> Option<Packing> {
    let mut order: Vec<(u32, Reverse<u64>, u32, usize)> = items
        .iter()
        .enumerate()
        .map(|(at, item)| (item.start(), Reverse(item.bytes), item.id, at))
        .collect();
    order.sort_unstable();
    let mut free = Free::new(alignment);
    let mut placed: BinaryHeap<Reverse<(u32, u64, u64)>> = BinaryHeap::new();
    let mut packing = Packing { offsets: vec![0; items.len()], bytes: 0 };
    for (start, _, _, at) in order {
        while let Some(&Reverse((end, from, to))) = placed.peek() {
            if end > start {
                break;
            }
            placed.pop();
            free.release(from, to);
        }
        let bytes = items[at].bytes;
        let (from, to) = free.take(bytes)?;
        packing.offsets[at] = to - bytes;
        packing.bytes = packing.bytes.max(to);
        placed.push(Reverse((items[at].end(), from, to)));
    }
    Some(packing)
}
