//! `hlolint verify`.

use super::exit::Exit;
use super::output;
use super::select::{Machine, Programs};
use crate::dump::{Dump, Missing, parallel};
use crate::render;
use crate::report::verify::{Report, verify};
use clap::{Args, ValueEnum};

/// Arguments of `hlolint verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 all HBM figures agree; 1 one does not; 2 wrong usage, or an input that could not be
read; 3 nothing to compare with.

Example:
  hlolint verify /tmp/dump")]
pub struct VerifyArgs {
    #[command(flatten)]
    programs: Programs,

    #[command(flatten)]
    machine: Machine,

    /// How to write the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    #[default]
    Text,
    /// `hlolint.verify/1`.
    Json,
}

/// Runs the command.
pub fn run(args: &VerifyArgs) -> Result<Exit, String> {
    let report = report(args.programs.open()?, &args.machine);
    for diagnostic in &report.diagnostics {
        output::eprint(&format!("error: {diagnostic}\n"));
    }
    let written = match args.format {
        Format::Text => render::verify::text(&report),
        Format::Json => render::verify::json(&report),
    };
    output::print(&written);
    Ok(exit(&report))
}

fn report(dump: Dump, machine: &Machine) -> Report {
    for (missing, count) in Missing::by_kind(&dump.missing) {
        let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
        output::eprint(&format!("note: {missing}{more}: {}\n", missing.help()));
    }
    let settings = machine.settings();
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
