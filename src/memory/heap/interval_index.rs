//! Which placed items are alive together with another: an interval tree over all members of all
//! items, built once; an item counts from when it is activated.

use super::{Item, Ticks};
use smallvec::SmallVec;

/// Children of a node: as many ends as a cache line holds.
const FANOUT: usize = 16;

/// Members sorted by start, under a tree of the largest end among the active ones.
pub(super) struct IntervalIndex {
    /// Per place the start of its member.
    starts: Vec<u32>,
    /// Per place its item.
    items: Vec<u32>,
    /// Per place the end of its member.
    ends: Vec<u32>,
    /// Per item its places: `of_item[first[i]..first[i + 1]]`.
    of_item: Vec<u32>,
    first: Vec<u32>,
    /// Level by level, places first, the largest end plus one below; 0 where nothing is active.
    levels: Vec<Vec<u32>>,
}

impl IntervalIndex {
    pub(super) fn new(items: &[Item]) -> IntervalIndex {
        let mut all: Vec<(u32, u32, u32)> = items
            .iter()
            .enumerate()
            .flat_map(|(at, item)| {
                item.members.iter().map(move |ticks| (ticks.start, at as u32, ticks.end))
            })
            .collect();
        all.sort_unstable();
        let mut first = vec![0_u32; items.len() + 1];
        for &(_, item, _) in &all {
            first[item as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut of_item = vec![0; all.len()];
        for (place, &(_, item, _)) in all.iter().enumerate() {
            of_item[next[item as usize] as usize] = place as u32;
            next[item as usize] += 1;
        }
        let mut levels = vec![vec![0; all.len()]];
        while levels.last().is_some_and(|level| level.len() > FANOUT) {
            let len = levels.last().map_or(0, |level| level.len().div_ceil(FANOUT));
            levels.push(vec![0; len]);
        }
        IntervalIndex {
            starts: all.iter().map(|&(start, _, _)| start).collect(),
            items: all.iter().map(|&(_, item, _)| item).collect(),
            ends: all.iter().map(|&(_, _, end)| end).collect(),
            of_item,
            first,
            levels,
        }
    }

    /// From now on an item counts.
    pub(super) fn activate(&mut self, item: usize) {
        for at in self.first[item]..self.first[item + 1] {
            let mut place = self.of_item[at as usize] as usize;
            let end = self.ends[place].saturating_add(1);
            for level in &mut self.levels {
                if level[place] >= end {
                    break;
                }
                level[place] = end;
                place /= FANOUT;
            }
        }
    }

    /// Calls `found` for every active member that is alive at some tick of a stretch, with its item.
    pub(super) fn overlapping(&self, ticks: Ticks, mut found: impl FnMut(usize)) {
        let until = self.starts.partition_point(|&start| start <= ticks.end);
        // Nodes whose children are still to be visited: level of the children, number.
        let mut stack = SmallVec::<[(usize, usize); 64]>::new();
        stack.push((self.levels.len() - 1, 0));
        while let Some((level, node)) = stack.pop() {
            let from = node * FANOUT;
            // Children that hold a place before `until`.
            let to = until.div_ceil(FANOUT.pow(level as u32)).min(from + FANOUT);
            let Some(children) = self.levels[level].get(from..to.max(from)) else { continue };
            for (at, &end) in children.iter().enumerate() {
                if end > ticks.start {
                    match level.checked_sub(1) {
                        Some(below) => stack.push((below, from + at)),
                        None => found(self.items[from + at] as usize),
                    }
                }
            }
        }
    }
}
