//! `hlolint parse`: reads HLO texts, says what they hold or where they are malformed.

use super::exit::Exit;
use super::output;
use crate::dump::{self, Options, parallel};
use crate::render;
use crate::report::parse::{TextReport, read_text};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `hlolint parse`.
#[derive(Debug, Args)]
#[command(after_help = "\
Names of attributes, opcodes and element types that are not known are errors here; `check` reads
over them with a warning.

Exit codes: 0 all texts were read; 2 wrong usage, or a text is malformed; 3 no HLO found.

Example:
  hlolint parse /tmp/dump --format json-lines")]
pub struct ParseArgs {
    /// HLO texts (also .gz), directories or archives of them, or `-` for a text on stdin.
    #[arg(required = true)]
    paths: Vec<PathBuf>,

    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// One JSON object a line for each text.
    JsonLines,
}

/// Runs the command.
pub fn run(args: &ParseArgs) -> Result<Exit, String> {
    let texts = dump::texts(&args.paths, &Options::default());
    for missing in &texts.missing {
        output::eprint(&format!("note: {missing}: {}\n", missing.help()));
    }
    for diagnostic in &texts.diagnostics {
        output::eprint(&format!("error: {diagnostic}\n"));
    }
    let reports = parallel::map(texts.files, |file| read_text(&file));
    let mut failed = !texts.diagnostics.is_empty();
    for report in &reports {
        failed |= matches!(report, TextReport::Failed(_));
        show(report, args.format)?;
    }
    Ok(if failed {
        Exit::Failed
    } else if reports.is_empty() {
        Exit::NoHlo
    } else {
        Exit::Clean
    })
}

fn show(report: &TextReport, format: Format) -> Result<(), String> {
    match (format, report) {
        (Format::JsonLines, _) => {
            let line = render::parse::json_line(report).map_err(|error| error.to_string())?;
            output::print(&line);
        }
        (Format::Text, TextReport::Read(contents)) => {
            for warning in &contents.warnings {
                output::eprint(&render::parse::warning(warning));
            }
            output::print(&render::parse::contents(contents));
        }
        (Format::Text, TextReport::Failed(failure)) => {
            output::eprint(&render::parse::error(failure));
        }
    }
    Ok(())
}
