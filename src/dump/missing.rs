//! What was found in an input in; what is missing there, in words, out.

use super::find::Tally;
use serde::Serialize;
use std::fmt;

/// Why an input gave no program, or not the text that carries memory figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingKind {
    /// The directory or archive has no file.
    Empty,
    /// It has files, none of them of XLA.
    NotADump,
    /// Modules were dumped as binary protos only.
    OnlyProtos,
    /// Only texts between passes.
    OnlyPasses,
    /// Only settings and side files: no module matched, or the compile was a cache hit.
    NoTexts,
    /// Only archives: they are read when they are named.
    OnlyArchives,
    /// A filter left nothing over.
    FilteredOut,
    /// The module's optimised text is missing; only the one handed to the compiler is there.
    NotOptimised,
}

/// Something missing, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The input, or the module's text.
    pub path: String,
    /// What is missing.
    pub kind: MissingKind,
}

const FLAGS: &str = "set XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\" before the process \
                     imports its framework, and let it compile";
const CACHE: &str = "a hit in the compilation cache dumps little or nothing: clear \
                     JAX_COMPILATION_CACHE_DIR or turn it off for this run";

impl Missing {
    /// What to do.
    pub fn help(&self) -> String {
        match self.kind {
            MissingKind::Empty | MissingKind::NotADump => format!("{FLAGS}; {CACHE}"),
            MissingKind::OnlyProtos => {
                "add --xla_dump_hlo_as_text to XLA_FLAGS and compile again".into()
            }
            MissingKind::OnlyPasses => {
                "give one of these texts by its path, or dump without --xla_dump_hlo_pass_re".into()
            }
            MissingKind::NoTexts => {
                format!("{FLAGS}; --xla_dump_hlo_module_re must match the module's name; {CACHE}")
            }
            MissingKind::OnlyArchives => "give the archives by their paths".into(),
            MissingKind::FilteredOut => "check the pattern of --module".into(),
            MissingKind::NotOptimised => format!(
                "the compile may have failed early; leave out --xla_dump_max_hlo_modules, which \
                 counts stages as well as modules; {CACHE}"
            ),
        }
    }

    /// One of each kind, the first, with how many there are.
    pub fn by_kind(all: &[Missing]) -> Vec<(&Missing, usize)> {
        let mut kinds: Vec<(&Missing, usize)> = Vec::new();
        for missing in all {
            match kinds.iter_mut().find(|(first, _)| first.kind == missing.kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((missing, 1)),
            }
        }
        kinds
    }

    /// What is missing in an input that gave no program.
    pub(super) fn of_input(tally: &Tally) -> Option<Missing> {
        if !tally.is_container || tally.texts > 0 {
            return None;
        }
        let kind = if tally.files == 0 {
            MissingKind::Empty
        } else if tally.protos > 0 {
            MissingKind::OnlyProtos
        } else if tally.passes > 0 {
            MissingKind::OnlyPasses
        } else if tally.of_xla > 0 || tally.sides > 0 {
            MissingKind::NoTexts
        } else if tally.archives > 0 {
            MissingKind::OnlyArchives
        } else {
            MissingKind::NotADump
        };
        Some(Missing { path: tally.path.clone(), kind })
    }
}

impl fmt::Display for MissingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MissingKind::Empty => "no file here",
            MissingKind::NotADump => "no HLO text here",
            MissingKind::OnlyProtos => "binary protos only, no HLO text",
            MissingKind::OnlyPasses => "only texts between passes, which are not what was compiled",
            MissingKind::NoTexts => "files of XLA, but no HLO text",
            MissingKind::OnlyArchives => "only archives here",
            MissingKind::FilteredOut => "no module of that name",
            MissingKind::NotOptimised => {
                "only the text handed to the compiler: no schedule, no memory figures of XLA"
            }
        })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind)
    }
}
