//! What is placed already: blocks in, in any order; the smallest gap between those that are alive with
//! an item out. Blocks stand by their offsets in chunks. Of a chunk whose blocks are all alive with the
//! item its gaps are known, and one of which none is alive is passed over, so that where everything is
//! alive at one moment an item costs as many steps as there are chunks.

use super::{Item, Ticks};

/// The place of an item. Blocks are ordered by their starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Block {
    /// Its offset.
    pub(super) start: u64,
    /// The first byte behind it.
    pub(super) end: u64,
    /// The item.
    pub(super) item: u32,
}

/// The smallest gap that was found so far, the lowest on ties.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    needed: u64,
    alignment: u64,
    best: Option<(u64, u64)>,
    /// Behind all blocks so far.
    end: u64,
}

impl Search {
    /// Looks for a gap that holds an item, from offset 0 on.
    pub(super) fn new(item: &Item, alignment: u64) -> Search {
        Search { needed: item.own_bytes.max(item.bytes), alignment, best: None, end: 0 }
    }

    /// The next block by start. `None` where an offset does not fit 64 bits.
    pub(super) fn pass(&mut self, block: &Block) -> Option<()> {
        // Aligning costs a division: only where the gap could do.
        if block.start.checked_sub(self.end).is_some_and(|gap| gap >= self.needed) {
            let start = self.end.checked_next_multiple_of(self.alignment)?;
            if let Some(gap) = block.start.checked_sub(start).filter(|&gap| gap >= self.needed) {
                self.offer(gap, start);
            }
        }
        self.end = self.end.max(block.end);
        Some(())
    }

    /// A gap that holds the item, at an aligned start behind those of before.
    fn offer(&mut self, gap: u64, start: u64) {
        if self.best.is_none_or(|(smallest, _)| gap < smallest) {
            self.best = Some((gap, start));
        }
    }

    /// Where the item goes: behind the last block the gap is without end.
    pub(super) fn offset(&self) -> Option<u64> {
        match self.best {
            Some((_, start)) => Some(start),
            None => self.end.checked_next_multiple_of(self.alignment),
        }
    }
}

/// Blocks that stand next to each other by their starts.
#[derive(Debug, Default)]
struct Chunk {
    blocks: Vec<Block>,
    /// The earliest start and the latest end of an item's life.
    hull: Option<Ticks>,
    /// The latest start and the earliest end, where every item has one life only: what is alive from
    /// the end to the start is alive with all.
    core: Option<Ticks>,
    /// The gaps between blocks by size, then start; `None` before anybody asked.
    gaps: Option<Gaps>,
}

#[derive(Debug, Default)]
struct Gaps {
    /// Size from the aligned start on, and that start.
    by_size: Vec<(u64, u64)>,
    /// Behind all blocks.
    end: u64,
}

impl Chunk {
    fn of(blocks: Vec<Block>, items: &[Item]) -> Chunk {
        let mut chunk = Chunk::default();
        for block in &blocks {
            chunk.live_with(block, items, chunk.hull.is_none());
        }
        Chunk { blocks, ..chunk }
    }

    /// Counts an item's life in.
    fn live_with(&mut self, block: &Block, items: &[Item], is_first: bool) {
        let Some(item) = items.get(block.item as usize) else { return };
        let life = Ticks { start: item.start(), end: item.end() };
        let hull = self.hull.get_or_insert(life);
        (hull.start, hull.end) = (hull.start.min(life.start), hull.end.max(life.end));
        let core = if is_first { Some(life) } else { self.core };
        self.core = core
            .filter(|_| item.members.len() == 1)
            .map(|core| Ticks { start: core.start.max(life.start), end: core.end.min(life.end) });
        self.gaps = None;
    }

    fn insert(&mut self, block: Block, items: &[Item]) {
        let place = self.blocks.partition_point(|other| *other < block);
        self.blocks.insert(place, block);
        self.live_with(&block, items, false);
    }

    fn has_none_alive(&self, item: &Item) -> bool {
        let meets = |hull: Ticks| {
            item.members.iter().any(|own| own.start <= hull.end && hull.start <= own.end)
        };
        !self.hull.is_some_and(meets)
    }

    fn has_all_alive(&self, item: &Item) -> bool {
        let covers = |core: Ticks| {
            item.members.iter().any(|own| own.start <= core.end && core.start <= own.end)
        };
        self.core.is_some_and(covers)
    }

