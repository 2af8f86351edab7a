//! Prints what was read and reads it again: both modules must say the same.
//!
//! `cargo run --release --example round_trip -- PATH...` takes HLO texts, folders of them, and files
//! of cases (`*.jsonl.gz`, as the conformance example reads them). Texts that cannot be read are
//! counted and passed over. Fails where a text does not come back the same.

use flate2::read::GzDecoder;
use hlolint::text::{Strictness, difference, parse_with, print};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;

/// Counts of texts.
#[derive(Default)]
struct Tally {
    same: usize,
    unread: usize,
    different: usize,
}

fn main() -> ExitCode {
    let mut tally = Tally::default();
    for path in std::env::args().skip(1) {
        if let Err(error) = walk(Path::new(&path), &mut tally) {
            print_line(&format!("{path}: {error}"));
            return ExitCode::from(2);
        }
    }
    let Tally { same, unread, different } = tally;
    print_line(&format!("{same} texts come back the same, {different} do not, {unread} unread"));
    if different == 0 && same > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn walk(path: &Path, tally: &mut Tally) -> std::io::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| walk(entry, tally));
    }
    let name = path.to_string_lossy();
    if name.ends_with(".jsonl.gz") {
        for line in BufReader::new(GzDecoder::new(std::fs::File::open(path)?)).lines() {
            let case: serde_json::Value = serde_json::from_str(&line?)?;
            let id = case["id"].as_str().unwrap_or("");
            check(id, case["text"].as_str().unwrap_or(""), tally);
        }
    } else if name.ends_with(".txt") || name.ends_with(".hlo") {
        match std::fs::read_to_string(path) {
            Ok(text) => check(&name, &text, tally),
            Err(_) => tally.unread += 1,
        }
    }
    Ok(())
}

fn check(name: &str, text: &str, tally: &mut Tally) {
    let Ok(first) = parse_with(text, Strictness::Strict) else {
        tally.unread += 1;
        return;
    };
    let printed = print(&first.module).to_string();
    let found = match parse_with(&printed, Strictness::Strict) {
        Ok(second) => difference(&first.module, &second.module),
        Err(error) => {
            let place = error.location(printed.as_bytes());
            Some(format!("printed text {}:{}: {}", place.line, place.column, error.message))
        }
    };
    match found {
        None => tally.same += 1,
        Some(difference) => {
            tally.different += 1;
            print_line(&format!("{name}: {difference}"));
        }
    }
}

#[allow(clippy::print_stdout, reason = "an example that reports to its caller's terminal")]
fn print_line(line: &str) {
    println!("{line}");
}
