//! What is placed already: blocks in, in any order; the same by their offsets out, without the jumps
//! from node to node that walking a tree would cost.

/// The most blocks that stand in one piece of memory.
const MOST: usize = 512;

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

/// Blocks by their starts, in chunks.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// None is empty; the last block of each stands before the first of the next.
    chunks: Vec<Vec<Block>>,
    count: usize,
}

impl Placed {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// All, the lowest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Block> {
        self.chunks.iter().flatten()
    }

    /// Adds a block.
    pub(super) fn insert(&mut self, block: Block) {
        self.count += 1;
        let behind = self.chunks.partition_point(|chunk| chunk.first() < Some(&block));
        let at = behind.saturating_sub(1);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(vec![block]);
            return;
        };
        let place = chunk.partition_point(|other| *other < block);
        chunk.insert(place, block);
        if chunk.len() > MOST {
            let upper = chunk.split_off(MOST / 2);
            self.chunks.insert(at + 1, upper);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Placed};

    #[test]
    fn blocks_stand_by_their_starts() {
        let mut placed = Placed::default();
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
        assert!(placed.iter().eq(&expected));
    }
}
