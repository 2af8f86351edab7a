//! Which placed items are alive together with another: an interval tree over all members of all
//! items, built once; an item counts from when it is activated.

use super::{Item, Ticks};

/// Members sorted by start, under a tree of the largest end among the active ones.
pub(super) struct IntervalIndex {
    /// Start and item, sorted by start.
    starts: Vec<(u32, u32)>,
    /// Per item the places of its members in `starts`: `of_item[first[i]..first[i + 1]]`.
    of_item: Vec<u32>,
    first: Vec<u32>,
    /// Ends, by place.
    ends: Vec<u32>,
    /// A binary tree in an array, leaves from `leaves` on: the largest end plus one below, 0 where
    /// nothing is active.
    tree: Vec<u32>,
    leaves: usize,
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
        let leaves = all.len().next_power_of_two().max(1);
        IntervalIndex {
            starts: all.iter().map(|&(start, item, _)| (start, item)).collect(),
            ends: all.iter().map(|&(_, _, end)| end).collect(),
            of_item,
            first,
            tree: vec![0; 2 * leaves],
            leaves,
        }
    }

    /// From now on an item counts.
    pub(super) fn activate(&mut self, item: usize) {
        for at in self.first[item]..self.first[item + 1] {
            let place = self.of_item[at as usize] as usize;
            let end = self.ends[place].saturating_add(1);
            let mut node = self.leaves + place;
            while node > 0 && self.tree[node] < end {
                self.tree[node] = end;
                node /= 2;
            }
        }
    }

    /// Calls `found` for every active member that is alive at some tick of a stretch, with its item.
    pub(super) fn overlapping(&self, ticks: Ticks, mut found: impl FnMut(usize)) {
        let until = self.starts.partition_point(|&(start, _)| start <= ticks.end);
        // Nodes still to visit, with the first place below each and how many there are.
        let mut stack = smallvec::SmallVec::<[(usize, usize, usize); 64]>::new();
        stack.push((1, 0, self.leaves));
        while let Some((node, from, count)) = stack.pop() {
            if from >= until || self.tree[node] <= ticks.start {
                continue;
            }
            if count == 1 {
                found(self.starts[from].1 as usize);
                continue;
            }
            stack.push((2 * node + 1, from + count / 2, count / 2));
            stack.push((2 * node, from, count / 2));
        }
    }
}
