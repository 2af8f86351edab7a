//! Compares the reader with the verdicts of XLA's own HLO text parser.
//!
//! `cargo run --release --example conformance -- FOLDER [--misses N]` reads the files
//! `cases-*.jsonl.gz` of a folder: one JSON object a line with `id`, `text`, `accepted`; for accepted
//! texts `name`, `computations`, `instructions`, `opcodes`; for rejected ones `error_class`, `line`,
//! `column`. It prints a table by class, names what differs, and fails below the thresholds: all
//! accepted texts agree, 99% of the rejected ones of a syntax-level class are rejected with a place,
//! 95% of the older and newer syntax is accepted, nothing panics.

use flate2::read::GzDecoder;
use hlolint::hlo::Module;
use hlolint::text::{ParseError, Strictness, parse_with};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One text with XLA's verdict.
#[derive(Deserialize)]
struct Case {
    id: String,
    text: String,
    accepted: bool,
    #[serde(default)]
    accepted_by_bug: bool,
    error_class: Option<String>,
    name: Option<String>,
    computations: Option<usize>,
    instructions: Option<usize>,
    opcodes: Option<BTreeMap<String, usize>>,
    line: Option<u32>,
    column: Option<u32>,
    message_short: Option<String>,
}

/// What a class of cases asks of the reader.
#[derive(Clone, Copy, PartialEq)]
enum Demand {
    /// Accept, with the same counts.
    Agree,
    /// Reject with a place.
    Reject,
    /// Accept.
    Accept,
    /// Only not to panic.
    Survive,
}

/// Classes that a syntax-level analyser rejects.
const REJECTED: [&str; 8] = [
    "syntax",
    "value",
    "attribute",
    "undefined-name",
    "opcode",
    "duplicate-name",
    "arity",
    "unpositioned",
];

fn demand(case: &Case) -> (String, Demand) {
    if case.accepted {
        return match case.accepted_by_bug {
            true => ("accepted by a bug".to_owned(), Demand::Survive),
            false => ("accepted".to_owned(), Demand::Agree),
        };
    }
    let class = case.error_class.clone().unwrap_or_default();
    let demand = match class.as_str() {
        class if REJECTED.contains(&class) => Demand::Reject,
        "older-syntax" | "newer-syntax" => Demand::Accept,
        _ => Demand::Survive,
    };
    (class, demand)
}

/// Counts of one class.
#[derive(Default)]
struct Row {
    cases: usize,
    accepted: usize,
    fulfilled: usize,
    same_line: usize,
    same_column: usize,
    misses: Vec<String>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        print_line("usage: conformance FOLDER [--misses N]");
        return ExitCode::from(2);
    };
    let shown = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--misses"), Some(number)) => number.parse().unwrap_or(usize::MAX),
        _ => 20,
    };
    let files = match case_files(Path::new(&folder)) {
        Ok(files) if !files.is_empty() => files,
        _ => {
            print_line(&format!("no cases-*.jsonl.gz in {folder}: nothing was compared"));
            return ExitCode::from(2);
        }
    };
    let mut table: BTreeMap<String, (Demand, Row)> = BTreeMap::new();
    for file in files {
        if let Err(error) = read_cases(&file, |case| judge(&case, &mut table)) {
            print_line(&format!("{}: {error}", file.display()));
            return ExitCode::from(2);
        }
    }
    report(&table, shown)
}

fn case_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            name.is_some_and(|name| name.starts_with("cases-") && name.ends_with(".jsonl.gz"))
        })
        .collect();
    files.sort();
    Ok(files)
}

fn read_cases(path: &Path, mut each: impl FnMut(Case)) -> std::io::Result<()> {
    for line in BufReader::new(GzDecoder::new(File::open(path)?)).lines() {
        each(serde_json::from_str(&line?)?);
    }
    Ok(())
}

