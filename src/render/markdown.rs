//! What `check` says as Markdown: a job's summary, or a comment of a pull request.

use super::{place, words};
use crate::report::check::CheckReport;
use crate::report::{
    Finding, Level, ModuleReport, Sources, Verdict, bytes, bytes_as_xla, fine_percent,
};
use std::fmt::Write;

/// Modules and findings that are listed; a summary has a limited size.
const MODULES: usize = 50;
const FINDINGS: usize = 100;

/// The report as Markdown.
pub fn check(report: &CheckReport, sources: &Sources) -> String {
    let mut out = format!("## hlolint: {}\n", super::text::summary(report));
    notices(&mut out, report, sources);
    modules(&mut out, report);
    findings(&mut out, report, sources);
    if let Some(statistics) = &report.statistics {
        out.push_str("\n| rule | level | findings | bytes |\n| --- | --- | ---: | ---: |\n");
        for row in statistics {
            let (level, size) = (row.level.as_str(), bytes(row.bytes));
            _ = writeln!(out, "| {} | {level} | {} | {size} |", row.rule, row.count);
        }
    }
    out
}

fn notices(out: &mut String, report: &CheckReport, sources: &Sources) {
    for notice in report.notices() {
        let line = notice.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = format!("{}{line}", sources.path(&notice.file));
        let message = escaped(&notice.message);
        let (sign, name) = (sign(notice.level), notice.name);
        _ = write!(out, "\n{sign} **{name}** {}: {message}", code(&place));
        if !notice.help.is_empty() {
            _ = write!(out, " ({})", escaped(&notice.help));
        }
        out.push('\n');
    }
}

fn modules(out: &mut String, report: &CheckReport) {
    if report.modules.is_empty() {
        return;
    }
    out.push_str("\n| | module | needs | of | |\n| --- | --- | ---: | ---: | ---: |\n");
    for module in report.modules.iter().take(MODULES) {
        let hbm = &module.hbm;
        let available = hbm.available_bytes.map(bytes_as_xla).unwrap_or_default();
        let share = hbm.available_bytes.map(|all| fine_percent(hbm.required_bytes, all));
        _ = writeln!(
            out,
            "| {} | {} | {} | {available} | {} |",
            verdict(module),
            code(&module.name),
            bytes_as_xla(hbm.required_bytes),
            share.unwrap_or_default()
        );
    }
    let rest = report.modules.len().saturating_sub(MODULES);
    if rest > 0 {
        _ = writeln!(out, "\n{rest} more modules");
    }
}

fn verdict(module: &ModuleReport) -> &'static str {
    match module.verdict {
        Verdict::DoesNotFit => "**does not fit**",
        Verdict::Fits => "fits",
        Verdict::NoLimit => "",
        Verdict::FitsAtLeast | Verdict::Unknown => "not known",
    }
}

fn findings(out: &mut String, report: &CheckReport, sources: &Sources) {
    for finding in report.findings.iter().take(FINDINGS) {
        _ = writeln!(out, "\n{}", head(finding, sources));
        let facts = words::facts(finding);
        if !facts.is_empty() {
            // As it stands: details have columns.
            _ = writeln!(out, "\n```text\n{}\n```", facts.join("\n").replace("```", "'''"));
        }
    }
    let rest = report.findings.len().saturating_sub(FINDINGS);
    if rest > 0 {
        _ = writeln!(out, "\n{rest} more findings");
    }
}

/// `⚠️ **rule** message, models.py:12 (module)`.
fn head(finding: &Finding, sources: &Sources) -> String {
    let place = place::of(finding, sources);
    let place = place.map(|at| format!(", {}", code(&format!("{}:{}", at.path, at.line))));
    format!(
        "{} **{}** {}{} ({})",
        sign(finding.level),
        finding.rule,
        escaped(&finding.message),
        place.unwrap_or_default(),
        code(&finding.module)
    )
}

fn sign(level: Level) -> &'static str {
    match level {
        Level::Error => "❌",
        Level::Warn => "⚠️",
        Level::Note => "ℹ️",
    }
}

/// A name, as code.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '\n', '\r', '|'], " "))
}

/// A text that Markdown takes as it is.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(if matches!(c, '\n' | '\r') { ' ' } else { c });
    }
    out
}
