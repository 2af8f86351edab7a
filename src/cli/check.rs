//! `hlolint check`: reads dump directories, prints the verdict and the findings.

use super::baseline::Baselines;
use super::config::ConfigFile;
use super::exit::Exit;
use super::format::{self, Run, Target};
use super::judge::Judge;
use super::select::{Machine, Programs};
use super::{output, progress};
use crate::config::{FailOn, File, Settings};
use crate::dump::Dump;
use crate::lint::known_rules;
use crate::render;
use crate::report::check::{CheckReport, check};
use crate::report::{Level, Sources, triage};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `hlolint check`.
#[derive(Debug, Args)]
#[command(mut_arg("paths", |paths| paths.required(false).required_unless_present("show_settings")), after_help = "\
Formats: text for a person; concise, one line a finding; json and json-lines (docs/json.md); sarif
2.1.0; github, annotations on the lines of your program, and a summary of the job; gitlab, a code
quality report; junit; markdown. Paths are relative to the working directory where the file lies
below it.

Exit codes, the same in every format: 0 no finding at or above --fail-on; 1 a finding; 2 wrong usage,
or an input that could not be read (findings are printed all the same); 3 no HLO found.

Example:
  XLA_FLAGS=\"--xla_dump_to=/tmp/dump --xla_dump_hlo_as_text\" python train.py
  hlolint check /tmp/dump
  hlolint check /tmp/dump --log train.log --format text --format sarif=hlolint.sarif")]
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

    /// The log of the same run: its error is explained beside the findings.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// How to print: text, concise, json, json-lines, sarif, github, gitlab, junit or markdown; with
    /// =FILE to a file, as in sarif=hlolint.sarif. May be given several times, once without a file.
    #[arg(long, value_name = "FORMAT[=FILE]", value_parser = super::format::target)]
    format: Vec<Target>,

    /// The file for the format that names none. Files are written whole or not at all.
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,

    /// Count and bytes of the findings of each rule.
    #[arg(long)]
    statistics: bool,

    /// Everything: all buffers at the peak, the split, every module, places in the text.
    #[arg(long, short)]
    verbose: bool,
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
    let targets = format::targets(&args.format, args.output_file.as_deref())?;
    if args.statistics && !targets.iter().any(|target| target.format.has_statistics()) {
        return Err(
            "--statistics has no place in this format\n  help: text, concise, markdown, json \
                    and json-lines have one; --format may be given several times"
                .to_owned(),
        );
    }
    let known = args.baselines.read(baseline)?;
    let dump = args.programs.open()?;
    let progress = progress::bar(dump.programs.len(), "programs");
    let mut report = checked(args, &dump, &file.settings, &|| progress.inc(1));
    progress.finish_and_clear();
    let all_known = args.baselines.apply(known.as_ref(), &mut report)?;
    if args.statistics {
        report.statistics = Some(report.count_by_rule());
    }
    output::eprint(&render::text::diagnostics(&report.diagnostics));
    let fails = |level: Level| report.findings.iter().any(|finding| finding.level >= level);
    let fail_from = fail_level(file.fail_on.unwrap_or_default()).filter(|_| !all_known);
    let found = fail_from.is_some_and(fails);
    let exit = Exit::of(&report.diagnostics, found, report.modules.len());
    let root = std::env::current_dir().unwrap_or_default();
    let mut sources = Sources::below(&root, &report);
    if targets.iter().any(|target| target.format.names_sources()) {
        sources = sources.searched();
    }
    let run = Run { report: &report, sources: &sources, verbose: args.verbose, fail_from, exit };
    let mut unwritten = false;
    for target in &targets {
        if let Err(message) = run.write(target) {
            super::complain(&message);
            unwritten = true;
        }
    }
    Ok(if unwritten { Exit::Failed } else { exit })
}

/// Checks the programs, beside the log where there is one.
fn checked(
    args: &CheckArgs,
    dump: &Dump,
    settings: &Settings,
    done: &(dyn Fn() + Sync),
) -> CheckReport {
    let Some(path) = &args.log else { return check(dump, settings, done) };
    match super::log(path) {
        Ok(source) => {
            let (log, mut report) =
                triage::with_dump(source.label(), source.bytes(), dump, settings, done);
            report.log = Some(log);
            report
        }
        Err(diagnostic) => {
            let mut report = check(dump, settings, done);
            report.diagnostics.push(diagnostic.into());
            report
        }
    }
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
