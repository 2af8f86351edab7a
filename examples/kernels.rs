//! Holds estimates of scoped VMEM against the compiler's own record.
//!
//! Takes a folder with `expected*.jsonl` and the texts that they name, prints a table of scores and
//! every miss: `cargo run --release --example kernels -- FOLDER`.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use flate2::read::GzDecoder;
use hlolint::target::tpu::mosaic::{Circumstances, Estimate, Kernels};
use hlolint::target::tpu::{Chip, RuleSet};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Right and all, by figure.
#[derive(Default)]
struct Scores(BTreeMap<&'static str, (usize, usize)>);

impl Scores {
    fn count(&mut self, name: &'static str, is_right: bool) {
        let score = self.0.entry(name).or_default();
        score.0 += usize::from(is_right);
        score.1 += 1;
    }
}

fn main() {
    let Some(folder) = std::env::args().nth(1) else {
        println!("usage: kernels FOLDER");
        return;
    };
    for file in ["expected.jsonl", "expected-0.0.52.jsonl", "expected-fresh.jsonl"] {
        let path = Path::new(&folder).join(file);
        match std::fs::read_to_string(&path) {
            Ok(lines) => score(&folder, file, &lines),
            Err(_) => println!("skipped: no {}", path.display()),
        }
    }
}

fn score(folder: &str, file: &str, lines: &str) {
    let mut scores = Scores::default();
    println!("== {file}");
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let version = row["libtpu"].as_str().unwrap_or(if file.contains("0.0.52") {
            "0.0.52"
        } else {
            "0.0.42.1"
        });
        let rules = RuleSet::of_version(version).unwrap();
        check(folder, &row, rules, &mut scores);
    }
    for (name, (right, all)) in &scores.0 {
        println!("{name:30} {right} of {all}");
    }
}

fn read(folder: &str, name: &str) -> Option<String> {
    let file = std::fs::File::open(Path::new(folder).join(name)).ok()?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).ok()?;
    Some(text)
}

fn check(folder: &str, row: &Value, rules: RuleSet, scores: &mut Scores) {
    let id = format!("{} {}", row["id"].as_str().unwrap(), row["instruction"].as_str().unwrap());
    if row["fused"] == true {
        return;
    }
    let Some(text) = read(folder, row["file"].as_str().unwrap()) else {
        println!("skipped {id}: no text");
        return;
    };
    let parsed = match hlolint::text::parse(&text) {
        Ok(parsed) => parsed,
        Err(error) => {
            scores.count("read", false);
            println!("unread {id}: {error:?}");
            return;
        }
    };
    let kernels = Kernels::new(&parsed.module);
    let wanted = row["instruction"].as_str();
    let Some(&call) =
        kernels.ids().iter().find(|&&call| Some(parsed.module.instruction(call).name) == wanted)
    else {
        println!("not found {id}");
        scores.count("read", false);
        return;
    };
    let is_flag = row["limit_source"] == "flag";
    let circumstances = Circumstances {
        chip: Chip::from_name(row["chip"].as_str().unwrap()),
        rules,
        flag_limit_bytes: row["limit_bytes"].as_u64().filter(|_| is_flag),
    };
    match kernels.estimate(call, &circumstances) {
        Ok(estimate) => compare(&id, row, &estimate, scores),
        Err(error) => {
            println!("unknown {id}: {error}");
            scores.count("read", false);
        }
    }
}

fn compare(id: &str, row: &Value, found: &Estimate, scores: &mut Scores) {
    scores.count("read", true);
    let suite = row["suite"].as_str().unwrap_or("");
    let mut exact = |name: &'static str, found: u64| {
        if let Some(wanted) = row[name].as_u64() {
            scores.count(name, found == wanted);
            if found != wanted {
                println!("{name:28} {id} ({suite}): {found}, recorded {wanted}");
            }
        }
    };
    exact("scratch_bytes", found.scratch_bytes);
    exact("scratch_plus_windows_bytes", found.scratch_plus_windows_bytes);
    exact("pre_spill_bytes", found.total_bytes);
    exact("limit_bytes", found.limit_bytes.unwrap_or(0));
    if let Some(used) = row["used_bytes"].as_u64() {
        let offset = row["scoped_offset"].as_u64().unwrap_or(0);
        scores.count("used_bytes", found.used_bytes == Some(used - offset));
    }
    if let Some(total) = row["total_bytes"].as_u64() {
        scores.count("total_bytes", found.total_bytes == total);
        scores.count("not above total_bytes", found.total_bytes <= total);
        if found.total_bytes > total {
            println!("above the truth {id} ({suite}): {} of {total}", found.total_bytes);
        }
    }
    if let Some(size) = row["message_size"].as_str() {
        let quoted = found.quoted_bytes.map(figure);
        scores.count("message_size", quoted.as_deref() == Some(size));
        if quoted.as_deref() != Some(size) {
            println!(
                "message_size {id} ({suite}): {quoted:?}, printed {size}; {}",
                found.total_bytes
            );
        }
    }
}

/// Bytes as the compiler's messages print them.
fn figure(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..0x10_0000 => format!("{:.1}K", bytes as f64 / 1024.0),
        _ => format!("{:.2}M", bytes as f64 / 1_048_576.0),
    }
}
