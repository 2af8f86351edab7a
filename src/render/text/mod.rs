//! Reports for a person at a terminal: the verdict first, what is alive, findings with remedies.

mod finding;
mod module;
mod peak;

use super::excerpt::{self, Place};
use super::style::{self, paint};
use crate::report::check::CheckReport;
use crate::report::suppress::SuppressedBy;
use crate::report::{Diagnostic, Level, ModuleReport, Verdict};
use std::fmt::Write;

/// How wide a report is where nothing else is said.
pub const WIDTH: usize = 100;

/// How many healthy programs get a line of their own.
const HEALTHY_LINES: usize = 8;

/// What a reader asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Show everything.
    pub verbose: bool,
    /// Columns.
    pub width: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { verbose: false, width: WIDTH }
    }
}

/// What `check` says of one module, its findings left out.
pub fn module(out: &mut String, report: &ModuleReport, options: Options) {
    module::full(out, report, &[], options);
}

/// The report of `check`.
pub fn check(report: &CheckReport, options: Options) -> String {
    let mut out = String::new();
    let mut findings = report.findings_by_file();
    let (healthy, others): (Vec<&ModuleReport>, Vec<&ModuleReport>) =
        report.modules.iter().partition(|module| {
            let is_fine = match module.verdict {
                Verdict::Fits => true,
                Verdict::NoLimit => report.modules.len() > 1,
                _ => false,
            };
            is_fine && !findings.contains_key(module.file.as_str())
        });
    for module in others {
        let findings = findings.remove(module.file.as_str()).unwrap_or_default();
        if report.modules.len() > 1 {
            _ = writeln!(out, "{}", paint(style::DIM, &module.file));
        }
        module::full(&mut out, module, &findings, options);
        out.push('\n');
    }
    healthy_lines(&mut out, &healthy, options);
    if !healthy.is_empty() {
        out.push('\n');
    }
    last_line(&mut out, report);
    out
}

fn healthy_lines(out: &mut String, healthy: &[&ModuleReport], options: Options) {
    let shown = if options.verbose { healthy.len() } else { healthy.len().min(HEALTHY_LINES) };
    let names: Vec<String> =
        healthy.iter().take(shown).map(|module| name_in(module, healthy.len() > 1)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0).min(48);
    for (module, name) in healthy.iter().zip(&names) {
        if options.verbose {
            module::full(out, module, &[], options);
        } else {
            module::one_line(out, module, name, width);
        }
    }
    let rest = &healthy[shown..];
    if let Some(largest) = rest.first() {
        _ = writeln!(
            out,
            "{}  {} more, the largest {} of {} ({})",
            paint(style::of_verdict(Verdict::Fits), "fits"),
            rest.len(),
            crate::report::bytes(largest.hbm.required_bytes),
            largest.memory,
            largest.name
        );
    }
}

/// A module's name; among several with that of the directory it was found in.
fn name_in(module: &ModuleReport, among_several: bool) -> String {
    let directory = module.file.rsplit_once('/').map_or("", |(directory, _)| directory);
    match directory.rsplit('/').next() {
        Some(directory) if among_several && !directory.is_empty() => {
            format!("{directory}/{}", module.name)
        }
        _ => module.name.clone(),
    }
}

fn last_line(out: &mut String, report: &CheckReport) {
    if report.modules.is_empty() {
        out.push_str("No HLO module was read.\n");
        return;
    }
    let plural =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let failing = report.modules.iter().filter(|m| m.verdict == Verdict::DoesNotFit).count();
    let unknown = report
        .modules
        .iter()
        .filter(|m| matches!(m.verdict, Verdict::Unknown | Verdict::FitsAtLeast))
        .count();
    _ = write!(out, "{}", plural(report.modules.len(), "module"));
    match (report.modules.len(), failing, unknown) {
        (1, 1, _) => out.push_str(", does not fit"),
        (_, 0, 0) if report.modules.iter().all(|m| m.verdict == Verdict::NoLimit) => {}
        (_, 0, 0) => out.push_str(if report.modules.len() == 1 { ", fits" } else { ", all fit" }),
        (_, failing, unknown) => {
            if failing > 0 {
                _ = write!(out, ", {failing} not fitting");
            }
            if unknown > 0 {
                _ = write!(out, ", {unknown} without a verdict");
            }
        }
    }
    out.push_str(".  ");
    let counts: Vec<String> =
        [(Level::Error, "error"), (Level::Warn, "warning"), (Level::Note, "note")]
            .into_iter()
            .map(|(level, word)| (report.count(level), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| plural(count, word))
            .collect();
    if counts.is_empty() {
        out.push_str("No findings.");
    } else {
        _ = write!(out, "{}.", counts.join(", "));
    }
    let accepted: Vec<String> =
        [(SuppressedBy::Ignore, "ignored"), (SuppressedBy::Baseline, "known from the baseline")]
            .into_iter()
            .map(|(by, word)| (report.count_suppressed(by), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
    if !accepted.is_empty() {
        _ = write!(out, "  {}.", accepted.join(", "));
    }
    out.push('\n');
}

/// Diagnostics, for the error stream.
pub fn diagnostics(diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let (style, word, level) = if diagnostic.failed {
            (style::of_level(Level::Error), "error", annotate_snippets::Level::ERROR)
        } else {
            (style::of_level(Level::Warn), "warning", annotate_snippets::Level::WARNING)
        };
        let Diagnostic { file, message, help, .. } = diagnostic;
        match (diagnostic.line, diagnostic.column, &diagnostic.excerpt) {
            (Some(line), Some(column), Some(found)) => {
                let place = Place { file, line, column };
                out.push_str(&excerpt::titled(message, level, place, found));
            }
            (Some(line), ..) => {
                _ = writeln!(out, "{}: {file}:{line}: {message}", paint(style, word));
            }
            _ => _ = writeln!(out, "{}: {file}: {message}", paint(style, word)),
        }
        if !help.is_empty() {
            _ = writeln!(out, "  help: {help}");
        }
    }
    out
}
