//! `hlolint check`: reads dump directories, prints the verdict and the findings.

use super::exit::Exit;
use super::{output, progress};
use crate::config::{Materiality, Settings, parse_bytes};
use crate::dump::{self, Options};
use crate::render;
use crate::report::Level;
use crate::report::check::{CheckReport, check};
use crate::target::Chip;
use crate::target::tpu::RuleSet;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `hlolint check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no finding at or above --fail-on; 1 a finding; 2 wrong usage, or an input that could
not be read (findings are printed all the same); 3 no HLO found.

Example:
  XLA_FLAGS=\"--xla_dump_to=/tmp/dump --xla_dump_hlo_as_text\" python train.py
  hlolint check /tmp/dump")]
pub struct CheckArgs {
    /// Dump directories, HLO texts, archives (.tar, .tar.gz, .zip), or `-` for a text on stdin.
    #[arg(required = true)]
    paths: Vec<PathBuf>,

    /// Only modules whose names match, e.g. `jit_train*`.
    #[arg(long, value_name = "GLOB")]
    module: Vec<String>,

    /// The chip: v2, v3, v4, v5e, v5p, v6e, 7x; v100, a100-40, a100-80, a6000, h100, h200, b200,
    /// rtx6000pro. The dump names it unless a text stands alone.
    #[arg(long, value_parser = super::chip)]
    chip: Option<Chip>,

    /// Take --chip even where the dump names another chip.
    #[arg(long, requires = "chip")]
    force_chip: bool,

    /// HBM of one device, instead of the chip's.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    hbm: Option<u64>,

    /// HBM that something else uses: other live arrays, program code.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "0")]
    reserve: u64,

    /// The most a program may need, where that is less than what the chip has.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_total: Option<u64>,

    /// The rules of which libtpu to use, e.g. 0.0.42; found out from the dump where absent.
    #[arg(long, value_name = "VERSION", value_parser = super::compiler)]
    compiler: Option<RuleSet>,

    /// The share of HBM from which a finding is a warning.
    #[arg(long, value_name = "SHARE", default_value_t = Materiality::default().min_share)]
    min_share: f64,

    /// The size below which a finding is not reported.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1MiB")]
    min_bytes: u64,

    /// The level from which findings make the run fail.
    #[arg(long, value_enum, default_value_t = FailOn::Warn)]
    fail_on: FailOn,

    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Everything: all buffers at the peak, the split, every module, places in the text.
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// For a machine: `hlolint.check/1`.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Notes, too.
    Note,
    /// Warnings and errors.
    Warn,
    /// Errors only.
    Error,
    /// Findings never make the run fail.
    Never,
}

impl FailOn {
    fn level(self) -> Option<Level> {
        match self {
            FailOn::Note => Some(Level::Note),
            FailOn::Warn => Some(Level::Warn),
            FailOn::Error => Some(Level::Error),
            FailOn::Never => None,
        }
    }
}

/// Runs the command.
pub fn run(args: &CheckArgs) -> Exit {
    let modules = match super::globs(&args.module) {
        Ok(modules) => modules,
        Err(message) => return super::usage_error(&message),
    };
    let dump = dump::open(&args.paths, &Options { modules, ..Options::default() });
    let progress = progress::bar(dump.programs.len(), "programs");
    let report = check(&dump, &settings(args), &|| progress.inc(1));
    progress.finish_and_clear();
    output::eprint(&render::text::diagnostics(&report.diagnostics));
    let text = match args.format {
        Format::Text => {
            let options = render::text::Options { verbose: args.verbose, ..Default::default() };
            render::text::check(&report, options)
        }
        Format::Json => match render::json::pretty(&report) {
            Ok(text) => text,
            Err(error) => return super::usage_error(&error.to_string()),
        },
    };
    output::print(&text);
    exit(args, &report)
}

fn settings(args: &CheckArgs) -> Settings {
    Settings {
        chip: args.chip,
        force_chip: args.force_chip,
        compiler: args.compiler,
        hbm_bytes: args.hbm,
        reserve_bytes: args.reserve,
        max_total_bytes: args.max_total,
        materiality: Materiality { min_share: args.min_share, min_bytes: args.min_bytes },
        ..Settings::default()
    }
}

fn exit(args: &CheckArgs, report: &CheckReport) -> Exit {
    let fails = |level: Level| report.findings.iter().any(|finding| finding.level >= level);
    if report.diagnostics.iter().any(|diagnostic| diagnostic.failed) {
        Exit::Failed
    } else if args.fail_on.level().is_some_and(fails) {
        Exit::Findings
    } else if report.modules.is_empty() {
        Exit::NoHlo
    } else {
        Exit::Clean
    }
}