fn judge(case: &Case, table: &mut BTreeMap<String, (Demand, Row)>) {
    let (class, demand) = demand(case);
    let (_, row) = table.entry(class).or_insert_with(|| (demand, Row::default()));
    row.cases += 1;
    let outcome = std::panic::catch_unwind(|| {
        parse_with(&case.text, Strictness::Strict).map(|parsed| differences(case, &parsed.module))
    });
    let miss = match outcome {
        Err(_) => Some("PANIC".to_owned()),
        Ok(Ok(differences)) => {
            row.accepted += 1;
            match demand {
                Demand::Agree => differences,
                Demand::Reject => Some("accepted".to_owned()),
                Demand::Accept | Demand::Survive => None,
            }
        }
        Ok(Err(error)) => {
            compare_place(case, &error, row);
            match demand {
                Demand::Agree | Demand::Accept => {
                    let place = error.location(case.text.as_bytes());
                    Some(format!("{}:{}: {}", place.line, place.column, error.message))
                }
                Demand::Reject | Demand::Survive => None,
            }
        }
    };
    match miss {
        None => row.fulfilled += 1,
        Some(miss) => {
            let theirs = case.message_short.as_deref().unwrap_or("").replace('\n', " ");
            row.misses.push(format!("{}: {miss} | XLA: {theirs}", case.id));
        }
    }
}

/// XLA counts columns from 0 on the first line, from 1 on the others.
fn compare_place(case: &Case, error: &ParseError, row: &mut Row) {
    let place = error.location(case.text.as_bytes());
    if case.line != Some(place.line) {
        return;
    }
    row.same_line += 1;
    let column = if place.line == 1 { place.column.saturating_sub(1) } else { place.column };
    row.same_column += usize::from(case.column == Some(column));
}

fn differences(case: &Case, module: &Module<'_>) -> Option<String> {
    if !case.accepted {
        return None;
    }
    let mut opcodes: BTreeMap<String, usize> = BTreeMap::new();
    for instruction in &module.instructions {
        *opcodes.entry(instruction.opcode.as_str().to_owned()).or_default() += 1;
    }
    let name = module.full_name();
    let mut different = Vec::new();
    if case.name.as_deref() != Some(&*name) {
        different.push(format!("name {name}, not {:?}", case.name));
    }
    if case.computations != Some(module.computations.len()) {
        let found = module.computations.len();
        different.push(format!("{found} computations, not {:?}", case.computations));
    }
    if case.instructions != Some(module.instructions.len()) {
        let found = module.instructions.len();
        different.push(format!("{found} instructions, not {:?}", case.instructions));
    }
    if case.opcodes.as_ref() != Some(&opcodes) {
        different.push(format!("opcodes {opcodes:?}, not {:?}", case.opcodes));
    }
    (!different.is_empty()).then(|| different.join("; "))
}

fn report(table: &BTreeMap<String, (Demand, Row)>, shown: usize) -> ExitCode {
    print_line("class                 cases  accepted  as demanded  same line  same column");
    for (class, (_, row)) in table {
        print_line(&format!(
            "{class:<20} {:>6} {:>9} {:>12} {:>10} {:>12}",
            row.cases, row.accepted, row.fulfilled, row.same_line, row.same_column
        ));
    }
    for (class, (_, row)) in table {
        for miss in row.misses.iter().take(shown) {
            print_line(&format!("{class}: {miss}"));
        }
    }
    let mut failed = false;
    for (demand, percent, what) in [
        (Demand::Agree, 100.0, "accepted texts with the same counts"),
        (Demand::Reject, 99.0, "rejected texts rejected with a place"),
        (Demand::Accept, 95.0, "texts of older and newer syntax accepted"),
        (Demand::Survive, 100.0, "other texts without a panic"),
    ] {
        let rows = || table.values().filter(|(of, _)| *of == demand).map(|(_, row)| row);
        let cases: usize = rows().map(|row| row.cases).sum();
        let fulfilled: usize = rows().map(|row| row.fulfilled).sum();
        let share = if cases == 0 { 100.0 } else { 100.0 * fulfilled as f64 / cases as f64 };
        let ok = share >= percent;
        failed |= !ok;
        let verdict = if ok { "ok" } else { "BELOW" };
        print_line(&format!(
            "{fulfilled} of {cases} {what}: {share:.2}% (>= {percent}%) {verdict}"
        ));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[allow(clippy::print_stdout, reason = "an example that reports to its caller's terminal")]
fn print_line(line: &str) {
    println!("{line}");
}
