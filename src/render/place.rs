//! Where a finding is shown: on the user's line where it is known, else in the HLO text.

use crate::report::{Finding, Sources};

/// A file and a line of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// The path, from the working directory where the file lies there.
    pub(super) path: &'a str,
    /// The line, from 1.
    pub(super) line: u32,
}

/// The user's line.
pub(super) fn of_source<'a>(finding: &'a Finding, sources: &'a Sources) -> Option<Place<'a>> {
    let source = finding.source.as_ref().filter(|source| !source.file.is_empty())?;
    let line = u32::try_from(source.line).unwrap_or(1).max(1);
    Some(Place { path: sources.path(&source.file), line })
}

/// The line of the HLO text.
pub(super) fn of_text<'a>(finding: &'a Finding, sources: &'a Sources) -> Option<Place<'a>> {
    let location = finding.location.as_ref()?;
    Some(Place { path: sources.path(&location.file), line: location.line.max(1) })
}

/// The first of the two that is known.
pub(super) fn of<'a>(finding: &'a Finding, sources: &'a Sources) -> Option<Place<'a>> {
    of_source(finding, sources).or_else(|| of_text(finding, sources))
}
