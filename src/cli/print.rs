//! `hlolint print`: reads a HLO text and prints it again.

use super::exit::Exit;
use super::output;
use crate::dump::{self, Options};
use crate::hlo::{ComputationId, Module};
use crate::render;
use crate::report::parse::{TextReport, read_text};
use crate::text;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `hlolint print`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 printed; 2 wrong usage, or the text is malformed.

Example:
  hlolint print module_0001.jit_step.after_optimizations.txt --computation fused_computation.7")]
pub struct PrintArgs {
    /// A HLO text (also .gz), or `-` for stdin.
    file: PathBuf,

    /// Only the computation of this name.
    #[arg(long, value_name = "NAME")]
    computation: Option<String>,
}

/// Runs the command.
pub fn run(args: &PrintArgs) -> Result<Exit, String> {
    let texts = dump::texts(std::slice::from_ref(&args.file), &Options::default());
    for diagnostic in &texts.diagnostics {
        output::eprint(&format!("error: {diagnostic}\n"));
    }
    let [file] = texts.files.as_slice() else {
        if texts.diagnostics.is_empty() {
            return Err("give one HLO text, not a directory".to_owned());
        }
        return Ok(Exit::Failed);
    };
    let source = file.read().map_err(|diagnostic| diagnostic.to_string())?;
    match text::parse_bytes(source.bytes()) {
        Ok(parsed) => print(&parsed.module, args.computation.as_deref()),
        Err(_) => {
            if let TextReport::Failed(failure) = read_text(file) {
                output::eprint(&render::parse::error(&failure));
            }
            Ok(Exit::Failed)
        }
    }
}

fn print(module: &Module<'_>, computation: Option<&str>) -> Result<Exit, String> {
    let Some(wanted) = computation else {
        output::print(&text::print(module).to_string());
        return Ok(Exit::Clean);
    };
    let wanted = wanted.strip_prefix('%').unwrap_or(wanted);
    match module.computations.iter().position(|computation| computation.name == wanted) {
        Some(at) if !wanted.is_empty() => {
            let id = ComputationId(at as u32);
            output::print(&format!("{}\n", text::print_computation(module, id)));
            Ok(Exit::Clean)
        }
        _ => Err(format!("no computation {wanted} in module {}", module.name)),
    }
}
