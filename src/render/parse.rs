//! What `parse` says, for a person and for a machine.

use super::excerpt::{self, Place};
use crate::report::parse::{Contents, Failure, TextReport};
use annotate_snippets::Level;

/// One line for a text that was read.
pub fn contents(contents: &Contents) -> String {
    let Contents { file, name, computations, instructions, .. } = contents;
    format!("{file}: module {name}, {computations} computations, {instructions} instructions\n")
}

/// The place of an error with a caret.
pub fn error(failure: &Failure) -> String {
    shown(failure, Level::ERROR)
}

/// The place of something odd with a caret.
pub fn warning(failure: &Failure) -> String {
    shown(failure, Level::WARNING)
}

fn shown(failure: &Failure, level: Level<'_>) -> String {
    let (Some(line), Some(column)) = (failure.line, failure.column) else {
        return format!("error: {}: {}\n", failure.file, failure.message);
    };
    let place = Place { file: &failure.file, line, column };
    let excerpt = failure.excerpt.clone().unwrap_or_default();
    excerpt::titled(&failure.message, level, place, &excerpt)
}

/// One line of JSON for a text.
///
/// # Errors
/// What the serialiser says.
pub fn json_line(report: &TextReport) -> Result<String, serde_json::Error> {
    serde_json::to_string(report).map(|line| line + "\n")
}
