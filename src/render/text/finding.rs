//! One finding: what was found, its facts, what to do.

use super::Options;
use crate::render::excerpt::{self, Place};
use crate::render::style::{self, paint};
use crate::report::{Finding, Remedy, Unit};
use std::fmt::Write;

/// A finding in full.
pub(super) fn full(out: &mut String, finding: &Finding, options: Options) {
    let level = finding.level;
    let head = format!("{}[{}]", level.as_str(), finding.rule);
    let source = finding.source.as_ref().map(ToString::to_string).unwrap_or_default();
    let used = head.chars().count() + 2 + finding.message.chars().count();
    let gap = options.width.saturating_sub(used + source.chars().count()).max(2);
    _ = writeln!(
        out,
        "{}  {}{}",
        paint(style::of_level(level), &head),
        paint(style::HEADING, &finding.message),
        if source.is_empty() { String::new() } else { format!("{}{source}", " ".repeat(gap)) }
    );
    for line in &finding.details {
        _ = writeln!(out, "   {line}");
    }
    if !finding.also_seen.is_empty() {
        _ = writeln!(out, "   also seen here: {}", finding.also_seen.join(", "));
    }
    for (at, remedy) in finding.remedies.iter().enumerate() {
        let word = if at == 0 { "try" } else { "or" };
        _ = writeln!(out, "   {word:4}  {}", with_figure(remedy, finding.required_bytes, options));
    }
    if options.verbose {
        details(out, finding);
    }
}

/// The action, and what the program needs before and after.
fn with_figure(remedy: &Remedy, required_bytes: u64, options: Options) -> String {
    let Some(after) = remedy.required_bytes_after else { return remedy.action.clone() };
    let unit = Unit::of(required_bytes);
    let figure = format!(
        "{} -> {}{} {}",
        unit.number(required_bytes),
        if remedy.at_most { "at most " } else { "" },
        unit.number(after),
        unit.as_str()
    );
    let figure = match remedy.recomputed_bytes {
        Some(more) => format!("{figure} (+{} at most to recompute)", unit.number(more)),
        None => figure,
    };
    let used = 9 + remedy.action.chars().count() + figure.chars().count();
    let gap = options.width.saturating_sub(used).max(2);
    format!("{}{}{figure}", remedy.action, " ".repeat(gap))
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
