//! What went wrong with an input, as every command says it.

use crate::dump;
use crate::text::Excerpt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that went wrong with an input, or that a reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// Whether the input could not be read or only needs a word.
    pub failed: bool,
    /// The file or folder.
    pub file: String,
    /// 1-based line, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based column in bytes, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
    /// The place in the text, for a terminal.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

impl From<dump::Diagnostic> for Diagnostic {
    fn from(found: dump::Diagnostic) -> Self {
        Diagnostic {
            failed: true,
            file: found.path,
            line: found.line.and_then(|line| u32::try_from(line).ok()),
            column: None,
            message: found.reason,
            help: found.remedy,
            excerpt: None,
        }
    }
}
