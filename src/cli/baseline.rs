//! Baselines on the command line: which one is compared with, which one is written.

use super::output;
use crate::report::baseline::Baseline;
use crate::report::check::CheckReport;
use clap::Args;
use std::path::{Path, PathBuf};

/// Baselines.
#[derive(Debug, Args)]
pub struct Baselines {
    /// Findings that stand in this file are known and stay silent.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Take out of the baseline what is gone. It never grows.
    #[arg(long)]
    update_baseline: bool,

    /// Write all findings to a baseline, and let none of them make the run fail.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline", "update_baseline"])]
    write_baseline: Option<PathBuf>,
}

/// A baseline that was read.
#[derive(Debug)]
pub struct Known {
    path: PathBuf,
    baseline: Baseline,
}

impl Baselines {
    /// Reads the baseline; `configured` is the one that the configuration names.
    ///
    /// # Errors
    /// That it cannot be read, or that there is none to update.
    pub fn read(&self, configured: Option<PathBuf>) -> Result<Option<Known>, String> {
        if self.write_baseline.is_some() {
            return Ok(None);
        }
        let Some(path) = self.baseline.clone().or(configured) else {
            return match self.update_baseline {
                true => {
                    Err("--update-baseline without a baseline: name it with --baseline".to_owned())
                }
                false => Ok(None),
            };
        };
        let failed = |message: String| format!("{}: {message}", path.display());
        let unread = |error| failed(format!("{error}; --write-baseline writes one"));
        let text = std::fs::read_to_string(&path).map_err(unread)?;
        let baseline = Baseline::read(&text).map_err(failed)?;
        Ok(Some(Known { path, baseline }))
    }

    /// Takes known findings out of a report, and writes what was asked for. Says whether all findings
    /// are known now.
    ///
    /// # Errors
    /// Why a file was not written.
    pub fn apply(&self, known: Option<&Known>, report: &mut CheckReport) -> Result<bool, String> {
        let is_whole = !report.diagnostics.iter().any(|diagnostic| diagnostic.failed);
        if let Some(Known { path, baseline }) = known {
            let (left, gone) = baseline.apply(report, &path.display().to_string());
            if gone.is_some() && self.update_baseline {
                write(path, &left, is_whole)?;
                let gone = baseline.len() - left.len();
                output::eprint(&format!("{}: {gone} fewer, {} left\n", path.display(), left.len()));
            } else {
                report.diagnostics.extend(gone);
            }
        }
        let Some(path) = &self.write_baseline else { return Ok(false) };
        let baseline = Baseline::of(report);
        write(path, &baseline, is_whole)?;
        output::eprint(&format!("{}: {} findings\n", path.display(), baseline.len()));
        Ok(true)
    }
}

/// A baseline of half the inputs would lack the other half.
fn write(path: &Path, baseline: &Baseline, is_whole: bool) -> Result<(), String> {
    if !is_whole {
        return Err(format!("{} is not written: an input could not be read", path.display()));
    }
    let text = crate::render::json::pretty(baseline).map_err(|error| error.to_string())?;
    output::write_file(path, &text)
}
