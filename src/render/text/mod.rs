//! Reports for a person at a terminal: the verdict first, what is alive, findings with remedies.

mod finding;
pub(super) mod module;
mod peak;
mod way_out;

use super::excerpt::{self, Place};
use super::style::{self, paint};
use crate::report::check::{CheckReport, Statistic};
use crate::report::suppress::SuppressedBy;
use crate::report::{Diagnostic, Level, ModuleReport, Source, Sources, Verdict, bytes};
use std::fmt::Write;

/// How wide a report is where nothing else is said.
pub const WIDTH: usize = 100;

/// How many healthy programs get a line of their own.
const HEALTHY_LINES: usize = 8;

/// What a reader asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Show everything.
    pub verbose: bool,
    /// Columns.
    pub width: usize,
    /// Where the user's files lie, for an output that takes links to them.
    pub links: Option<&'a Sources>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { verbose: false, width: WIDTH, links: None }
    }
}

impl Options<'_> {
    /// A line of the user's program, as a link where it can be followed.
    fn linked(self, source: &Source) -> String {
        let text = source.to_string();
        match self.links.and_then(|sources| sources.whole(&source.file)) {
            Some(path) => style::link(&path, &text),
            None => text,
        }
    }
}

/// What `check` says of one module, its findings left out.
pub fn module(out: &mut String, report: &ModuleReport, options: Options<'_>) {
    module::full(out, report, &[], options);
}

/// The report of `check`.
pub fn check(report: &CheckReport, options: Options<'_>) -> String {
    let mut out = String::new();
    if let Some(log) = &report.log {
        out.push_str(&super::triage::log(log));
        out.push('\n');
    }
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
    let summary = summary(report);
    out.push_str(&summary);
    if report.modules.iter().any(|module| module.verdict == Verdict::DoesNotFit) {
        more(&mut out, report, summary.chars().count(), options);
    }
    out.push('\n');
    if let Some(rows) = &report.statistics {
        statistics(&mut out, rows);
    }
    out
}

/// Where the rest is: every buffer of the worst program.
fn more(out: &mut String, report: &CheckReport, used: usize, options: Options<'_>) {
    const COMMAND: &str = "All buffers: hlolint report ";
    let Some(worst) = report.modules.first() else { return };
    let place = holder(&worst.file);
    let length = used + 2 + COMMAND.len() + place.chars().count();
    let gap = if length <= options.width { "  " } else { "\n" };
    _ = write!(out, "{gap}{COMMAND}{place}");
}

/// What to name on a command line to read a text again: its archive, its directory, else itself.
fn holder(file: &str) -> &str {
    let mut outer = file.match_indices('!').map(|(at, _)| &file[..at]);
    outer
        .find(|path| crate::report::is_archive(path))
        .or_else(|| file.rsplit_once('/').map(|(directory, _)| directory))
        .unwrap_or(file)
}

/// Count and bytes of each rule.
pub(super) fn statistics(out: &mut String, rows: &[Statistic]) {
    if rows.is_empty() {
        return;
    }
    let heading = paint(style::HEADING, "Findings by rule");
    _ = writeln!(out, "\n{heading}");
    for row in rows {
        let level = format!("{:5}", row.level.as_str());
        let level = paint(style::of_level(row.level), &level);
        _ = writeln!(out, "{:>12}  {:>5}  {level}  {}", bytes(row.bytes), row.count, row.rule);
    }
}

fn healthy_lines(out: &mut String, healthy: &[&ModuleReport], options: Options<'_>) {
    let shown = if options.verbose { healthy.len() } else { healthy.len().min(HEALTHY_LINES) };
    let names: Vec<String> =
        healthy.iter().take(shown).map(|module| name_in(module, healthy.len() > 1)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0).min(48);
    for (module, name) in healthy.iter().zip(&names) {
        if options.verbose {
            module::full(out, module, &[], options);
        } else {
            module::one_line(out, module, name, width, options);
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

/// `2 modules, 1 not fitting.  1 error.`
pub(super) fn summary(report: &CheckReport) -> String {
    let mut out = String::new();
    if report.modules.is_empty() {
        out.push_str("No HLO module was read.");
        return out;
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
    out
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

#[cfg(test)]
mod tests {
    use super::holder;

    #[test]
    fn what_to_name_to_read_a_text_again() {
        let cases = [
            ("dump/module.txt", "dump"),
            ("module.txt", "module.txt"),
            ("ci/dump.tar.gz!dump/module.txt", "ci/dump.tar.gz"),
            ("odd!name/module.txt", "odd!name"),
        ];
        for (file, expected) in cases {
            assert_eq!(holder(file), expected);
        }
    }
}
