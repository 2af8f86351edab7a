//! One finding: what was found, its facts, what to do.

use super::Options;
use crate::render::excerpt::{self, Place};
use crate::render::style::{self, paint};
use crate::render::{words, wrap};
use crate::report::{Finding, Remedy};
use std::fmt::Write;

/// What lines behind the first of a fact start with.
const CONTINUED: &str = "     ";

/// A finding in full.
pub(super) fn full(out: &mut String, finding: &Finding, options: Options<'_>) {
    let level = finding.level;
    let head = format!("{}[{}]", level.as_str(), finding.rule);
    let source = finding.source.as_ref().map(ToString::to_string).unwrap_or_default();
    let title = format!("{head}  {}", finding.message);
    let lines = wrap::lines(&title, "   ", options.width);
    for (at, line) in lines.iter().enumerate() {
        let line = match line.strip_prefix(&head).filter(|_| at == 0) {
            Some(rest) => paint(style::of_level(level), &head) + &paint(style::HEADING, rest),
            None => paint(style::HEADING, line),
        };
        out.push_str(&line);
        if at + 1 < lines.len() {
            out.push('\n');
        }
    }
    if let Some(found) = &finding.source {
        let used = lines.last().map_or(0, |line| line.chars().count());
        match options.width.checked_sub(used + source.chars().count()).filter(|&gap| gap >= 2) {
            Some(gap) => out.push_str(&" ".repeat(gap)),
            None => out.push_str("\n   "),
        }
        out.push_str(&options.linked(found));
    }
    out.push('\n');
    for line in &finding.details {
        wrap::write(out, &format!("   {line}"), CONTINUED, options.width);
    }
    for seen in &finding.also_seen {
        wrap::write(out, &format!("   also seen here: {seen}"), CONTINUED, options.width);
    }
    for (at, found) in finding.remedies.iter().enumerate() {
        let word = if at == 0 { "try" } else { "or" };
        remedy(out, word, found, finding.required_bytes, options);
    }
    if options.verbose {
        details(out, finding);
    }
}

/// The action, and what the program needs before and after, at the right.
fn remedy(
    out: &mut String,
    word: &str,
    remedy: &Remedy,
    required_bytes: u64,
    options: Options<'_>,
) {
    const ACTION: &str = "         ";
    let line = format!("   {word:4}  {}", remedy.action);
    let lines = wrap::lines(&line, ACTION, options.width);
    out.push_str(&lines.join("\n"));
    if let Some(figure) = words::figure(remedy, required_bytes) {
        let used = lines.last().map_or(0, |line| line.chars().count());
        let length = figure.chars().count();
        match options.width.checked_sub(used + length).filter(|&gap| gap >= 2) {
            Some(gap) => out.push_str(&" ".repeat(gap)),
            None => _ = write!(out, "\n{}", " ".repeat(options.width.saturating_sub(length))),
        }
        out.push_str(&figure);
    }
    out.push('\n');
}

/// Where it is in the text, how sure it is, which page speaks of it.
fn details(out: &mut String, finding: &Finding) {
    let mut line = |name: &str, text: &str| {
        _ = writeln!(out, "   {}", paint(style::DIM, &format!("{name:11} {text}")));
    };
    if let Some(instruction) = &finding.instruction {
        line("instruction", &format!("%{instruction}"));
    }
    if let Some(op_name) = &finding.op_name {
        line("op_name", op_name);
    }
    line("see", &finding.reference.text());
    line("fingerprint", &finding.fingerprint);
    if let Some(location) = &finding.location {
        let place = Place { file: &location.file, line: location.line, column: location.column };
        out.push_str(&excerpt::bare(place, &location.excerpt));
    }
}
