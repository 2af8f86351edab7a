//! `hlolint check`: reads dump directories, prints the verdict and the findings.

use super::baseline::Baselines;
use super::config::ConfigFile;
use super::exit::Exit;
use super::judge::Judge;
use super::select::{Machine, Programs};
use super::{output, progress};
use crate::config::{FailOn, File};
use crate::lint::known_rules;
use crate::render;
use crate::report::Level;
use crate::report::check::check;
use clap::{Args, ValueEnum};

/// Arguments of `hlolint check`.
#[derive(Debug, Args)]
#[command(mut_arg("paths", |paths| paths.required(false).required_unless_present("show_settings")), after_help = "\
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

    #[command(flatten)]
    judge: Judge,

    #[command(flatten)]
    config: ConfigFile,

    #[command(flatten)]
    baselines: Baselines,

    /// Print the settings as a hlolint.toml and check nothing.
    #[arg(long)]
    show_settings: bool,

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

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<Exit, String> {
    let config = args.config.load()?;
    let baseline = config.baseline();
    let file = settings(args, config.file)?;
    if args.show_settings {
        output::print(&crate::config::write(&file, &known_rules()));
        return Ok(Exit::Clean);
    }
    let known = args.baselines.read(baseline)?;
    let dump = args.programs.open()?;
    let progress = progress::bar(dump.programs.len(), "programs");
    let mut report = check(&dump, &file.settings, &|| progress.inc(1));
    progress.finish_and_clear();
    let all_known = args.baselines.apply(known.as_ref(), &mut report)?;
    output::eprint(&render::text::diagnostics(&report.diagnostics));
    match args.format {
        Format::Text => {
            let options = render::text::Options { verbose: args.verbose, ..Default::default() };
            output::print(&render::text::check(&report, options));
        }
        Format::Json => output::print_json(&report)?,
    }
    let fails = |level: Level| report.findings.iter().any(|finding| finding.level >= level);
    let found = !all_known && fail_level(file.fail_on.unwrap_or_default()).is_some_and(fails);
    Ok(Exit::of(&report.diagnostics, found, report.modules.len()))
}

/// What the file says, with what the command line says before it.
fn settings(args: &CheckArgs, file: File) -> Result<File, String> {
    Ok(File {
        settings: args.judge.over(args.machine.over(file.settings))?,
        fail_on: args.judge.fail_on().or(file.fail_on),
        baseline: file.baseline,
    })
}

fn fail_level(from: FailOn) -> Option<Level> {
    match from {
        FailOn::Note => Some(Level::Note),
        FailOn::Warn => Some(Level::Warn),
        FailOn::Error => Some(Level::Error),
        FailOn::Never => None,
    }
}
