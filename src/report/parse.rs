//! What `parse` says of each text.

use crate::dump::File;
use crate::text::{self, ParseError, Strictness};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a text holds, or where it is malformed.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum TextReport {
    /// The text was read.
    Read(Contents),
    /// It was not.
    Failed(Failure),
}

/// What a text holds.
#[derive(Clone, Debug, Serialize)]
pub struct Contents {
    /// The file as it was given or found.
    pub file: String,
    /// Always true.
    pub ok: bool,
    /// The name of the module.
    pub name: String,
    /// How many computations there are, inline bodies counted.
    pub computations: usize,
    /// How many instructions there are, those that the text implies counted.
    pub instructions: usize,
    /// How many there are of each opcode.
    pub opcodes: BTreeMap<&'static str, usize>,
    /// What was odd.
    #[serde(skip)]
    pub warnings: Vec<Failure>,
}

/// Where a text is malformed or odd.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The file as it was given or found.
    pub file: String,
    /// Always false.
    pub ok: bool,
    /// The line, from 1; none where the file could not be opened.
    pub line: Option<u32>,
    /// The column in bytes, from 1.
    pub column: Option<u32>,
    /// What was expected, or what is wrong.
    pub message: String,
    /// The place in the text.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

/// A stretch of one line around a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The stretch.
    pub text: String,
    /// The byte of the place in it.
    pub at: usize,
    /// How many bytes the word at the place has.
    pub length: usize,
}

/// Reads one text, strictly.
pub fn read_text(file: &File) -> TextReport {
    let label = file.label();
    let source = match file.read() {
        Ok(source) => source,
        Err(diagnostic) => {
            let message = format!("{} ({})", diagnostic.reason, diagnostic.remedy);
            return TextReport::Failed(Failure {
                file: label.to_owned(),
                ok: false,
                line: None,
                column: None,
                message,
                excerpt: None,
            });
        }
    };
    read_bytes(label, source.bytes())
}

/// Reads the bytes of one text, strictly.
pub fn read_bytes(label: &str, bytes: &[u8]) -> TextReport {
    let parsed = text::decode(bytes).and_then(|text| text::parse_with(text, Strictness::Strict));
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return TextReport::Failed(failure(label, bytes, &error)),
    };
    let module = &parsed.module;
    let mut opcodes = BTreeMap::new();
    for instruction in &module.instructions {
        *opcodes.entry(instruction.opcode.as_str()).or_default() += 1;
    }
    let warnings = parsed.warnings.into_iter().map(|warning| {
        failure(label, bytes, &ParseError { offset: warning.offset, message: warning.message })
    });
    TextReport::Read(Contents {
        file: label.to_owned(),
        ok: true,
        name: module.full_name().into_owned(),
        computations: module.computations.len(),
        instructions: module.instructions.len(),
        opcodes,
        warnings: warnings.collect(),
    })
}

fn failure(label: &str, bytes: &[u8], error: &ParseError) -> Failure {
    let place = error.location(bytes);
    Failure {
        file: label.to_owned(),
        ok: false,
        line: Some(place.line),
        column: Some(place.column),
        message: error.message.clone(),
        excerpt: Some(excerpt(bytes, error.offset)),
    }
}

/// How many bytes of a line are shown before and behind a place. Lines of dumps reach 160 KB.
const SHOWN_BYTES: usize = 60;

/// The line of a place, cut to a stretch around it.
fn excerpt(bytes: &[u8], offset: usize) -> Excerpt {
    let offset = offset.min(bytes.len());
    let (before, behind) = bytes.split_at(offset);
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let end = memchr::memchr(b'\n', behind).map_or(bytes.len(), |newline| offset + newline);
    let from = start.max(offset.saturating_sub(SHOWN_BYTES));
    let to = end.min(offset + SHOWN_BYTES);
    let shown = |stretch: &[u8]| {
        // Control characters would move the caret.
        let text = String::from_utf8_lossy(stretch);
        text.replace(|character: char| character.is_control(), " ")
    };
    let cut = |cut: bool| if cut { "..." } else { "" };
    let head = format!("{}{}", cut(from > start), shown(&bytes[from..offset]));
    let tail = format!("{}{}", shown(&bytes[offset..to]), cut(to < end));
    let first = tail.chars().next().map_or(0, char::len_utf8);
    let word = tail.bytes().skip(first).take_while(|byte| byte.is_ascii_alphanumeric());
    let length = first + if first == 1 { word.count() } else { 0 };
    Excerpt { at: head.len(), length, text: head + &tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let mut line = "x".repeat(1000);
        line.insert_str(500, "@@@");
        let shown = excerpt(line.as_bytes(), 500);
        assert_eq!(&shown.text[shown.at..shown.at + 3], "@@@");
        assert!(shown.text.len() < 140);
        assert!(shown.text.starts_with("...") && shown.text.ends_with("..."));
    }

    #[test]
    fn the_end_of_the_text_has_an_excerpt() {
        let shown = excerpt(b"abc\n", 4);
        assert_eq!(shown, Excerpt { text: String::new(), at: 0, length: 0 });
    }
}
