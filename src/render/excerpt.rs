//! A place in a HLO text with a caret under it.

use crate::report::Excerpt;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Where something is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// The file as it was given or found.
    pub(super) file: &'a str,
    /// The line, from 1.
    pub(super) line: u32,
    /// The column in bytes, from 1.
    pub(super) column: u32,
}

/// A message and its place.
pub(super) fn titled(
    message: &str,
    level: Level<'_>,
    place: Place<'_>,
    excerpt: &Excerpt,
) -> String {
    render(level.primary_title(message).element(snippet(place, excerpt)), place, excerpt)
}

/// A place alone.
pub(super) fn bare(place: Place<'_>, excerpt: &Excerpt) -> String {
    render(Group::with_level(Level::NOTE).element(snippet(place, excerpt)), place, excerpt)
}

fn snippet<'a>(
    place: Place<'a>,
    excerpt: &'a Excerpt,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    Snippet::source(excerpt.text.as_str())
        .path(place.file)
        .line_start(place.line as usize)
        .annotation(AnnotationKind::Primary.span(excerpt.at..excerpt.at + excerpt.length))
}

fn render(group: Group<'_>, place: Place<'_>, excerpt: &Excerpt) -> String {
    let text = Renderer::styled().render(&[group]);
    // The renderer counts characters of the excerpt; the place is in bytes of the whole line.
    let shown_column = excerpt.text.get(..excerpt.at).unwrap_or("").chars().count() + 1;
    let named = |column: usize| format!("{}:{}:{column}", place.file, place.line);
    format!("{}\n", text.replacen(&named(shown_column), &named(place.column as usize), 1))
}
