//! The exit codes, the same for every command and format.

use crate::report::Diagnostic;

/// How a run ended. Where several apply, the one that stands first here wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Wrong usage, or an input that could not be read (what could be read was still analysed).
    Failed = 2,
    /// A finding at or above the threshold; figures that differ; a gate that did not hold.
    Findings = 1,
    /// No HLO was found.
    NoHlo = 3,
    /// All is well.
    Clean = 0,
}

impl Exit {
    /// The exit of a command that reads programs: whether an input could not be read, whether
    /// something was found, how many programs there were.
    pub fn of(diagnostics: &[Diagnostic], found: bool, programs: usize) -> Exit {
        if diagnostics.iter().any(|diagnostic| diagnostic.failed) {
            Exit::Failed
        } else if found {
            Exit::Findings
        } else if programs == 0 {
            Exit::NoHlo
        } else {
            Exit::Clean
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}
