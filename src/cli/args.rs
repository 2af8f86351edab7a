//! The command line's grammar. Each command's arguments stand in the command's own file.

use clap::{Parser, Subcommand};

/// Explains what a TPU or GPU program needs in memory, from the HLO that XLA dumped.
#[derive(Debug, Parser)]
#[command(
    name = "hlolint",
    version,
    propagate_version = true,
    after_help = "\
Example:
  XLA_FLAGS=\"--xla_dump_to=/tmp/dump --xla_dump_hlo_as_text\" python train.py
  hlolint check /tmp/dump"
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one in a process")]
pub enum Command {
    /// Read HLO texts and say what they hold or where they are malformed.
    Parse(super::parse::ParseArgs),
    /// Read a HLO text and print it again.
    Print(super::print::PrintArgs),
    /// Check programs and say what costs memory and what to do.
    Check(super::check::CheckArgs),
    /// Compare this tool's figures with the ones XLA wrote beside the text.
    Verify(super::verify::VerifyArgs),
    /// Everything about the memory of each program: totals, a chart, every buffer, shardings.
    Report(super::report::ReportArgs),
    /// Keep what programs need as files under review: write, compare and accept them.
    Snapshot(super::snapshot::SnapshotArgs),
    /// Compare two dumps: totals, the peak, buffers, kernels, findings, and why.
    Diff(super::diff::DiffArgs),
    /// Explain an error text or a compile log: what failed, by how much, what to do.
    Triage(super::triage::TriageArgs),
    /// List the rules.
    Rules(super::rules::RulesArgs),
    /// Tell what a rule finds and what to do, or what a page of OpenXLA's error catalogue says.
    Explain(super::rules::ExplainArgs),
    /// The scoped VMEM of Pallas kernels: how much each needs, of what, and what it may use.
    Vmem(super::vmem::VmemArgs),
    /// Completions for a shell.
    Completions(super::completions::CompletionsArgs),
    /// The manual, as pages for man.
    Man(super::man::ManArgs),
}
