//! Holds what findings promise against programs that were compiled again with the remedy.
//!
//!     cargo run --release --example what_if -- BAD GOOD [BAD GOOD ...]
//!
//! For each pair of dump directories: every remedy of BAD's findings that has a figure, what the
//! program needs now, what the finding predicts, and what GOOD needs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]

use hlolint::config::Settings;
use hlolint::dump::{self, Options};
use hlolint::report::check::{CheckReport, check};
use std::path::Path;
use std::process::ExitCode;

fn report(directory: &str) -> CheckReport {
    let dump = dump::open(&[Path::new(directory).to_owned()], &Options::default());
    check(&dump, &Settings::default(), &|| {})
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() || !arguments.len().is_multiple_of(2) {
        eprintln!("usage: what_if BAD GOOD [BAD GOOD ...]");
        return ExitCode::from(2);
    }
    println!("| program | remedy | now | predicted | recompiled | off by |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    let name = |path: &str| {
        let parts: Vec<&str> = path.trim_end_matches('/').rsplit('/').take(2).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    };
    for pair in arguments.chunks_exact(2) {
        let (bad, good) = (report(&pair[0]), report(&pair[1]));
        let Some(recompiled) = good.modules.first().map(|module| module.hbm.required_bytes) else {
            eprintln!("{}: no module", pair[1]);
            return ExitCode::FAILURE;
        };
        for finding in &bad.findings {
            for remedy in &finding.remedies {
                let Some(predicted) = remedy.required_bytes_after else { continue };
                println!(
                    "| {} -> {} | {} | {} | {}{predicted} | {recompiled} | {:+.1}% |",
                    name(&pair[0]),
                    name(&pair[1]),
                    remedy.action,
                    finding.required_bytes,
                    if remedy.at_most { "at most " } else { "" },
                    100.0 * (predicted as f64 - recompiled as f64) / recompiled as f64,
                );
            }
        }
    }
    ExitCode::SUCCESS
}
