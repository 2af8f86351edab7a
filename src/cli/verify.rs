//! `hlolint verify`.

use super::exit::Exit;
use super::{chip, compiler, globs, output, usage_error};
use crate::config::Settings;
use crate::dump::{self, Missing, Options, parallel};
use crate::render;
use crate::report::verify::{Report, verify};
use crate::target::Chip;
use crate::target::tpu::RuleSet;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `hlolint verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 all HBM figures agree; 1 one does not; 2 wrong usage, or an input that could not be
read; 3 nothing to compare with.

Example:
  hlolint verify /tmp/dump")]
pub struct VerifyArgs {
    /// Dump directories, files, archives, or `-`.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// How to write the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Only modules whose names match; may be given several times.
    #[arg(long, value_name = "GLOB")]
    pub module: Vec<String>,
    /// The chip, instead of the dump's own: v2, v3, v4, v5e, v5p, v6e, 7x, or a GPU.
    #[arg(long, value_parser = chip)]
    pub chip: Option<Chip>,
    /// Take --chip even where the dump names another chip.
    #[arg(long, requires = "chip")]
    pub force_chip: bool,
    /// The libtpu release whose rules are taken, instead of the one the dump shows: 0.0.42.1.
    #[arg(long, value_name = "VERSION", value_parser = compiler)]
    pub compiler: Option<RuleSet>,
}

/// The formats of `hlolint verify`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person.
    #[default]
    Text,
    /// `hlolint.verify/1`.
    Json,
}

/// Runs the command.
pub fn run(args: &VerifyArgs) -> Exit {
    let modules = match globs(&args.module) {
        Ok(modules) => modules,
        Err(message) => return usage_error(&message),
    };
    let options = Options { modules, ..Options::default() };
    let report = report(args, &options);
    for diagnostic in &report.diagnostics {
        output::eprint(&format!("error: {diagnostic}\n"));
    }
    let written = match args.format {
        Format::Text => render::verify::text(&report),
        Format::Json => render::verify::json(&report),
    };
    output::print(&written);
    exit(&report)
}

fn report(args: &VerifyArgs, options: &Options) -> Report {
    let dump = dump::open(&args.paths, options);
    for (missing, count) in Missing::by_kind(&dump.missing) {
        let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
        output::eprint(&format!("note: {missing}{more}: {}\n", missing.help()));
    }
    let settings = Settings {
        chip: args.chip,
        force_chip: args.force_chip,
        compiler: args.compiler,
        ..Settings::default()
    };
    let outcomes =
        parallel::map(dump.programs.iter().collect(), |program| verify(program, &settings));
    let (mut modules, mut not_compared) = (Vec::new(), Vec::new());
    let mut diagnostics = dump.diagnostics;
    for outcome in outcomes {
        modules.extend(outcome.module);
        not_compared.extend(outcome.not_compared);
        diagnostics.extend(outcome.diagnostics);
    }
    Report::new(modules, not_compared, diagnostics)
}

fn exit(report: &Report) -> Exit {
    if !report.diagnostics.is_empty() {
        Exit::Failed
    } else if !report.is_hbm_exact() {
        Exit::Findings
    } else if report.modules.is_empty() {
        Exit::NoHlo
    } else {
        Exit::Clean
    }
}
