//! What a program's files show of the compiler release that wrote them.

use super::{Program, SideKind, Source};
use crate::target::tpu::{Chip, RELEASES, Signs};

/// Signs of the compiler release; see [`Signs`].
#[derive(Debug)]
pub struct CompilerSigns {
    build: Option<u64>,
    comp_env: Option<Source>,
    has_live_range: Option<bool>,
    allocations_have_pages: Option<bool>,
}

impl CompilerSigns {
    /// The signs together with those of the analysed text.
    pub fn with_text<'a>(&'a self, text: Option<&'a str>, chip: Option<Chip>) -> Signs<'a> {
        Signs {
            build: self.build,
            comp_env: self.comp_env.as_ref().and_then(|source| source.text().ok()),
            has_live_range: self.has_live_range,
            allocations_have_pages: self.allocations_have_pages,
            text,
            chip,
        }
    }
}

impl Program {
    /// What the files show of the compiler release. Of XLA's own figures only the form counts.
    pub fn compiler_signs(&self) -> CompilerSigns {
        let is_known = |build: u64| RELEASES.iter().any(|release| release.build == build);
        // A known build says everything; without it, a file that cannot be read is one sign less.
        let comp_env = match self.build.is_some_and(is_known) {
            true => None,
            false => self.side(SideKind::TpuCompEnv).and_then(|file| file.read().ok()),
        };
        let report = self.side(SideKind::MemoryUsageReport);
        CompilerSigns {
            build: self.build,
            comp_env,
            has_live_range: report.map(|_| self.side(SideKind::LiveRange).is_some()),
            allocations_have_pages: self.side(SideKind::BufferAssignment).and_then(|file| {
                let head = String::from_utf8_lossy(&file.head()).into_owned();
                let first = head.lines().find(|line| line.starts_with("allocation "))?;
                Some(first.contains(", page "))
            }),
        }
    }
}
