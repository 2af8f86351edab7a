//! Findings of two sides in; those that came and went out.

use crate::lint::{Finding, Level, Source};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A finding as one side of a comparison knows it: what a saved report has of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Said {
    /// The rule.
    pub rule: String,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub message: String,
    /// The operation in the user's program.
    pub op_name: Option<String>,
    /// The user's line.
    pub source: Option<Source>,
    /// The place in the text.
    #[serde(skip_serializing)]
    pub location: Option<Place>,
    /// What is wasted or held.
    pub bytes: u64,
    /// What its first remedy saves.
    pub saving_bytes: Option<u64>,
}

/// A place in a text, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The file.
    pub file: String,
}

impl From<&Finding> for Said {
    fn from(finding: &Finding) -> Said {
        Said {
            rule: finding.rule.to_owned(),
            level: finding.level,
            message: finding.message.clone(),
            op_name: finding.op_name.clone(),
            source: finding.source.clone(),
            location: finding.file().map(|file| Place { file: file.to_owned() }),
            bytes: finding.bytes,
            saving_bytes: finding.saving_bytes,
        }
    }
}

/// A finding that came or went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingChange {
    /// What became of it.
    pub change: Became,
    /// Its level on the old side, where it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_level: Option<Level>,
    /// The finding: as the new side has it, where it does.
    #[serde(flatten)]
    pub finding: Said,
}

/// What became of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Became {
    /// The new side alone has it.
    New,
    /// Its level is higher.
    Worse,
    /// Its level is lower.
    Better,
    /// The old side alone has it.
    Gone,
}

/// Findings by the text they are about.
pub(super) fn by_file(findings: Vec<Said>) -> FxHashMap<String, Vec<Said>> {
    let mut by_file: FxHashMap<String, Vec<Said>> = FxHashMap::default();
    for finding in findings {
        let file = finding.location.as_ref().map(|place| place.file.clone()).unwrap_or_default();
        by_file.entry(file).or_default().push(finding);
    }
    by_file
}

/// What came, got worse or better, and went. A finding is the same where the rule and the operation
/// are.
pub(super) fn changes(old: &[Said], new: &[Said]) -> Vec<FindingChange> {
    let key = |said: &Said| (said.rule.clone(), said.op_name.clone());
    let mut left: FxHashMap<_, VecDeque<usize>> = FxHashMap::default();
    for (at, said) in old.iter().enumerate() {
        left.entry(key(said)).or_default().push_back(at);
    }
    let mut changes: Vec<FindingChange> = Vec::new();
    for said in new {
        let before = left.get_mut(&key(said)).and_then(VecDeque::pop_front);
        let before = before.map(|at| old[at].level);
        let change = match before {
            None => Became::New,
            Some(level) if level < said.level => Became::Worse,
            Some(level) if level > said.level => Became::Better,
            Some(_) => continue,
        };
        changes.push(FindingChange { change, old_level: before, finding: said.clone() });
    }
    let mut gone: Vec<usize> = left.into_values().flatten().collect();
    gone.sort_unstable();
    changes.extend(gone.into_iter().map(|at| FindingChange {
        change: Became::Gone,
        old_level: None,
        finding: old[at].clone(),
    }));
    changes.sort_by(|a, b| {
        (a.change, b.finding.level, b.finding.bytes).cmp(&(
            b.change,
            a.finding.level,
            a.finding.bytes,
        ))
    });
    changes
}
