//! One finding for one set of bytes: of two rules that found the same buffers, the one that stands
//! first in the registry speaks, the other is "also seen".

use super::Finding;

/// Folds findings whose buffers another rule's finding has all of.
pub fn fold(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        let covering = kept.iter_mut().find(|first| {
            first.rule != finding.rule
                && first.level >= finding.level
                && !finding.buffers.is_empty()
                && finding.buffers.iter().all(|buffer| first.buffers.contains(buffer))
        });
        match covering {
            Some(first) => {
                let seen = format!("{} ({})", finding.rule, finding.message);
                if !first.also_seen.contains(&seen) {
                    first.also_seen.push(seen);
                }
            }
            None => kept.push(finding),
        }
    }
    kept
}
