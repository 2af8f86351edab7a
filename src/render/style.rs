//! Colours. They are always written; the output stream drops them where they do not belong.

use crate::report::{Level, Verdict};
use anstyle::{AnsiColor, Effects, Style};

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

/// Headings.
pub const HEADING: Style = Style::new().effects(Effects::BOLD);

/// What is there for those who look for it.
pub const DIM: Style = Style::new().effects(Effects::DIMMED);

/// A text in a style.
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
