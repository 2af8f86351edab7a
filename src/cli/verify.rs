//! `hlolint verify`.

use super::exit::Exit;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `hlolint verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Dump directories, files, or `-`.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &VerifyArgs) -> Exit {
    Exit::Failed
}
