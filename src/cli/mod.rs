//! The command line: one file a command, arguments in, exit code out. No analysis here.

mod args;
mod baseline;
mod check;
mod config;
mod exit;
mod judge;
mod output;
mod parse;
mod print;
mod progress;
mod report;
mod rules;
mod select;
mod triage;
mod verify;
mod vmem;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

/// Runs the command line of this process. A command fails with a message where it was used wrongly or
/// cannot go on.
pub fn main() -> ExitCode {
    let args = Args::parse();
    let exit = match &args.command {
        Command::Parse(args) => parse::run(args),
        Command::Print(args) => print::run(args),
        Command::Check(args) => check::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Report(args) => report::run(args),
        Command::Triage(args) => triage::run(args),
        Command::Rules(args) => rules::list(args),
        Command::Explain(args) => rules::run(args),
        Command::Vmem(args) => vmem::run(args),
    };
    match exit {
        Ok(exit) => exit,
        Err(message) => {
            output::eprint(&format!("error: {message}\n"));
            exit::Exit::Failed
        }
    }
    .into()
}
