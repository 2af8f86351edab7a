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
pub(super) fn by_file(findings: &[Said]) -> FxHashMap<&str, Vec<&Said>> {
    let mut by_file: FxHashMap<&str, Vec<&Said>> = FxHashMap::default();
    for finding in findings {
        let file = finding.location.as_ref().map_or("", |place| place.file.as_str());
        by_file.entry(file).or_default().push(finding);
    }
    by_file
}

/// What came, got worse or better, and went.
pub(super) fn changes(old: &[&Said], new: &[&Said]) -> Vec<FindingChange> {
    let before = partners(old, new);
    let mut is_left = vec![true; old.len()];
    let mut changes: Vec<FindingChange> = Vec::new();
    for (said, before) in new.iter().zip(before) {
        if let Some(at) = before {
            is_left[at] = false;
        }
        let before = before.map(|at| old[at].level);
        let change = match before {
            None => Became::New,
            Some(level) if level < said.level => Became::Worse,
            Some(level) if level > said.level => Became::Better,
            Some(_) => continue,
        };
        changes.push(FindingChange { change, old_level: before, finding: Said::clone(said) });
    }
    let gone = old.iter().zip(is_left).filter(|(_, is_left)| *is_left);
    changes.extend(gone.map(|(said, _)| FindingChange {
        change: Became::Gone,
        old_level: None,
        finding: Said::clone(said),
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

/// What two findings of a rule have in common when they are taken for the same; `None` where a finding
/// has nothing of the kind.
type Likeness = fn(&Said) -> Option<String>;

/// Of each new finding the old one that it is. Operations get other names when a line is wrapped in a
/// transformation, when the compiler is another, or when the function is renamed.
fn partners(old: &[&Said], new: &[&Said]) -> Vec<Option<usize>> {
    let mut partners: Vec<Option<usize>> = vec![None; new.len()];
    let mut is_left = vec![true; old.len()];
    // Each step looks at what the one before left over.
    let steps: [Likeness; 5] = [operation, line, message, plain_operation, of_the_program];
    for likeness in steps {
        let mut left: FxHashMap<(&str, String), VecDeque<usize>> = FxHashMap::default();
        for (at, said) in old.iter().enumerate().filter(|(at, _)| is_left[*at]) {
            if let Some(likeness) = likeness(said) {
                left.entry((said.rule.as_str(), likeness)).or_default().push_back(at);
            }
        }
        for (said, partner) in new.iter().zip(&mut partners).filter(|(_, known)| known.is_none()) {
            let Some(likeness) = likeness(said) else { continue };
            *partner = left.get_mut(&(said.rule.as_str(), likeness)).and_then(VecDeque::pop_front);
            if let Some(at) = *partner {
                is_left[at] = false;
            }
        }
    }
    partners
}

fn operation(said: &Said) -> Option<String> {
    Some(said.op_name.clone().unwrap_or_default())
}

/// The user's line. A checkout may stand elsewhere.
fn line(said: &Said) -> Option<String> {
    said.source.as_ref().map(ToString::to_string)
}

fn message(said: &Said) -> Option<String> {
    Some(said.message.clone())
}

/// The operation without the function, and without what transformations and loops put around it:
/// `jit(f)/transpose(jvp(mlp))/while/body/dot_general` is `mlp/dot_general`.
fn plain_operation(said: &Said) -> Option<String> {
    const AROUND: &[&str] =
        &["", "main", "while", "body", "cond", "closed_call", "checkpoint", "rematted_computation"];
    let (_, path) = said.op_name.as_ref()?.split_once('/')?;
    let inner = path.split('/').map(|part| part.rsplit('(').next().unwrap_or(part));
    let named: Vec<&str> = inner
        .map(|part| part.trim_end_matches(')'))
        .filter(|part| !AROUND.contains(part))
        .collect();
    (!named.is_empty()).then(|| named.join("/"))
}

/// What names no array is about the program: its figures may differ, it stays the same.
fn of_the_program(said: &Said) -> Option<String> {
    if said.message.contains('[') {
        return None;
    }
    let words = said.message.split_whitespace().map(|word| word.trim_end_matches([',', 's']));
    let is_figure = |word: &&str| {
        word.starts_with(|letter: char| letter.is_ascii_digit())
            || ["B", "KiB", "MiB", "GiB"].contains(word)
    };
    Some(words.filter(|word| !is_figure(word)).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::{Became, Said, changes};
    use crate::lint::{Level, Source};

    /// A finding of `tile-padding` as `OPERATION LINE MESSAGE`.
    fn said(text: &str) -> Said {
        let mut words = text.splitn(3, ' ');
        let mut next = || words.next().unwrap().to_owned();
        let (op_name, line) = (next(), next().parse().unwrap());
        let file = "/checkout/model.py".to_owned();
        Said {
            rule: "tile-padding".to_owned(),
            level: Level::Warn,
            message: next(),
            op_name: Some(op_name),
            source: Some(Source { file, line, function: String::new(), inferred: false }),
            location: None,
            bytes: 1,
            saving_bytes: None,
        }
    }

    #[test]
    fn a_finding_that_moved_is_the_same() {
        let cases = [
            // The line stays: another transformation around it, a renamed function.
            ("jit(f)/jvp()/div 7 2 x f32[8,8]", "jit(g)/checkpoint/div 7 1 x f32[8,16]", true),
            // The line moves: the operation stays, or what it is without what is around it.
            ("jit(f)/mlp/div 7 f32[8]", "jit(f)/mlp/div 9 f32[9]", true),
            (
                "jit(f)/transpose(jvp(mlp))/while/body/div 7 f32[8]",
                "jit(g)/jit(main)/mlp/div 9 f32[9]",
                true,
            ),
            // The words stay.
            (
                "jit(f)/mlp/div 7 one array, 48.00 MiB",
                "jit(f)/mlp/mul 9 one array, 48.00 MiB",
                true,
            ),
            // About the program: no array is named.
            (
                "jit(f)/mlp/div 7 150.44 GiB on a v5e, 8 arrays",
                "w 9 512.00 MiB on a v5e, 1 array",
                true,
            ),
            ("jit(f)/mlp/div 7 150.44 GiB on a v5e", "w 9 16.25 GiB on a v6e", false),
            // Other arrays at another place.
            (
                "jit(f)/mlp/div 7 f32[8] takes 1.00 GiB",
                "jit(f)/attention/div 9 f32[9] takes 1.00 GiB",
                false,
            ),
            (
                "jit(f)/while/body 7 f32[8] takes 1.00 GiB",
                "jit(f)/while 9 f32[9] takes 1.00 GiB",
                false,
            ),
        ];
        for (old, new, is_same) in cases {
            let found = changes(&[&said(old)], &[&said(new)]);
            let became: Vec<Became> = found.iter().map(|change| change.change).collect();
            let expected = if is_same { vec![] } else { vec![Became::New, Became::Gone] };
            assert_eq!(became, expected, "{old} / {new}");
        }
    }

    #[test]
    fn what_is_more_alike_is_matched_first() {
        let [old, moved] = ["jit(f)/mlp/div 7 f32[8]", "jit(f)/mlp/mul 7 f32[8]"].map(said);
        let other = said("jit(f)/attention/mul 30 f32[3]");
        // The operation says more than the line.
        let found = changes(&[&old, &other], &[&moved, &old]);
        let told: Vec<_> = found.iter().map(|f| (f.change, f.finding.op_name.clone())).collect();
        assert_eq!(told, [(Became::New, moved.op_name), (Became::Gone, other.op_name)]);
    }
}
