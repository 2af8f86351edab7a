//! What a program's files show of the compiler release that wrote them.

use super::{Diagnostic, Program, SideKind, Source};
use crate::target::tpu::{Chip, Signs};

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
    pub fn with_text<'a>(&'a self, text: &'a str, chip: Option<Chip>) -> Signs<'a> {
        Signs {
            build: self.build,
            comp_env: self.comp_env.as_ref().and_then(|source| source.text().ok()),
            has_live_range: self.has_live_range,
            allocations_have_pages: self.allocations_have_pages,
            text: Some(text),
            chip,
        }
    }
}

impl Program {
    /// What the files show of the compiler release. Of XLA's own figures only the form counts.
    ///
    /// # Errors
    /// `tpu_comp_env.txt` cannot be read.
    pub fn compiler_signs(&self) -> Result<CompilerSigns, Diagnostic> {
        let comp_env = match self.side(SideKind::TpuCompEnv) {
            Some(file) => Some(file.read()?),
            None => None,
        };
        // A report without live ranges beside it; a lone text says nothing.
        let has_live_range = self
            .side(SideKind::MemoryUsageReport)
            .map(|_| self.side(SideKind::LiveRange).is_some());
        Ok(CompilerSigns {
            build: self.build,
            comp_env,
            has_live_range,
            allocations_have_pages: self.side(SideKind::BufferAssignment).and_then(|file| {
                let head = String::from_utf8_lossy(&file.head()).into_owned();
                let first = head.lines().find(|line| line.starts_with("allocation "))?;
                Some(first.contains(", page "))
            }),
        })
    }
}
