//! Which allocations a buffer may join: the list of results and donated parameters, searched from the
//! last to the first without asking those that are in use at the time anyway.

use super::LiveRange;
use smallvec::SmallVec;

/// Words of a mask; a bit stands for a stretch of program points.
const WORDS: usize = 64;
const STRETCHES: u32 = WORDS as u32 * 64;

/// A list of allocations under a binary tree. A leaf's bit is set while some value could still start,
/// live or end in that stretch; an inner node's bit where a leaf below has it.
pub(super) struct ReuseList {
    /// The allocations, in the order in which they were added.
    drafts: Vec<u32>,
    /// Nodes by level, the leaves first.
    levels: Vec<Vec<[u64; WORDS]>>,
    /// Program points of a stretch.
    width: u32,
}

/// The stretches that some live ranges touch: words of a mask.
pub(super) type Wanted = SmallVec<[(u8, u64); 4]>;

impl ReuseList {
    /// An empty list, for program points up to `end`.
    pub(super) fn new(end: u32) -> ReuseList {
        let width = (end / STRETCHES).saturating_add(1);
        ReuseList { drafts: Vec::new(), levels: vec![Vec::new()], width }
    }

    /// The allocation at a place of the list.
    pub(super) fn draft(&self, place: usize) -> u32 {
        self.drafts[place]
    }

    /// Adds an allocation that is free; returns its place.
    pub(super) fn push(&mut self, draft: u32) -> usize {
        let place = self.drafts.len();
        self.drafts.push(draft);
        let mut at = place;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let nodes = &mut self.levels[level];
            if at == nodes.len() {
                nodes.push([u64::MAX; WORDS]);
            } else {
                nodes[at] = [u64::MAX; WORDS];
            }
            if nodes.len() == 1 {
                break;
            }
            at /= 2;
        }
        place
    }

    /// A value lives in an allocation from now on. No other may be there while it does; at its first
    /// and last program point one may, if it hands its memory over.
    pub(super) fn occupy(&mut self, place: usize, range: LiveRange) {
        // Stretches that lie between both ends entirely.
        let from = range.start / self.width + 1;
        let to = range.end / self.width;
        if from >= to {
            return;
        }
        let mut words: Wanted = SmallVec::new();
        add_stretches(&mut words, from, to - 1);
        let mut at = place;
        for level in 0..self.levels.len() {
            let (below, here) = self.levels.split_at_mut(level);
            let node = &mut here[0][at];
            for &(word, bits) in &words {
                let word = usize::from(word);
                node[word] = match below.last() {
                    None => node[word] & !bits,
                    Some(below) => {
                        below[2 * at][word] | below.get(2 * at + 1).map_or(0, |node| node[word])
                    }
                };
            }
            at /= 2;
        }
    }

    /// The stretches that live ranges touch.
    pub(super) fn wanted(&self, ranges: impl Iterator<Item = LiveRange>) -> Wanted {
        let mut wanted = Wanted::new();
        for range in ranges {
            add_stretches(&mut wanted, range.start / self.width, range.end / self.width);
        }
        wanted
    }

    /// The last place before `before` whose allocation has all wanted stretches open.
    pub(super) fn last_open(&self, before: usize, wanted: &Wanted) -> Option<usize> {
        let is_open = |level: usize, at: usize| {
            let node = &self.levels[level][at];
            wanted.iter().all(|&(word, bits)| node[usize::from(word)] & bits == bits)
        };
        let mut stack: SmallVec<[(usize, usize); 32]> = SmallVec::new();
        stack.push((self.levels.len() - 1, 0));
        while let Some((level, at)) = stack.pop() {
            let first = at << level;
            if first >= before || at >= self.levels[level].len() || !is_open(level, at) {
                continue;
            }
            if level == 0 {
                return Some(at);
            }
            stack.push((level - 1, 2 * at));
            stack.push((level - 1, 2 * at + 1));
        }
        None
    }
}

/// Adds the bits of stretches, both ends included.
fn add_stretches(words: &mut Wanted, from: u32, to: u32) {
    let last = STRETCHES - 1;
    let (from, to) = (from.min(last), to.min(last));
    for word in from / 64..=to / 64 {
        let low = if word == from / 64 { from % 64 } else { 0 };
        let high = if word == to / 64 { to % 64 } else { 63 };
        let bits = (u64::MAX << low) & (u64::MAX >> (63 - high));
        words.push((word as u8, bits));
    }
}

#[cfg(test)]
mod tests {
    use super::ReuseList;
    use crate::memory::LiveRange;
    use proptest::prelude::*;

    /// Places that a scan of all intervals would leave open, the last first.
    fn scan(busy: &[Vec<LiveRange>], wanted: LiveRange) -> Vec<usize> {
        let clashes = |range: &LiveRange| wanted.start < range.end && range.start < wanted.end;
        (0..busy.len()).rev().filter(|&at| !busy[at].iter().any(clashes)).collect()
    }

    proptest! {
        /// Nothing that could be joined is left out, and everything comes in order.
        #[test]
        fn finds_all_that_a_scan_finds(
            end in 1_u32..20_000,
            busy in prop::collection::vec(
                prop::collection::vec((0_u32..20_000, 0_u32..9_000), 0..4), 1..40),
            wanted in (0_u32..20_000, 0_u32..3_000),
        ) {
            let range = |(start, length): (u32, u32)| {
                let start = start.min(end);
                LiveRange { start, end: (start + length).min(end) }
            };
            let mut list = ReuseList::new(end);
            let busy: Vec<Vec<LiveRange>> = busy
                .into_iter()
                .map(|ranges| ranges.into_iter().map(range).collect())
                .collect();
            for (draft, ranges) in busy.iter().enumerate() {
                let place = list.push(draft as u32);
                for &range in ranges {
                    list.occupy(place, range);
                }
            }
            let wanted = range(wanted);
            let bits = list.wanted([wanted].into_iter());
            let mut found = Vec::new();
            let mut before = usize::MAX;
            while let Some(place) = list.last_open(before, &bits) {
                prop_assert_eq!(list.draft(place), place as u32);
                found.push(place);
                before = place;
            }
            prop_assert!(found.windows(2).all(|pair| pair[1] < pair[0]));
            for place in scan(&busy, wanted) {
                prop_assert!(found.contains(&place));
            }
        }
    }
}
