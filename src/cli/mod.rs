//! The command line: one file a command, arguments in, exit code out. No analysis here.

mod args;
mod baseline;
mod check;
mod completions;
mod config;
mod diff;
mod exit;
mod format;
mod judge;
mod man;
mod output;
mod parse;
mod print;
mod progress;
mod report;
mod rules;
mod select;
mod snapshot;
mod target;
mod triage;
mod verify;
mod vmem;

use crate::dump;
use args::{Args, Command};
use clap::Parser;
use std::path::Path;
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
        Command::Snapshot(args) => snapshot::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Triage(args) => triage::run(args),
        Command::Rules(args) => rules::list(args),
        Command::Explain(args) => rules::run(args),
        Command::Vmem(args) => vmem::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    };
    match exit {
        Ok(exit) => exit,
        Err(message) => {
            complain(&message);
            exit::Exit::Failed
        }
    }
    .into()
}

/// Says on the error stream what went wrong.
fn complain(message: &str) {
    output::eprint(&format!("error: {message}\n"));
}

/// The text of a log, which may be packed or come from stdin.
///
/// # Errors
/// Why it cannot be read.
fn log(path: &Path) -> Result<dump::Source, dump::Diagnostic> {
    let texts = dump::texts(&[path.to_owned()], &dump::Options::default());
    if let Some(diagnostic) = texts.diagnostics.into_iter().next() {
        return Err(diagnostic);
    }
    match texts.files.as_slice() {
        [file] => file.read(),
        _ => Err(dump::Diagnostic::new(
            &path.display().to_string(),
            "not one text",
            "give the log itself",
        )),
    }
}
