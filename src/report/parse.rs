//! What `parse` says of each text.

use crate::dump::File;
use crate::text::{self, Excerpt, ParseError, Strictness, excerpt};
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
