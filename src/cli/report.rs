//! `hlolint report`: everything about the memory of each module.

use super::config::ConfigFile;
use super::exit::Exit;
use super::select::{Machine, Programs};
use super::target::Target;
use super::{output, progress};
use crate::render;
use crate::report::report::{self, Report};
use crate::report::viewer;
use clap::{Args, ValueEnum};

/// Arguments of `hlolint report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 reported; 2 wrong usage, or an input that could not be read (what could be read is
reported); 3 no HLO found.

Example:
  hlolint report /tmp/dump --module 'jit_train*' --sort padding
  hlolint report /tmp/dump --format html --output report.html")]
pub struct ReportArgs {
    #[command(flatten)]
    programs: Programs,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    config: ConfigFile,

    /// The order of the buffer table.
    #[arg(long, value_enum, default_value_t = Sort::Size)]
    sort: Sort,

    /// How many buffers to list: a number, or `all`.
    #[arg(long, value_name = "N", value_parser = rows, default_value = "20")]
    rows: Rows,

    /// The call stack of each buffer below it.
    #[arg(long)]
    stack: bool,

    /// Columns; those of the terminal, else 100.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..=1000))]
    width: Option<u16>,

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
    /// For a machine: `hlolint.report/1`, all buffers.
    Json,
    /// For a comment or a job's summary.
    Md,
    /// One page to look at in a browser: the report as JSON, and its viewer.
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// The largest first.
    Size,
    /// The first that is alive first.
    Order,
    /// The one that loses most by padding first.
    Padding,
}

/// How many rows; `None` for all.
#[derive(Clone, Copy, Debug)]
struct Rows(Option<usize>);

fn rows(text: &str) -> Result<Rows, String> {
    match text {
        "all" => Ok(Rows(None)),
        _ => text.parse().map(|rows| Rows(Some(rows))).map_err(|_| "a number, or all".to_owned()),
    }
}

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<Exit, String> {
    args.target.check(args.format == Format::Html)?;
    let settings = args.machine.over(args.config.load()?.file.settings);
    let dump = args.programs.open()?;
    let progress = progress::bar(dump.programs.len(), "programs");
    let done = || progress.inc(1);
    if args.format == Format::Html {
        let viewer = viewer::viewer(&dump, &settings, &done);
        progress.finish_and_clear();
        output::eprint(&render::text::diagnostics(&viewer.report.diagnostics));
        let page = render::html::report(&viewer).map_err(|error| error.to_string())?;
        args.target.page(&page)?;
        return Ok(Exit::of(&viewer.report.diagnostics, false, viewer.report.modules.len()));
    }
    let report = report::report(&dump, &settings, report::Options { stacks: args.stack }, &done);
    progress.finish_and_clear();
    output::eprint(&render::text::diagnostics(&report.diagnostics));
    args.target.text(&args.text(&report)?)?;
    Ok(Exit::of(&report.diagnostics, false, report.modules.len()))
}

impl ReportArgs {
    fn text(&self, report: &Report) -> Result<String, String> {
        let options = render::report::Options {
            sort: match self.sort {
                Sort::Size => render::report::Sort::Size,
                Sort::Order => render::report::Sort::Order,
                Sort::Padding => render::report::Sort::Padding,
            },
            rows: self.rows.0,
            width: self.width.map_or_else(output::width, usize::from),
        };
        match self.format {
            Format::Text => Ok(render::report::text(report, options)),
            Format::Md => Ok(render::report::markdown(report, options)),
            Format::Json | Format::Html => {
                render::json::pretty(report).map_err(|error| error.to_string())
            }
        }
    }
}
