//! `hlolint check`.

use super::exit::Exit;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `hlolint check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Dump directories, files, or `-`.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &CheckArgs) -> Exit {
    Exit::Failed
}
