//! Paths in; the programs found there, with their texts and side files, out.
//!
//! [`open()`] reads directories, texts, `-` for stdin, gzip, and `tar` and `zip` archives in place. A
//! [`Program`] is one compile: its files share a prefix. The text that is analysed is
//! `after_optimizations` or a copy of it, else `after_codegen`, else the one before buffer
//! assignment, else what is there. What cannot be read is a [`Diagnostic`], what should be there and
//! is not a [`Missing`]; the rest is returned all the same.

mod archive;
mod backend;
mod diagnostic;
mod find;
mod missing;
#[cfg(feature = "mmap")]
mod mmap;
mod name;
pub(crate) mod parallel;
mod program;
mod renumbered;

pub mod side;
mod signs;
mod source;

pub use backend::backend_of;
pub use diagnostic::Diagnostic;
pub use missing::{Missing, MissingKind};
pub use name::{Content, FileName, SideKind, Stage, is_archive};
pub use program::{Gpu, Program};
pub use signs::CompilerSigns;
pub use source::{File, Limits, Source};

use globset::GlobSet;
use std::path::PathBuf;

/// What is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only modules whose names match.
    pub modules: Option<GlobSet>,
    /// What an input may cost.
    pub limits: Limits,
}

/// Everything found under some paths.
#[derive(Debug, Default)]
pub struct Dump {
    /// The programs, each distinct one once, in the order of the paths and names.
    pub programs: Vec<Program>,
    /// What should be there and is not.
    pub missing: Vec<Missing>,
    /// What could not be read.
    pub diagnostics: Vec<Diagnostic>,
}

/// Finds and reads the programs under some paths.
pub fn open(paths: &[PathBuf], options: &Options) -> Dump {
    let findings = find::find(paths, &options.limits);
    let mut dump = Dump {
        missing: findings.tallies.iter().filter_map(Missing::of_input).collect(),
        diagnostics: findings.diagnostics,
        programs: Vec::new(),
    };
    let loaded = program::load(findings.found, options.modules.as_ref());
    if loaded.programs.is_empty() && loaded.filtered > 0 {
        let path = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
        dump.missing.push(Missing { path, kind: MissingKind::FilteredOut });
    }
    dump.programs = loaded.programs;
    dump.missing.extend(loaded.missing);
    dump.diagnostics.extend(loaded.diagnostics);
    dump
}

/// HLO texts, each on its own.
#[derive(Debug, Default)]
pub struct Texts {
    /// The texts, in the order of the paths and names. A path that was given is there whatever it
    /// holds; of a directory or archive the files that are HLO texts.
    pub files: Vec<File>,
    /// Directories and archives without a text.
    pub missing: Vec<Missing>,
    /// What could not be read.
    pub diagnostics: Vec<Diagnostic>,
}

/// Finds the texts under some paths, without putting together what belongs together.
pub fn texts(paths: &[PathBuf], options: &Options) -> Texts {
    let findings = find::find_each(paths, &options.limits);
    Texts {
        missing: findings.tallies.iter().filter_map(Missing::of_input).collect(),
        diagnostics: findings.diagnostics,
        files: findings
            .found
            .into_iter()
            .filter(|found| found.is_named || !matches!(found.parsed().content, Content::Side(_)))
            .map(|found| found.file)
            .collect(),
    }
}
