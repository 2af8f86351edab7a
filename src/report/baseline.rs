//! Baselines: the findings of a report, written down; later the known ones stay silent. Only what
//! stays the same when a program is compiled anew identifies a finding.

use super::Diagnostic;
use super::check::CheckReport;
use super::suppress::{Suppressed, SuppressedBy};
use crate::lint::{Finding, Level};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// The name and version of the form.
pub const SCHEMA: &str = "hlolint.baseline/1";

/// How many findings that are gone are named.
const NAMED: usize = 3;

/// Findings that are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    schema: String,
    findings: Vec<Known>,
}

/// A finding that is known. Equal ones stand here as often as they are known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Known {
    module: String,
    rule: String,
    /// The finding is known up to this level.
    level: Level,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    op_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    /// The line it was seen at: tells equal findings apart while lines do not move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    fingerprint: String,
}

impl Known {
    fn of(finding: &Finding) -> Known {
        Known {
            module: finding.module.clone(),
            rule: finding.rule.to_owned(),
            level: finding.level,
            op_name: finding.op_name.clone(),
            shape: finding.shape.clone(),
            source: source(finding),
            fingerprint: finding.fingerprint.clone(),
        }
    }

    fn words(&self) -> String {
        let what = self.shape.as_ref().or(self.op_name.as_ref());
        let what = what.map(|what| format!(" of {what}")).unwrap_or_default();
        format!("{}{what} in {}", self.rule, self.module)
    }
}

fn source(finding: &Finding) -> Option<String> {
    finding.source.as_ref().map(ToString::to_string)
}

impl Baseline {
    /// All findings of a report.
    pub fn of(report: &CheckReport) -> Baseline {
        let mut findings: Vec<Known> = report.findings.iter().map(Known::of).collect();
        findings.sort();
        Baseline { schema: SCHEMA.to_owned(), findings }
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn read(text: &str) -> Result<Baseline, String> {
        let baseline: Baseline =
            serde_json::from_str(text).map_err(|error| format!("no baseline: {error}"))?;
        if baseline.schema != SCHEMA {
            return Err(format!("a baseline of the form {}, not {SCHEMA}", baseline.schema));
        }
        Ok(baseline)
    }

    /// How many findings it knows.
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Takes the known findings out of a report. Returns the baseline without what is gone, and a
    /// sentence about that. Of modules that were not checked nothing is known: what is said of them
    /// stays. `file` is the baseline's own.
    pub fn apply(&self, report: &mut CheckReport, file: &str) -> (Baseline, Option<Diagnostic>) {
        let mut pool = Pool::of(&self.findings);
        let findings = std::mem::take(&mut report.findings);
        // A finding at its old line first, so that of equal ones the new one is told.
        let mut known: Vec<Option<usize>> =
            findings.iter().map(|finding| pool.take_at_its_line(finding)).collect();
        for (finding, known) in findings.iter().zip(&mut known) {
            *known = known.or_else(|| pool.take(finding));
        }
        for (finding, known) in findings.into_iter().zip(known) {
            match known.and_then(|known| self.findings.get(known)) {
                Some(known) if finding.level <= known.level => report.suppressed.push(Suppressed {
                    by: SuppressedBy::Baseline,
                    reason: String::new(),
                    finding,
                }),
                _ => report.findings.push(finding),
            }
        }
        let checked: FxHashSet<&str> =
            report.modules.iter().map(|module| module.name.as_str()).collect();
        let is_gone = |at: usize, known: &Known| {
            !pool.is_taken(at) && checked.contains(known.module.as_str())
        };
        let (gone, left): (Vec<_>, Vec<_>) =
            self.findings.iter().enumerate().partition(|&(at, known)| is_gone(at, known));
        let gone: Vec<&Known> = gone.into_iter().map(|(_, known)| known).collect();
        let findings = left.into_iter().map(|(_, known)| known.clone()).collect();
        (Baseline { schema: self.schema.clone(), findings }, said(&gone, file))
    }
}

/// What of a baseline is gone, in one sentence.
fn said(gone: &[&Known], file: &str) -> Option<Diagnostic> {
    let mut named: Vec<String> = gone.iter().take(NAMED).map(|known| known.words()).collect();
    if gone.len() > NAMED {
        named.push(format!("{} more", gone.len() - NAMED));
    }
    let count = match gone.len() {
        0 => return None,
        1 => "1 finding of the baseline is gone".to_owned(),
        count => format!("{count} findings of the baseline are gone"),
    };
    Some(Diagnostic {
        failed: false,
        file: file.to_owned(),
        line: None,
        column: None,
        message: format!("{count}: {}", named.join(", ")),
        help: "take them out of it: --update-baseline".to_owned(),
        excerpt: None,
    })
}

/// What of a baseline no finding has taken yet.
struct Pool<'b> {
    is_taken: Vec<bool>,
    by_line: FxHashMap<(String, Option<String>), Vec<usize>>,
    all: FxHashMap<&'b str, Vec<usize>>,
}

impl<'b> Pool<'b> {
    fn of(findings: &'b [Known]) -> Pool<'b> {
        let mut pool = Pool {
            is_taken: vec![false; findings.len()],
            by_line: FxHashMap::default(),
            all: FxHashMap::default(),
        };
        for (at, known) in findings.iter().enumerate().rev() {
            let line = (known.fingerprint.clone(), known.source.clone());
            pool.by_line.entry(line).or_default().push(at);
            pool.all.entry(known.fingerprint.as_str()).or_default().push(at);
        }
        pool
    }

    fn take_at_its_line(&mut self, finding: &Finding) -> Option<usize> {
        let line = (finding.fingerprint.clone(), source(finding));
        let at = self.by_line.get_mut(&line)?.pop()?;
        self.is_taken[at] = true;
        Some(at)
    }

    fn take(&mut self, finding: &Finding) -> Option<usize> {
        let left = self.all.get_mut(finding.fingerprint.as_str())?;
        let at = std::iter::from_fn(|| left.pop()).find(|&at| !self.is_taken[at])?;
        self.is_taken[at] = true;
        Some(at)
    }

    fn is_taken(&self, at: usize) -> bool {
        self.is_taken.get(at).copied().unwrap_or(false)
    }
}
