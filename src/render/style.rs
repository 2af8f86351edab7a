//! Colours. They are always written; the output stream drops them where they do not belong.

use crate::report::{Level, Verdict};
use anstyle::{AnsiColor, Effects, Style};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use std::path::Path;

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour))).effects(Effects::BOLD)
}

/// The style of a level's word.
pub const fn of_level(level: Level) -> Style {
    match level {
        Level::Error => colour(AnsiColor::Red),
        Level::Warn => colour(AnsiColor::Yellow),
        Level::Note => colour(AnsiColor::Cyan),
    }
}

/// The style of a verdict's words.
pub const fn of_verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::DoesNotFit => colour(AnsiColor::Red),
        Verdict::Fits | Verdict::NoLimit => colour(AnsiColor::Green),
        Verdict::FitsAtLeast | Verdict::Unknown => colour(AnsiColor::Yellow),
    }
}

/// What a path of a URL may not hold as it is.
const URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');

/// Headings.
pub const HEADING: Style = Style::new().effects(Effects::BOLD);

/// A line that is gone, or less than before.
pub const GONE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));

/// A line that is new.
pub const NEW: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));

/// What is there for those who look for it.
pub const DIM: Style = Style::new().effects(Effects::DIMMED);

/// A text that leads to a file, for terminals that can follow it.
pub fn link(path: &Path, text: &str) -> String {
    let path = path.to_string_lossy();
    let url = percent_encoding::utf8_percent_encode(&path, URL);
    format!("\x1b]8;;file://{url}\x1b\\{text}\x1b]8;;\x1b\\")
}

/// A text in a style.
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
