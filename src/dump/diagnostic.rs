//! What could not be read, and what to do about it.

use serde::Serialize;
use std::fmt;
use std::io;

/// An input that could not be read. The rest is still analysed; the run fails at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The path as it was given or found; `archive!entry` inside an archive; `<stdin>`.
    pub path: String,
    /// The line, counted from 1, where there is one.
    pub line: Option<u64>,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

impl Diagnostic {
    /// Something wrong with a whole file.
    pub fn new(path: &str, reason: impl Into<String>, remedy: impl Into<String>) -> Diagnostic {
        Diagnostic { path: path.into(), line: None, reason: reason.into(), remedy: remedy.into() }
    }

    /// The same, at a line.
    pub fn at_line(mut self, line: u64) -> Diagnostic {
        self.line = Some(line);
        self
    }

    pub(super) fn io(path: &str, error: &io::Error) -> Diagnostic {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "make the file readable for this user",
            io::ErrorKind::FileTooLarge => "give a smaller text: one module's",
            io::ErrorKind::IsADirectory => "give a file",
            _ => "check that the disk is there and the file is whole",
        };
        Diagnostic::new(path, format!("cannot be read: {error}"), remedy)
    }

    pub(super) fn packed(path: &str, error: &io::Error) -> Diagnostic {
        let remedy = match error.kind() {
            io::ErrorKind::FileTooLarge => "unpack it and give what is needed of it",
            io::ErrorKind::UnexpectedEof => "the file is cut off: copy or download it again",
            _ => "copy or download it again, or give it unpacked",
        };
        Diagnostic::new(path, format!("cannot be unpacked: {error}"), remedy)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {} ({})", self.reason, self.remedy)
    }
}
