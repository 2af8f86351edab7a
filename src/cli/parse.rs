//! `hlolint parse`.

use super::exit::Exit;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `hlolint parse`.
#[derive(Debug, Args)]
pub struct ParseArgs {
    /// Dump directories, files, or `-`.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &ParseArgs) -> Exit {
    Exit::Failed
}
