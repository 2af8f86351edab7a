//! One finding for one set of bytes. Of two rules that found the same buffers the one whose remedy
//! saves more speaks, then the one of the higher level, then the one that stands first in the
//! registry; it speaks at the higher level of both, and the other is "also seen". Where they share a
//! part of their bytes both speak, and the later one says that savings do not add up.

use super::Finding;
use crate::config::{bytes, total_bytes};
use crate::memory::{BufferId, MemoryProfile};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// What of a finding's bytes another one must have to speak for it.
const SAME: f64 = 0.9;

/// What of a finding's bytes another one must have for it to say so.
const PART: f64 = 0.25;

/// Folds findings, which come in the order of the registry, into those that speak for them.
pub fn fold(findings: Vec<Finding>, profile: &MemoryProfile) -> Vec<Finding> {
    fold_by(findings, |buffer| {
        profile.buffers.get(buffer.0 as usize).map_or(0, |buffer| buffer.size_bytes)
    })
}

fn fold_by(findings: Vec<Finding>, size_of: impl Fn(BufferId) -> u64) -> Vec<Finding> {
    let mut ranked: Vec<(usize, Finding)> = findings.into_iter().enumerate().collect();
    ranked.sort_by_key(|(at, finding)| (Reverse(saving(finding)), Reverse(finding.level), *at));
    let mut kept: Vec<Speaker> = Vec::with_capacity(ranked.len());
    // Per buffer the first finding that has it.
    let mut owners: FxHashMap<BufferId, usize> = FxHashMap::default();
    for (at, mut finding) in ranked {
        let mut seen = FxHashSet::default();
        finding.buffers.retain(|buffer| seen.insert(*buffer));
        let all_bytes = total_bytes(finding.buffers.iter().map(|&buffer| size_of(buffer)));
        let shared = most_shared(&finding, &kept, &owners, &size_of);
        let is_part = |part: u64, share: f64| part as f64 >= share * all_bytes.max(1) as f64;
        if let Some((owner, shared_bytes)) = shared.filter(|shared| is_part(shared.1, PART))
            && let Some(speaker) = kept.get_mut(owner)
        {
            // A warning about few of a note's bytes is no part of the note.
            let is_told = finding.level <= speaker.finding.level
                || shared_bytes as f64 >= SAME * speaker.all_bytes as f64;
            // What nobody can price adds nothing where its largest buffer has a remedy.
            let has_nothing_to_add = saving(&finding).is_none()
                && saving(&speaker.finding).is_some()
                && finding.buffers.first().and_then(|first| owners.get(first)) == Some(&owner);
            if (is_part(shared_bytes, SAME) || has_nothing_to_add) && is_told {
                speak_for(&mut speaker.finding, finding);
                continue;
            }
            if saving(&speaker.finding).is_some() && saving(&finding).is_some() {
                let (size, rule) = (bytes(shared_bytes), speaker.finding.rule);
                finding
                    .details
                    .push(format!("{size} of it are those of {rule}: savings do not add up"));
            }
        }
        for &buffer in &finding.buffers {
            owners.entry(buffer).or_insert(kept.len());
        }
        kept.push(Speaker { at, finding, all_bytes });
    }
    kept.sort_by_key(|speaker| speaker.at);
    kept.into_iter().map(|speaker| speaker.finding).collect()
}

/// A finding that speaks.
struct Speaker {
    /// Its place among all.
    at: usize,
    finding: Finding,
    /// The sizes of its buffers.
    all_bytes: u64,
}

/// What the best remedy of a finding saves, where one has a figure.
pub(super) fn saving(finding: &Finding) -> Option<u64> {
    let after = finding.remedies.iter().filter_map(|remedy| remedy.required_bytes_after).min()?;
    Some(finding.required_bytes.saturating_sub(after))
}

/// The finding of another rule that has most of a finding's bytes, and how many.
fn most_shared(
    finding: &Finding,
    kept: &[Speaker],
    owners: &FxHashMap<BufferId, usize>,
    size_of: &impl Fn(BufferId) -> u64,
) -> Option<(usize, u64)> {
    let mut shared: FxHashMap<usize, u64> = FxHashMap::default();
    for &buffer in &finding.buffers {
        if let Some(&owner) = owners.get(&buffer) {
            let sum = shared.entry(owner).or_default();
            *sum = sum.saturating_add(size_of(buffer));
        }
    }
    shared
        .into_iter()
        .filter(|(owner, _)| kept.get(*owner).is_some_and(|s| s.finding.rule != finding.rule))
        .max_by_key(|&(owner, bytes)| (bytes, std::cmp::Reverse(owner)))
}

