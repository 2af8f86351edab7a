//! One line a finding, as editors and `grep` read them: `models.py:12: warn[rule] message (module)`;
//! behind them counts by rule where they were asked for.

use super::place;
use super::style::{self, paint};
use super::text;
use crate::report::check::CheckReport;
use crate::report::{Level, Sources};
use std::fmt::Write;

/// All findings, the worst first, behind what is said of the inputs.
pub fn check(report: &CheckReport, sources: &Sources) -> String {
    let mut out = String::new();
    for notice in report.notices() {
        let line = notice.line.map(|line| format!(":{line}")).unwrap_or_default();
        let head = format!("{}{line}", sources.path(&notice.file));
        line_of(&mut out, &head, notice.level, notice.name, &notice.message);
    }
    for finding in &report.findings {
        let head = place::of(finding, sources)
            .map_or_else(|| finding.module.clone(), |at| format!("{}:{}", at.path, at.line));
        let message = format!("{} ({})", finding.message, finding.module);
        line_of(&mut out, &head, finding.level, finding.rule, &message);
    }
    if let Some(rows) = &report.statistics {
        text::statistics(&mut out, rows);
    }
    out
}

fn line_of(out: &mut String, head: &str, level: Level, name: &str, message: &str) {
    let level_words = format!("{}[{name}]", level.as_str());
    let line = format!("{head}: {} {message}", paint(style::of_level(level), &level_words));
    // A line of a text that names what it likes stays one line.
    _ = writeln!(out, "{}", line.replace(['\n', '\r'], " "));
}
