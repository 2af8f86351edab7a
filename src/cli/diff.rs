//! `hlolint diff`: what changed between two dumps.

use super::config::ConfigFile;
use super::exit::Exit;
use super::select::{Machine, Modules};
use super::target::Target;
use super::{output, progress};
use crate::config::{Allowance, Settings};
use crate::dump::{self, Options};
use crate::render;
use crate::report::diff::{self, DiffReport, Side};
use crate::report::report;
use crate::report::viewer::{PageSide, diff_viewer};
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
  hlolint diff before.json /tmp/dump --format md
  hlolint diff /tmp/dump-before /tmp/dump-after --format html --open")]
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

    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// For a machine: `hlolint.diff/1`, every buffer that changed.
    Json,
    /// For a comment on a pull request.
    Md,
    /// One page to look at in a browser: both curves, and every buffer that changed.
    Html,
}

/// Runs the command.
pub fn run(args: &DiffArgs) -> Result<Exit, String> {
    args.target.check(args.format == Format::Html)?;
    let settings = args.machine.over(args.config.load()?.file.settings);
    let old = args.side(&args.old, &settings)?;
    let new = args.side(&args.new, &settings)?;
    let least = old.report.modules.len().min(new.report.modules.len());
    if args.format == Format::Html {
        let mut viewer = diff_viewer(old, new);
        let exit = args.judge(&mut viewer.diff, least);
        let page = render::html::diff(&viewer).map_err(|error| error.to_string())?;
        args.target.page(&page)?;
        return Ok(exit);
    }
    let mut report = diff::diff(&old.report, &new.report);
    let exit = args.judge(&mut report, least);
    args.target.text(&args.text(&report)?)?;
    Ok(exit)
}

impl DiffArgs {
    /// Holds a comparison against the allowance; says what could not be read.
    fn judge(&self, report: &mut DiffReport, least: usize) -> Exit {
        report.gate = self.max_increase.map(|allowance| diff::gate(report, allowance));
        output::eprint(&render::text::diagnostics(&report.diagnostics));
        let exceeded = report.gate.as_ref().is_some_and(|gate| !gate.holds);
        Exit::of(&report.diagnostics, exceeded, least)
    }

    fn text(&self, report: &DiffReport) -> Result<String, String> {
        match self.format {
            Format::Text => Ok(render::diff::text(report)),
            Format::Md => Ok(render::diff::markdown(report)),
            Format::Json | Format::Html => {
                render::json::pretty(report).map_err(|error| error.to_string())
            }
        }
    }

    /// A side: read as a saved report where it is one, else analysed.
    fn side(&self, path: &Path, settings: &Settings) -> Result<PageSide, String> {
        let wanted = self.modules.globs()?;
        if let Some(mut side) = saved(path)? {
            side.modules.retain(|module| {
                wanted.as_ref().is_none_or(|wanted| wanted.is_match(&module.summary.name))
            });
            return Ok(side.into());
        }
        let options = Options { modules: wanted, ..Options::default() };
        let dump = dump::open(&[path.to_owned()], &options);
        let progress = progress::bar(dump.programs.len(), "programs");
        let done = || progress.inc(1);
        let side = match self.format {
            Format::Html => PageSide::of(&dump, settings, &done),
            _ => {
                let report = report::report(&dump, settings, report::Options::default(), &done);
                Side::from(report).into()
            }
        };
        progress.finish_and_clear();
        Ok(side)
    }
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
