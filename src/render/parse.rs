//! What `parse` says, for a person and for a machine.

use crate::report::parse::{Contents, Failure, TextReport};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt::Write;

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
        let mut text = String::new();
        _ = writeln!(text, "error: {}: {}", failure.file, failure.message);
        return text;
    };
    let excerpt = failure.excerpt.clone().unwrap_or_default();
    let group = level.primary_title(failure.message.as_str()).element(
        Snippet::source(excerpt.text.as_str())
            .path(failure.file.as_str())
            .line_start(line as usize)
            .annotation(AnnotationKind::Primary.span(excerpt.at..excerpt.at + excerpt.length)),
    );
    let text = Renderer::styled().render(&[group]);
    // The renderer counts characters of the excerpt; the place is in bytes of the whole line.
    let shown_column = excerpt.text.get(..excerpt.at).unwrap_or("").chars().count() + 1;
    let place = |column: usize| format!("{}:{line}:{column}", failure.file);
    format!("{}\n", text.replacen(&place(shown_column), &place(column as usize), 1))
}

/// One line of JSON for a text.
///
/// # Errors
/// What the serialiser says.
pub fn json_line(report: &TextReport) -> Result<String, serde_json::Error> {
    serde_json::to_string(report).map(|line| line + "\n")
}
