//! The way out of a program that does not fit: what to do, in order, with what is left.

use super::Options;
use crate::render::style::{self, paint};
use crate::report::Unit;
use crate::report::way_out::{Basis, Path, Step, WayOut};
use std::fmt::Write;

/// All paths. Steps that begin several of them are printed once.
pub(super) fn way_out(out: &mut String, way_out: &WayOut, options: Options) {
    if way_out.paths.is_empty() {
        return;
    }
    _ = writeln!(out, "\n{}", paint(style::HEADING, "The way out"));
    let mut before: Option<&Path> = None;
    for path in &way_out.paths {
        let shared = before.map_or(0, |before| {
            let pairs = before.steps.iter().zip(&path.steps);
            pairs.take_while(|(a, b)| a == b).count()
        });
        for (at, step) in path.steps.iter().enumerate().skip(shared) {
            let word = match at {
                _ if at == shared && before.is_some() => "or",
                0 => "try",
                _ => "then",
            };
            let is_last = at + 1 == path.steps.len();
            line(out, word, step, is_last && path.fits, options);
        }
        before = Some(path);
    }
}

fn line(out: &mut String, word: &str, step: &Step, fits: bool, options: Options) {
    let figure = figure(step) + if fits { ", fits" } else { "" };
    let used = 9 + step.action.chars().count();
    let figure_width = figure.chars().count();
    let (gap, width) = (options.width.saturating_sub(used + figure_width), options.width);
    _ = match gap {
        0 | 1 => writeln!(out, "   {word:4}  {}\n{figure:>width$}", step.action),
        _ => writeln!(out, "   {word:4}  {}{}{figure}", step.action, " ".repeat(gap)),
    };
}

/// `150.44 -> 25.88 GiB (+5.25 at most to recompute)`.
fn figure(step: &Step) -> String {
    let unit = Unit::of(step.before_bytes);
    let after = unit.number_as_xla(step.required_bytes_after);
    if step.basis == Basis::EvenSplit {
        return format!("about {after} {} each (even split assumed)", unit.as_str());
    }
    let at_most = if step.basis == Basis::AtMost { "at most " } else { "" };
    let before = unit.number_as_xla(step.before_bytes);
    let more = step
        .recomputed_bytes
        .map_or(String::new(), |more| format!(" (+{} at most to recompute)", unit.number(more)));
    format!("{before} -> {at_most}{after} {}{more}", unit.as_str())
}
