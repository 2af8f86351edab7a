//! The command line: one file a command, arguments in, exit code out. No analysis here.

mod args;
mod check;
mod exit;
mod output;
mod parse;
mod print;
mod progress;
mod report;
mod triage;
mod verify;

use crate::target::Chip;
use crate::target::tpu::RuleSet;
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
        Command::Report(args) => report::run(args),
        Command::Triage(args) => triage::run(args),
    }
    .into()
}

/// Says on the error stream what was used wrongly.
fn usage_error(message: &str) -> exit::Exit {
    output::eprint(&format!("error: {message}\n"));
    exit::Exit::Failed
}

/// The patterns of `--module`; `None` where there is none.
///
/// # Errors
/// What is wrong with a pattern.
fn globs(patterns: &[String]) -> Result<Option<globset::GlobSet>, String> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut set = globset::GlobSetBuilder::new();
    for pattern in patterns {
        set.add(globset::Glob::new(pattern).map_err(|error| format!("--module {error}"))?);
    }
    set.build().map(Some).map_err(|error| format!("--module {error}"))
}

/// The chip that a value of `--chip` names.
fn chip(name: &str) -> Result<Chip, String> {
    Chip::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Chip::all().map(Chip::name).collect();
        format!("no such chip; one of {}", names.join(", "))
    })
}

/// The rules that a value of `--compiler` names.
fn compiler(version: &str) -> Result<RuleSet, String> {
    RuleSet::of_version(version).ok_or_else(|| "not a version: write one like 0.0.42.1".to_owned())
}