/// Takes note of a finding of the same bytes.
pub(super) fn speak_for(speaker: &mut Finding, other: Finding) {
    let place = other.source.as_ref().map_or(String::new(), |source| format!(" ({source})"));
    let seen = format!("{}: {}{place}", other.rule, other.message);
    if !speaker.also_seen.contains(&seen) {
        speaker.also_seen.push(seen);
    }
    speaker.level = speaker.level.max(other.level);
    for seen in other.also_seen {
        if !speaker.also_seen.contains(&seen) {
            speaker.also_seen.push(seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fold_by;
    use crate::lint::{
        Confidence, Finding, Level, Provenance, Reference, Remedy, rules::debug_print,
    };
    use crate::memory::BufferId;

    /// A finding about buffers; `after` is what its remedy leaves.
    fn finding(rule: &'static str, level: Level, buffers: &[u32], after: Option<u64>) -> Finding {
        Finding {
            rule,
            level,
            confidence: Confidence::Exact,
            message: "1 thing".to_owned(),
            details: Vec::new(),
            help: rule.to_owned(),
            remedies: vec![Remedy { required_bytes_after: after, ..Remedy::new(rule) }],
            reference: Reference { ..debug_print::META.reference },
            module: String::new(),
            instruction: None,
            op_name: None,
            source: None,
            location: None,
            shape: None,
            bytes: 0,
            is_urgent: false,
            required_bytes: 100,
            saving_bytes: after.map(|after| 100 - after),
            provenance: Provenance::Model,
            buffers: buffers.iter().map(|&at| BufferId(at)).collect(),
            also_seen: Vec::new(),
            copies_of: Vec::new(),
            mistake: None,
            fingerprint: String::new(),
        }
    }

    /// Rules that speak, each with those it speaks for behind it, and `+` where it shares a part.
    fn said(findings: Vec<Finding>) -> Vec<String> {
        // Buffer n has 2^n bytes.
        fold_by(findings, |buffer| 1 << buffer.0)
            .iter()
            .map(|finding| {
                let seen = finding.also_seen.iter().filter_map(|seen| seen.split(':').next());
                let part = if finding.details.is_empty() { "" } else { "+" };
                [finding.rule].into_iter().chain(seen).collect::<Vec<_>>().join(" ") + part
            })
            .collect()
    }

    #[test]
    fn who_speaks() {
        use Level::{Note, Warn};
        let scan = || finding("scan", Warn, &[0, 1, 2, 3], Some(10));
        let cases: Vec<(&str, Vec<Finding>, Vec<&str>)> = vec![
            (
                "a part of the bytes, all of them known",
                vec![scan(), finding("large", Warn, &[3], None)],
                vec!["scan large"],
            ),
            (
                "the same bytes: the figure before the order",
                vec![finding("remat", Warn, &[3], None), finding("scores", Warn, &[3], Some(50))],
                vec!["scores remat"],
            ),
            (
                "the same bytes: the one that saves more",
                vec![finding("scan", Warn, &[3], Some(9)), finding("scores", Warn, &[3], Some(5))],
                vec!["scores scan"],
            ),
            (
                "the same bytes: the order where they save as much",
                vec![finding("scan", Warn, &[3], Some(9)), finding("scores", Warn, &[3], Some(9))],
                vec!["scan scores"],
            ),
            (
                "the same bytes: the figure before the level",
                vec![finding("scan", Note, &[3], Some(10)), finding("large", Warn, &[3], None)],
                vec!["scan large"],
            ),
            (
                "a warning of few bytes does not silence a note of more",
                vec![
                    finding("scan", Note, &[0, 1, 2, 3], Some(10)),
                    finding("large", Warn, &[2], None),
                ],
                vec!["scan", "large"],
            ),
            (
                "nearly all of the bytes",
                vec![finding("scan", Warn, &[3, 4], Some(9)), finding("x", Warn, &[0, 4], None)],
                vec!["scan x"],
            ),
            (
                "some of the bytes: both speak, the second says so",
                vec![finding("scan", Warn, &[4], Some(9)), finding("x", Warn, &[4, 5], Some(9))],
                vec!["scan", "x+"],
            ),
            (
                "few of the bytes: both speak",
                vec![finding("scan", Warn, &[1], Some(9)), finding("x", Warn, &[1, 5], Some(9))],
                vec!["scan", "x"],
            ),
            (
                "one rule does not fold into itself",
                vec![finding("print", Warn, &[3], Some(9)), finding("print", Warn, &[3], Some(9))],
                vec!["print", "print"],
            ),
            (
                "findings without buffers",
                vec![finding("over", Warn, &[], None), scan(), finding("near", Note, &[], None)],
                vec!["over", "scan", "near"],
            ),
        ];
        for (what, findings, expected) in cases {
            assert_eq!(said(findings), expected, "{what}");
        }
    }

    #[test]
    fn a_speaker_has_the_higher_level() {
        let findings = vec![
            finding("scan", Level::Note, &[3], Some(10)),
            finding("large", Level::Warn, &[3], None),
        ];
        let folded = fold_by(findings, |_| 1);
        assert_eq!((folded[0].rule, folded[0].level), ("scan", Level::Warn));
    }
}
