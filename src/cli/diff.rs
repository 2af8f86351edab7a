//! `hlolint diff`: what changed between two dumps.

use super::config::ConfigFile;
use super::exit::Exit;
use super::select::{Machine, Modules};
use super::{output, progress};
use crate::config::{Allowance, Settings};
use crate::dump::{self, Options};
use crate::render;
use crate::report::diff::{self, Side};
use crate::report::report;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Arguments of `hlolint diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Buffers are matched by operation, opcode and shape, not by the names of instructions; modules by
name, else by their arguments.

Exit codes: 0 compared; 1 a module grew by more than --max-increase; 2 wrong usage, or an input that
could not be read; 3 a side has no HLO.

Example:
  hlolint diff /tmp/dump-before /tmp/dump-after --max-increase 2%
  hlolint report /tmp/dump --format json > before.json    # keep the report instead of the dump
  hlolint diff before.json /tmp/dump --format md")]
pub struct DiffArgs {
    /// The old side: a dump directory, a HLO text, an archive, or a report saved as JSON.
    old: PathBuf,

    /// The new side, the same.
    new: PathBuf,

    #[command(flatten)]
    modules: Modules,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    config: ConfigFile,

    /// What a module may require more than before: `2%`, or a size like `256MiB`.
    #[arg(long, value_name = "ALLOWANCE")]
    max_increase: Option<Allowance>,

    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// For a machine: `hlolint.diff/1`, every buffer that changed.
    Json,
    /// For a comment on a pull request.
    Md,
}

/// Runs the command.
pub fn run(args: &DiffArgs) -> Result<Exit, String> {
    let settings = args.machine.over(args.config.load()?.file.settings);
    let old = side(&args.old, &args.modules, &settings)?;
    let new = side(&args.new, &args.modules, &settings)?;
    let least = old.modules.len().min(new.modules.len());
    let mut report = diff::diff(old, new);
    report.gate = args.max_increase.map(|allowance| diff::gate(&report, allowance));
    output::eprint(&render::text::diagnostics(&report.diagnostics));
    match args.format {
        Format::Text => output::print(&render::diff::text(&report)),
        Format::Md => output::print(&render::diff::markdown(&report)),
        Format::Json => output::print_json(&report)?,
    }
    let exceeded = report.gate.as_ref().is_some_and(|gate| !gate.holds);
    Ok(Exit::of(&report.diagnostics, exceeded, least))
}

/// A side: read as a saved report where it is one, else analysed.
fn side(path: &Path, modules: &Modules, settings: &Settings) -> Result<Side, String> {
    let wanted = modules.globs()?;
    if let Some(mut side) = saved(path)? {
        side.modules.retain(|module| {
            wanted.as_ref().is_none_or(|wanted| wanted.is_match(&module.summary.name))
        });
        return Ok(side);
    }
    let dump = dump::open(&[path.to_owned()], &Options { modules: wanted, ..Options::default() });
    let progress = progress::bar(dump.programs.len(), "programs");
    let report = report::report(&dump, settings, report::Options::default(), &|| progress.inc(1));
    progress.finish_and_clear();
    Ok(report.into())
}

/// The report that a file holds, where it is JSON.
fn saved(path: &Path) -> Result<Option<Side>, String> {
    if !path.is_file() {
        return Ok(None);
    }
    let texts = dump::texts(&[path.to_owned()], &Options::default());
    let [file] = texts.files.as_slice() else { return Ok(None) };
    if !diff::is_saved(&file.head()) {
        return Ok(None);
    }
    let source = file.read().map_err(|diagnostic| diagnostic.to_string())?;
    let side = diff::read(source.bytes());
    side.map(Some).map_err(|error| format!("{}: {error}", path.display()))
}
