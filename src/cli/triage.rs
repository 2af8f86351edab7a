//! `hlolint triage`: explains an error text or a compile log.

use super::config::ConfigFile;
use super::exit::Exit;
use super::select::Machine;
use super::{output, progress};
use crate::dump::{self, Options};
use crate::render;
use crate::report::triage::{TriageReport, triage};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `hlolint triage`.
#[derive(Debug, Args)]
#[command(mut_group("Machine", |group| group.requires("dump")), after_help = "\
Exit codes: 0 a failure was recognised and explained, or the log of a compile that worked; 2 nothing
known in the text, or it could not be read.

Example:
  python train.py 2>&1 | tee train.log
  hlolint triage train.log
  hlolint triage train.log --dump /tmp/dump")]
pub struct TriageArgs {
    /// The log or the pasted error, or `-` for stdin.
    log: PathBuf,

    /// The dump of the same run: names the instructions behind the message, and checks the programs.
    #[arg(long, value_name = "PATH")]
    dump: Option<PathBuf>,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    config: ConfigFile,

    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// For a machine: `hlolint.triage/1`.
    Json,
}

/// Runs the command.
pub fn run(args: &TriageArgs) -> Result<Exit, String> {
    let source = super::log(&args.log).map_err(|diagnostic| diagnostic.to_string())?;
    let dump =
        args.dump.as_ref().map(|path| dump::open(std::slice::from_ref(path), &Options::default()));
    let programs = dump.as_ref().map_or(0, |dump| dump.programs.len());
    let progress = progress::bar(programs, "programs");
    let settings = args.machine.over(args.config.load()?.file.settings);
    let report = triage(source.label(), source.bytes(), dump.as_ref(), &settings, &|| {
        progress.inc(1);
    });
    progress.finish_and_clear();
    if let Some(check) = &report.check {
        output::eprint(&render::text::diagnostics(&check.diagnostics));
    }
    match args.format {
        Format::Text => output::print(&render::triage::text(&report)),
        Format::Json => output::print_json(&report)?,
    }
    Ok(exit(&report))
}

fn exit(report: &TriageReport) -> Exit {
    let unread = report
        .check
        .as_ref()
        .is_some_and(|check| check.diagnostics.iter().any(|diagnostic| diagnostic.failed));
    if unread || !report.log.is_recognised { Exit::Failed } else { Exit::Clean }
}
