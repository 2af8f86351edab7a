//! The command line: one file a command, arguments in, exit code out. No analysis here.

mod args;
mod check;
mod exit;
mod parse;
mod print;
mod verify;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let args = Args::parse();
    match &args.command {
        Command::Parse(args) => parse::run(args),
        Command::Print(args) => print::run(args),
        Command::Check(args) => check::run(args),
        Command::Verify(args) => verify::run(args),
    }
    .into()
}
