//! How often the rules may ask what a program would need after an edit: a profile in; yes or no out.
//! An answer costs a packing of all values, so that a program with thousands of findings would take
//! hours for figures that nobody reads.

use crate::memory::MemoryProfile;
use std::cell::{Cell, OnceCell};

/// What one rule may spend: pairs of values that a packing has to hold against each other.
const BUDGET: u64 = 1 << 28;

/// So many questions a rule may always ask.
const ALWAYS: u64 = 8;

/// What one rule has asked so far.
#[derive(Debug, Default)]
pub(super) struct Questions {
    asked: Cell<u64>,
    cost: OnceCell<u64>,
}

impl Questions {
    /// Another rule begins.
    pub(super) fn renew(&self) {
        self.asked.set(0);
    }

    /// Nothing more is asked until another rule begins.
    pub(super) fn stop(&self) {
        self.asked.set(u64::MAX);
    }

    /// Whether one more may be asked; it counts.
    pub(super) fn may_ask(&self, profile: &MemoryProfile) -> bool {
        let cost = *self.cost.get_or_init(|| packing_cost(profile));
        let asked = self.asked.get();
        self.asked.set(asked.saturating_add(1));
        asked < ALWAYS.max(BUDGET / cost)
    }
}

/// What a packing costs: its values, and pairs of them that are alive together. At least 1.
fn packing_cost(profile: &MemoryProfile) -> u64 {
    let ranges = profile.values.iter().filter(|value| value.size_bytes > 0);
    let ranges = ranges.filter_map(|value| value.live);
    let (mut starts, mut ends): (Vec<u32>, Vec<u32>) =
        ranges.map(|range| (range.start, range.end)).unzip();
    starts.sort_unstable();
    ends.sort_unstable();
    let pairs = starts.iter().enumerate().fold(0_u64, |pairs, (before, start)| {
        let gone = ends.partition_point(|end| end < start);
        pairs.saturating_add(before.saturating_sub(gone) as u64)
    });
    pairs.saturating_add(profile.values.len() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::{ALWAYS, BUDGET, Questions, packing_cost};
    use crate::hlo::Module;
    use crate::memory::MemoryProfile;
    use std::fmt::Write as _;

    fn profile(text: &str) -> MemoryProfile {
        let module: Module<'_> = crate::text::parse(text).unwrap().module;
        let graph = crate::graph::Dataflow::new(&module);
        crate::memory::analyse(&graph, &crate::target::Policy::cpu()).unwrap()
    }

    fn alive_together(count: usize) -> MemoryProfile {
        let mut text = String::from("HloModule m, is_scheduled=true\n\nENTRY e {\n");
        for at in 0..count {
            _ = writeln!(text, "  a{at} = f32[8]{{0}} parameter({at})");
        }
        text.push_str("  ROOT r = f32[8]{0} negate(a0)\n}\n");
        profile(&text)
    }

    #[test]
    fn pairs_that_are_alive_together_cost() {
        let (small, large) =
            (packing_cost(&alive_together(100)), packing_cost(&alive_together(200)));
        assert!(large > small * 3 && large < small * 5, "{small} {large}");
    }

    #[test]
    fn a_rule_may_ask_until_its_budget_is_spent() {
        let profile = alive_together(1000);
        let most = BUDGET / packing_cost(&profile);
        assert!(most > ALWAYS);
        let questions = Questions::default();
        let asked = (0..most * 2).filter(|_| questions.may_ask(&profile)).count() as u64;
        assert_eq!(asked, most);
        questions.renew();
        assert!(questions.may_ask(&profile));
        questions.stop();
        assert!(!questions.may_ask(&profile));
    }
}
