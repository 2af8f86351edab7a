//! One finding for one set of bytes: of two rules that found the same buffers, the one that stands
//! first in the registry speaks, the other is "also seen".

use super::Finding;
use crate::memory::BufferId;
use rustc_hash::FxHashMap;

/// Folds findings whose buffers another rule's finding has all of.
pub fn fold(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    // Per buffer the first finding that has it.
    let mut owners: FxHashMap<BufferId, usize> = FxHashMap::default();
    for finding in findings {
        let owner = finding.buffers.first().and_then(|buffer| owners.get(buffer)).copied();
        let covers = |first: &Finding| {
            first.rule != finding.rule
                && first.level >= finding.level
                && finding.buffers.iter().all(|buffer| owners.get(buffer).copied() == owner)
        };
        match owner.and_then(|owner| kept.get_mut(owner)).filter(|first| covers(first)) {
            Some(first) => {
                let seen = format!("{} ({})", finding.rule, finding.message);
                if !first.also_seen.contains(&seen) {
                    first.also_seen.push(seen);
                }
            }
            None => {
                for &buffer in &finding.buffers {
                    owners.entry(buffer).or_insert(kept.len());
                }
                kept.push(finding);
            }
        }
    }
    kept
}