    /// The gaps, all blocks alive; `None` where an offset does not fit 64 bits.
    fn gaps(&mut self, alignment: u64) -> Option<&Gaps> {
        if self.gaps.is_none() {
            let mut gaps = Gaps::default();
            for (at, block) in self.blocks.iter().enumerate() {
                if at > 0 && block.start > gaps.end {
                    let start = gaps.end.checked_next_multiple_of(alignment)?;
                    let gap = block.start.checked_sub(start).filter(|&gap| gap > 0);
                    gaps.by_size.extend(gap.map(|gap| (gap, start)));
                }
                gaps.end = gaps.end.max(block.end);
            }
            gaps.by_size.sort_unstable();
            self.gaps = Some(gaps);
        }
        self.gaps.as_ref()
    }

    /// Goes through the blocks that are alive with an item.
    fn search(&mut self, search: &mut Search, item: &Item, items: &[Item]) -> Option<()> {
        if self.has_none_alive(item) {
            return Some(());
        }
        // What lies before the chunk may reach into it: then its gaps are not those that are free.
        let first = self.blocks.first().copied()?;
        let (needed, alignment) = (search.needed, search.alignment);
        if self.has_all_alive(item)
            && search.end <= first.end
            && needed > 0
            && let Some(gaps) = self.gaps(alignment)
        {
            search.pass(&first)?;
            let fitting = gaps.by_size.partition_point(|&(gap, _)| gap < needed);
            if let Some(&(gap, start)) = gaps.by_size.get(fitting) {
                search.offer(gap, start);
            }
            search.end = search.end.max(gaps.end);
            return Some(());
        }
        let is_alive = |block: &&Block| {
            items.get(block.item as usize).is_some_and(|other| are_alive_together(item, other))
        };
        self.blocks.iter().filter(is_alive).try_for_each(|block| search.pass(block))
    }
}

fn are_alive_together(one: &Item, other: &Item) -> bool {
    let meets = |one: &Ticks, other: &Ticks| one.start <= other.end && other.start <= one.end;
    one.members.iter().any(|one| other.members.iter().any(|other| meets(one, other)))
}

/// Blocks by their starts, in chunks.
#[derive(Debug)]
pub(super) struct Placed<'i> {
    items: &'i [Item],
    /// The most blocks that stand in one chunk.
    most: usize,
    /// None is empty; the last block of each stands before the first of the next.
    chunks: Vec<Chunk>,
    count: usize,
}

impl<'i> Placed<'i> {
    /// Nothing of some items is placed; `most` blocks make a chunk.
    pub(super) fn new(items: &'i [Item], most: usize) -> Placed<'i> {
        Placed { items, most: most.max(2), chunks: Vec::new(), count: 0 }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The start of the smallest gap for an item between blocks that are alive with it.
    pub(super) fn smallest_gap(&mut self, item: &Item, alignment: u64) -> Option<u64> {
        let mut search = Search::new(item, alignment);
        for chunk in &mut self.chunks {
            chunk.search(&mut search, item, self.items)?;
        }
        search.offset()
    }

    /// Adds a block.
    pub(super) fn insert(&mut self, block: Block) {
        self.count += 1;
        let behind = self.chunks.partition_point(|chunk| chunk.blocks.first() < Some(&block));
        let at = behind.saturating_sub(1);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Chunk::of(vec![block], self.items));
            return;
        };
        chunk.insert(block, self.items);
        if chunk.blocks.len() > self.most {
            let upper = chunk.blocks.split_off(self.most / 2);
            let lower = std::mem::take(&mut chunk.blocks);
            *chunk = Chunk::of(lower, self.items);
            self.chunks.insert(at + 1, Chunk::of(upper, self.items));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Placed};
    use crate::memory::heap::{Item, Ticks};

    #[test]
    fn blocks_stand_by_their_starts() {
        let item = |id| Item {
            own_bytes: 512,
            bytes: 512,
            members: smallvec::smallvec![Ticks { start: 0, end: 9 }],
            id,
        };
        let items: Vec<Item> = (0..5000).map(item).collect();
        let mut placed = Placed::new(&items, 512);
        let mut expected: Vec<Block> = (0..5000_u32)
            .map(|item| {
                let start = u64::from(item) * 7919 % 1009 * 512;
                Block { start, end: start + 512, item }
            })
            .collect();
        for block in &expected {
            placed.insert(*block);
        }
        expected.sort_unstable();
        assert_eq!(placed.len(), expected.len());
        assert!(placed.chunks.iter().flat_map(|chunk| &chunk.blocks).eq(&expected));
    }
}
