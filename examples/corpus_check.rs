//! Runs `check` over folders of dump directories and holds it against what the compiler said.
//!
//!     cargo run --release --example corpus_check -- FOLDER...
//!
//! A folder holds dump directories. `check` must judge every directory, and `hbm-over-capacity` must be
//! found where its `compile.log` says that HBM ran out, and nowhere else. Folders that are absent are
//! skipped with a word. Exit code 1 when a directory disagrees.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of its own")]

use hlolint::config::Settings;
use hlolint::dump::{self, Options};
use hlolint::report::check::{CheckReport, check};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() {
        eprintln!("usage: corpus_check FOLDER...");
        return ExitCode::from(2);
    }
    println!("| folder | dumps | programs | HBM ran out | found | wrong | notes | ms a dump |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut wrong = Vec::new();
    for folder in &folders {
        if folder.is_dir() {
            wrong.extend(score(folder));
        } else {
            eprintln!("SKIPPED: {} is not there", folder.display());
        }
    }
    for line in &wrong {
        println!("{line}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a folder's line; what is wrong comes back.
fn score(folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut programs, mut ran_out, mut found, mut notes) = (0, 0, 0, 0);
    let mut spent = Duration::ZERO;
    let dumps = dump_directories(folder);
    for directory in &dumps {
        let start = Instant::now();
        let report = judge(directory);
        spent += start.elapsed();
        programs += report.modules.len();
        let failed = report.diagnostics.iter().filter(|diagnostic| diagnostic.failed);
        wrong.extend(failed.map(|d| format!("{}: {}", d.file, d.message)));
        notes += report.diagnostics.iter().filter(|diagnostic| !diagnostic.failed).count();
        let (truth, ours) = (hbm_ran_out(directory), is_over(&report));
        ran_out += usize::from(truth);
        found += usize::from(truth && ours);
        // A compile that died before it wrote a schedule leaves nothing to find.
        let is_judged = report.modules.iter().any(|module| module.figures != "lower-bound");
        if truth != ours && (is_judged || ours) {
            let said = if truth { "HBM ran out, not found" } else { "found, HBM did not run out" };
            wrong.push(format!("{}: {said}", directory.display()));
        }
    }
    println!(
        "| {} | {} | {programs} | {ran_out} | {found} | {} | {notes} | {:.1} |",
        folder.file_name().unwrap_or_default().to_string_lossy(),
        dumps.len(),
        wrong.len(),
        spent.as_secs_f64() * 1e3 / dumps.len().max(1) as f64
    );
    wrong
}

/// The directories below a folder that have HLO texts, by name.
fn dump_directories(folder: &Path) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(folder).sort_by_file_name();
    let mut directories: Vec<PathBuf> = walk
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().contains("_optimizations"))
        .filter_map(|entry| Some(entry.path().parent()?.to_owned()))
        .collect();
    directories.dedup();
    directories
}

fn judge(directory: &Path) -> CheckReport {
    let dump = dump::open(&[directory.to_owned()], &Options::default());
    check(&dump, &Settings::default(), &|| {})
}

fn is_over(report: &CheckReport) -> bool {
    report.findings.iter().any(|finding| finding.rule == "hbm-over-capacity")
}

/// Whether the compiler's log says that HBM ran out.
fn hbm_ran_out(directory: &Path) -> bool {
    let log = std::fs::read(directory.join("compile.log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let is_single = |line: &str| line.contains("would exceed memory") && line.contains("space=hbm");
    log.contains("Ran out of memory on HBM")
        || log.contains("Ran out of memory in memory space hbm")
        || log.lines().any(is_single)
}
