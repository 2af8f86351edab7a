//! `hlolint check`: reads dump directories, prints the verdict and the findings.

use super::exit::Exit;
use super::select::{Machine, Programs};
use super::{output, progress};
use crate::config::{Materiality, Settings, parse_bytes};
use crate::render;
use crate::report::Level;
use crate::report::check::check;
use clap::{Args, ValueEnum};

/// Arguments of `hlolint check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no finding at or above --fail-on; 1 a finding; 2 wrong usage, or an input that could
not be read (findings are printed all the same); 3 no HLO found.

Example:
  XLA_FLAGS=\"--xla_dump_to=/tmp/dump --xla_dump_hlo_as_text\" python train.py
  hlolint check /tmp/dump")]
pub struct CheckArgs {
    #[command(flatten)]
    programs: Programs,

    #[command(flatten)]
    machine: Machine,

    /// HBM that something else uses: other live arrays, program code.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "0")]
    reserve: u64,

    /// The most a program may need, where that is less than what the chip has.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_total: Option<u64>,

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
pub fn run(args: &CheckArgs) -> Result<Exit, String> {
    let dump = args.programs.open()?;
    let progress = progress::bar(dump.programs.len(), "programs");
    let report = check(&dump, &settings(args), &|| progress.inc(1));
    progress.finish_and_clear();
    output::eprint(&render::text::diagnostics(&report.diagnostics));
    match args.format {
        Format::Text => {
            let options = render::text::Options { verbose: args.verbose, ..Default::default() };
            output::print(&render::text::check(&report, options));
        }
        Format::Json => output::print_json(&report)?,
    }
    let fails = |level: Level| report.findings.iter().any(|finding| finding.level >= level);
    let found = args.fail_on.level().is_some_and(fails);
    Ok(Exit::of(&report.diagnostics, found, report.modules.len()))
}

fn settings(args: &CheckArgs) -> Settings {
    Settings {
        reserve_bytes: args.reserve,
        max_total_bytes: args.max_total,
        materiality: Materiality { min_share: args.min_share, min_bytes: args.min_bytes },
        ..args.machine.settings()
    }
}
