//! `hlolint completions`: what a shell needs to complete commands and options.

use super::exit::Exit;
use super::output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Arguments of `hlolint completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  hlolint completions bash > ~/.local/share/bash-completion/completions/hlolint")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &CompletionsArgs) -> Result<Exit, String> {
    let mut script = Vec::new();
    let mut command = super::args::Args::command();
    clap_complete::generate(args.shell, &mut command, "hlolint", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Ok(Exit::Clean)
}
