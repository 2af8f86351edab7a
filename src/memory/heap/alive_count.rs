//! How many placed lives meet a stretch of time, without a look at each: items in, as they are placed; a
//! count out. An item that lives several times counts each time.

use super::Item;

/// Counts of starts and ends, by rank of their ticks, in trees of partial sums.
pub(super) struct AliveCount {
    /// All ticks at which anything starts or ends.
    ticks: Vec<u32>,
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl AliveCount {
    pub(super) fn new(items: &[Item]) -> AliveCount {
        let lives = items.iter().flat_map(|item| &item.members);
        let mut ticks: Vec<u32> = lives.flat_map(|life| [life.start, life.end]).collect();
        ticks.sort_unstable();
        ticks.dedup();
        let empty = vec![0; ticks.len() + 1];
        AliveCount { ticks, starts: empty.clone(), ends: empty }
    }

    /// From now on an item counts.
    pub(super) fn add(&mut self, item: &Item) {
        for life in &item.members {
            for (sums, tick) in [(&mut self.starts, life.start), (&mut self.ends, life.end)] {
                let mut at = self.ticks.partition_point(|&other| other < tick) + 1;
                while let Some(sum) = sums.get_mut(at) {
                    *sum += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
    }

    /// How many lives of those that count meet an item's.
    pub(super) fn alive_with(&self, item: &Item) -> usize {
        let sum = |sums: &[u32], mut at: usize| {
            let mut sum = 0_usize;
            while at > 0 {
                sum += sums[at] as usize;
                at &= at - 1;
            }
            sum
        };
        let lives = item.members.iter().map(|life| {
            let started = self.ticks.partition_point(|&other| other <= life.end);
            let ended = self.ticks.partition_point(|&other| other < life.start);
            sum(&self.starts, started) - sum(&self.ends, ended)
        });
        lives.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::AliveCount;
    use crate::memory::heap::tests::items_alive_for;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lives_that_meet_are_counted(items in items_alive_for(40)) {
            let mut counts = AliveCount::new(&items);
            for (at, item) in items.iter().enumerate() {
                let lives = || items[..at].iter().flat_map(|other| &other.members);
                let meets = |own: &&super::super::Ticks| {
                    lives().filter(|other| own.start <= other.end && other.start <= own.end).count()
                };
                let expected: usize = item.members.iter().map(|own| meets(&own)).sum();
                prop_assert_eq!(counts.alive_with(item), expected);
                counts.add(item);
            }
        }
    }
}
