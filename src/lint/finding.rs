//! A finding: what a rule says, with everything an output may need.

use crate::memory::{BufferId, Edit};
use crate::text::Excerpt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad a finding is. Ordered: a note is the least.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Note,
    /// Costs memory that matters.
    Warn,
    /// The program does not compile or does not run.
    Error,
}

impl Level {
    /// The word that outputs print.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The figures are the compiler's own, to the byte.
    Exact,
    /// The figures come from rules that are known to differ somewhere.
    Estimate,
    /// A pattern that usually means what the message says.
    Heuristic,
}

/// Where the figures of a finding come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// This tool's model of the compiler.
    Model,
    /// XLA recorded them in the dump.
    Recorded,
}

/// The page of OpenXLA's error catalogue that speaks of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reference {
    /// The code, `E1000` or `E1001`.
    pub code: &'static str,
    /// The section of the page.
    pub section: &'static str,
}

impl Reference {
    /// The code and section in one line.
    pub fn text(self) -> String {
        format!("{}, {}", self.code, self.section)
    }
}

/// One thing to do, in the order in which to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remedy {
    /// What to do.
    pub action: String,
    /// HBM bytes that the program then needs, by a re-run of the model; `None` where the model
    /// cannot tell.
    pub required_bytes_after: Option<u64>,
    /// Whether the program needs at most that (what else shrinks is the compiler's business).
    pub at_most: bool,
    /// What computing values again may need on top of it, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recomputed_bytes: Option<u64>,
    /// The change to what is in memory that stands behind the figure.
    #[serde(skip)]
    pub edits: Vec<Edit>,
}

impl Remedy {
    /// A remedy without a figure.
    pub fn new(action: impl Into<String>) -> Remedy {
        Remedy {
            action: action.into(),
            required_bytes_after: None,
            at_most: false,
            recomputed_bytes: None,
            edits: Vec::new(),
        }
    }
}

/// A line of the user's program.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Source {
    /// The file as the dump names it.
    pub file: String,
    /// The line.
    pub line: i32,
    /// The function; empty where the dump does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Whether the line is that of the data's origin and not the instruction's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
}

impl Source {
    /// Whether it lies in the user's files and not in installed packages.
    pub fn is_own(&self) -> bool {
        is_own_file(&self.file)
    }
}

/// Whether a file is the user's and not one of installed packages.
pub(super) fn is_own_file(file: &str) -> bool {
    let foreign = ["site-packages", "dist-packages", "<frozen", "<string>"];
    !foreign.iter().any(|part| file.contains(part))
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        write!(f, "{name}:{}", self.line)
    }
}

/// A place in the HLO text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Location {
    /// The file, as it was found.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in bytes.
    pub column: u32,
    /// The stretch of the line around it, for a terminal.
    #[serde(skip)]
    pub excerpt: Excerpt,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// How bad it is, materiality counted in.
    pub level: Level,
    /// How sure it is.
    pub confidence: Confidence,
    /// What was found, with its numbers; lower case, no full stop.
    pub message: String,
    /// Further lines: tables and facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What to do, in one line.
    pub help: String,
    /// What to do, one by one.
    pub remedies: Vec<Remedy>,
    /// The page that speaks of it.
    pub reference: Reference,
    /// The module's name.
    pub module: String,
    /// The instruction.
    pub instruction: Option<String>,
    /// The framework's name of the operation.
    pub op_name: Option<String>,
    /// The line of the user's program.
    pub source: Option<Source>,
    /// The instruction in the text.
    pub location: Option<Location>,
    /// The shape the finding is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// What is wasted or held.
    pub bytes: u64,
    /// Whether it is a warning at any size.
    #[serde(skip)]
    pub is_urgent: bool,
    /// HBM bytes that the program needs now.
    pub required_bytes: u64,
    /// Required HBM bytes now, less those after the first remedy that has a figure.
    pub saving_bytes: Option<u64>,
    /// Where the figures come from.
    pub provenance: Provenance,
    /// The buffers it is about.
    #[serde(skip)]
    pub buffers: Vec<BufferId>,
    /// The arguments that its buffers are copies of: what makes those smaller makes the copies smaller.
    #[serde(skip)]
    pub copies_of: Vec<BufferId>,
    /// Other rules that match the same bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_seen: Vec<String>,
    /// The one mistake behind this and findings of other rules, where the rule knows it.
    #[serde(skip)]
    pub mistake: Option<&'static str>,
    /// Stays the same when instructions are renumbered.
    pub fingerprint: String,
}

impl Finding {
    /// The file of the text it is about.
    pub fn file(&self) -> Option<&str> {
        self.location.as_ref().map(|location| location.file.as_str())
    }
}
