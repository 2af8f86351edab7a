//! `hlolint print`.

use super::exit::Exit;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `hlolint print`.
#[derive(Debug, Args)]
pub struct PrintArgs {
    /// Dump directories, files, or `-`.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &PrintArgs) -> Exit {
    Exit::Failed
}
