//! `hlolint vmem`: the scoped VMEM of Pallas kernels.

use super::exit::Exit;
use super::select::{Machine, Programs};
use super::{output, progress};
use crate::render;
use crate::report::vmem::vmem;
use clap::{Args, ValueEnum};

/// Arguments of `hlolint vmem`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 reported; 2 wrong usage, or an input that could not be read (what could be read is
reported); 3 no HLO found. `hlolint check` fails on kernels above their limit.

Example:
  hlolint vmem /tmp/dump
  hlolint vmem /tmp/dump --kernel flash_attention
  hlolint vmem kernel.txt --chip v5e")]
pub struct VmemArgs {
    #[command(flatten)]
    programs: Programs,

    #[command(flatten)]
    machine: Machine,

    /// The windows of this kernel: its own name, or that of the instruction.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,

    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// For a machine: `hlolint.vmem/1`.
    Json,
}

/// Runs the command.
pub fn run(args: &VmemArgs) -> Result<Exit, String> {
    let dump = args.programs.open()?;
    let progress = progress::bar(dump.programs.len(), "programs");
    let mut report = vmem(&dump, &args.machine.settings(), &|| progress.inc(1));
    progress.finish_and_clear();
    output::eprint(&render::text::diagnostics(&report.diagnostics));
    if let Some(name) = &args.kernel {
        let all = report.kernels.len();
        report.kernels.retain(|kernel| kernel.is_called(name));
        if report.kernels.is_empty() && all > 0 {
            return Err(format!("none of the {all} kernels is called {name}"));
        }
    }
    match args.format {
        Format::Text if args.kernel.is_some() => output::print(&render::vmem::windows(&report)),
        Format::Text => output::print(&render::vmem::text(&report)),
        Format::Json => output::print_json(&report)?,
    }
    Ok(Exit::of(&report.diagnostics, false, report.programs))
}
