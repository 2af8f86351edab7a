//! Where settings come from: hlolint.toml, then the command line, which comes before it.

use super::output;
use crate::config::{self, FILE_NAME, File, find_upward};
use crate::lint::known_rules;
use crate::render;
use crate::report::Diagnostic;
use clap::Args;
use std::path::{Path, PathBuf};

/// The configuration file.
#[derive(Debug, Args)]
pub struct ConfigFile {
    /// The configuration, instead of the nearest hlolint.toml in the working directory and those around
    /// it.
    #[arg(long, value_name = "FILE", conflicts_with = "isolated")]
    config: Option<PathBuf>,

    /// Read no configuration.
    #[arg(long)]
    isolated: bool,
}

/// A configuration, and where it stands.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The file, seen from the working directory; `None` where there is none.
    pub path: Option<PathBuf>,
    /// What it says.
    pub file: File,
}

impl Loaded {
    /// The baseline that it names, seen from the working directory.
    pub fn baseline(&self) -> Option<PathBuf> {
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        self.file.baseline.as_ref().map(|baseline| folder.join(baseline))
    }
}

impl ConfigFile {
    /// Finds and reads the configuration; says on the error stream what is wrong with it.
    ///
    /// # Errors
    /// That it cannot be read, or is wrong.
    pub fn load(&self) -> Result<Loaded, String> {
        let Some(path) = self.config.clone().or_else(|| self.nearest()) else {
            return Ok(Loaded::default());
        };
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        match config::read(&name, &text, &known_rules()) {
            Ok(file) => Ok(Loaded { path: Some(path), file }),
            Err(errors) => {
                let said: Vec<Diagnostic> = errors
                    .into_iter()
                    .map(|error| Diagnostic {
                        failed: true,
                        file: name.clone(),
                        line: Some(error.place.line),
                        column: Some(error.place.column),
                        message: error.message,
                        help: error.help,
                        excerpt: Some(crate::text::excerpt(text.as_bytes(), error.offset)),
                    })
                    .collect();
                output::eprint(&render::text::diagnostics(&said));
                Err(format!("{name} is wrong in {} places: nothing was done", said.len())
                    .replace("in 1 places", "in 1 place"))
            }
        }
    }

    /// The nearest file, as seen from the working directory: `hlolint.toml`, `../hlolint.toml`.
    fn nearest(&self) -> Option<PathBuf> {
        if self.isolated {
            return None;
        }
        let here = std::env::current_dir().ok()?;
        let found = find_upward(&here)?;
        let folder = found.parent()?;
        let steps = here.strip_prefix(folder).ok()?.components().count();
        Some(Path::new("").join("../".repeat(steps)).join(FILE_NAME))
    }
}
