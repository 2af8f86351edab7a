//! GitLab's code quality report: an array of issues, each with a path of the repository, a line and
//! a fingerprint by which GitLab tells new ones from known ones.

use super::fingerprint::Unique;
use super::place;
use crate::report::check::{CheckReport, Notice};
use crate::report::{Finding, Level, Sources};
use serde::Serialize;

#[derive(Serialize)]
struct Issue<'a> {
    description: String,
    check_name: &'a str,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// The report as JSON.
///
/// # Errors
/// Where it cannot be written as JSON.
pub fn check(report: &CheckReport, sources: &Sources) -> Result<String, serde_json::Error> {
    let mut unique = Unique::default();
    let notices = report.notices();
    let notices = notices.iter().map(|notice| of_notice(notice, sources));
    let findings = report.findings.iter().map(|finding| of_finding(finding, sources));
    let mut issues: Vec<Issue<'_>> = notices.chain(findings).collect();
    for issue in &mut issues {
        let count = unique.count(&issue.fingerprint);
        if count > 1 {
            issue.fingerprint = format!("{}-{count}", issue.fingerprint);
        }
    }
    super::json::pretty(&issues)
}

fn of_finding<'a>(finding: &'a Finding, sources: &'a Sources) -> Issue<'a> {
    let place = place::of(finding, sources);
    Issue {
        description: format!("{} ({})", finding.message, finding.module),
        check_name: finding.rule,
        fingerprint: finding.fingerprint.clone(),
        severity: severity(finding.level),
        location: location(place.map_or(&finding.module, |at| at.path), place.map(|at| at.line)),
    }
}

fn of_notice<'a>(notice: &'a Notice, sources: &'a Sources) -> Issue<'a> {
    Issue {
        description: notice.message.clone(),
        check_name: notice.name,
        fingerprint: super::fingerprint::of(&[notice.name, &notice.file, &notice.message]),
        severity: severity(notice.level),
        location: location(sources.path(&notice.file), notice.line),
    }
}

fn location(path: &str, line: Option<u32>) -> Location<'_> {
    Location { path, lines: Lines { begin: line.unwrap_or(1) } }
}

/// A program that does not compile blocks.
fn severity(level: Level) -> &'static str {
    match level {
        Level::Error => "blocker",
        Level::Warn => "major",
        Level::Note => "info",
    }
}
