//! `hlolint rules`: lists the rules. `hlolint explain`: tells what one of them, or a page of the error
//! catalogue, says.

use super::exit::Exit;
use super::output;
use crate::render;
use crate::report::explain::explain;
use crate::report::rules::rules;
use clap::{Args, ValueEnum};

/// Arguments of `hlolint rules`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  hlolint rules
  hlolint rules --format json | jq '.rules[].name'")]
pub struct RulesArgs {
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Arguments of `hlolint explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  hlolint explain replicated-tensor
  hlolint explain E1000")]
pub struct ExplainArgs {
    /// A rule's name, E1000 or E1001.
    #[arg(value_name = "RULE|E1000|E1001")]
    name: String,

    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// For a machine: `hlolint.rules/1`.
    Json,
}

/// Runs `hlolint rules`.
pub fn list(args: &RulesArgs) -> Result<Exit, String> {
    let report = rules();
    print(args.format, &report, || render::rules::list(&report))
}

/// Runs `hlolint explain`.
pub fn run(args: &ExplainArgs) -> Result<Exit, String> {
    let topic = explain(&args.name)?;
    print(args.format, &topic, || render::rules::topic(&topic))
}

fn print(
    format: Format,
    data: &impl serde::Serialize,
    text: impl Fn() -> String,
) -> Result<Exit, String> {
    match format {
        Format::Text => output::print(&text()),
        Format::Json => output::print_json(data)?,
    }
    Ok(Exit::Clean)
}
