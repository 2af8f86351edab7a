//! What changed in a directory of snapshots, for a person.

use crate::render::style::{self, paint};
use crate::report::Level;
use crate::report::snapshot::{Builds, Comparison, Entry, Hunk, Mode, Sign, State};
use std::fmt::Write;

/// What is the same is counted, all else is told.
pub fn changes(comparison: &Comparison, mode: Mode) -> String {
    let mut out = String::new();
    for entry in &comparison.entries {
        one(&mut out, entry, mode);
    }
    last_line(&mut out, comparison, mode);
    out
}

fn one(out: &mut String, entry: &Entry, mode: Mode) {
    let Entry { file, module, state, .. } = entry;
    let mut said = |word: &str, level: Level, words: &str| {
        let word = paint(style::of_level(level), word);
        _ = writeln!(out, "{word}  {file}{words}");
    };
    let looked = mode == Mode::Check;
    match state {
        State::Same => {}
        State::SameByOtherCompiler(builds) => {
            said("same", Level::Note, &format!("  {}", by(builds)));
        }
        State::Missing if looked => {
            said("missing", Level::Error, &format!("  {module} has no snapshot"));
        }
        State::Missing => said("written", Level::Note, ""),
        State::Extra if mode == Mode::Update => {
            said("removed", Level::Note, &format!("  no module {module} any more"));
        }
        State::Extra => said("extra", Level::Warn, &format!("  no module {module} in this run")),
        State::Changed(builds, hunks) => {
            let word = if mode == Mode::Update { "updated" } else { "changed" };
            said(word, Level::Warn, "");
            if let Some(builds) = builds {
                _ = writeln!(out, "  {}: it may be the compiler's doing", by(builds));
            }
            self::hunks(out, hunks);
        }
        State::Renamed { old_file, old_name, hunks } => {
            let same = if hunks.is_empty() { ", otherwise the same" } else { "" };
            said(
                "renamed",
                Level::Warn,
                &format!("  {old_name} is {module} now{same} (was {old_file})"),
            );
            self::hunks(out, hunks);
        }
    }
}

/// `compiled by B, the snapshot by A`.
fn by(builds: &Builds) -> String {
    format!("compiled by {}, the snapshot by {}", builds.new, builds.old)
}

/// The most lines of a section that are told: the largest buffers stand first.
const LINES: usize = 24;

fn hunks(out: &mut String, hunks: &[Hunk]) {
    for hunk in hunks {
        _ = writeln!(out, "  {}", paint(style::HEADING, &hunk.section));
        for (sign, line) in hunk.lines.iter().take(LINES) {
            if *sign == Sign::Stays && *line == hunk.section {
                continue;
            }
            _ = match sign {
                Sign::Gone => writeln!(out, "{}", paint(style::GONE, &format!("  -{line}"))),
                Sign::New => writeln!(out, "{}", paint(style::NEW, &format!("  +{line}"))),
                Sign::Stays => writeln!(out, "{}", format!("   {line}").trim_end()),
            };
        }
        let more = hunk.lines.len().saturating_sub(LINES);
        if more > 0 {
            _ = writeln!(out, "   {more} more lines: compare the file before and after --update");
        }
    }
}

fn last_line(out: &mut String, comparison: &Comparison, mode: Mode) {
    let count =
        |is: fn(&State) -> bool| comparison.entries.iter().filter(|entry| is(&entry.state)).count();
    let same = count(|state| matches!(state, State::Same | State::SameByOtherCompiler(_)));
    let counts = [
        (count(|state| matches!(state, State::Changed(..))), "changed"),
        (count(|state| matches!(state, State::Renamed { .. })), "renamed"),
        (count(|state| matches!(state, State::Missing)), "missing"),
        (count(|state| matches!(state, State::Extra)), "extra"),
    ];
    let plural = if same == 1 { "" } else { "s" };
    let mut words = format!("{same} snapshot{plural} the same");
    for (count, word) in counts.iter().filter(|(count, _)| *count > 0) {
        let word = match (*word, mode) {
            ("missing", Mode::Add | Mode::Update) => "written",
            ("extra", Mode::Update) => "removed",
            ("changed", Mode::Update) => "updated",
            (word, _) => word,
        };
        _ = write!(words, ", {count} {word}");
    }
    let what = if comparison.is_accepted(mode) { "" } else { "; accept it with --update" };
    _ = writeln!(out, "{words}{what}.");
}
