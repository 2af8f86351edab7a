//! What each rule claims that its remedy saves, held against XLA's own totals of the program before
//! and after it: testdata/pairs. `UPDATE_DOCS=1 cargo test --test pairs` writes the table in
//! docs/savings.md.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::bytes_as_xla;
use hlolint::dump::SideKind;
use hlolint::dump::side::memory_usage_report;
use hlolint::lint::{Finding, all_rules};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use support::{fixture, root};

/// How far a claim may be from what was measured.
const TOLERANCE: f64 = 0.1;

/// Rules whose claim is not within [`TOLERANCE`] on their pair, and why. A claim that is must leave
/// this list.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "sparsecore-dominates",
    "the stack of SparseCores is in no total of memory space 0; the claim is for half of the ids, the \
     program after has a sixteenth",
)];

/// The HBM of a dump in XLA's own report: of the program that needs most.
fn total_bytes(folder: &Path) -> u64 {
    let dump = support::open(folder);
    let totals = dump.programs.iter().map(|program| {
        let source = program.side(SideKind::MemoryUsageReport).unwrap().read().unwrap();
        let report = memory_usage_report::parse(source.text().unwrap()).unwrap();
        report.total_bytes(0).unwrap()
    });
    totals.max().unwrap()
}

/// The finding of a rule that claims most.
fn claim(rule: &str) -> Option<&'static Finding> {
    let findings = fixture(&format!("{rule}-bad")).report.findings.iter();
    let own = findings.filter(|finding| finding.rule == rule && finding.saving_bytes.is_some());
    own.max_by_key(|finding| finding.saving_bytes)
}

#[test]
fn claims_hold_and_are_documented() {
    let mut text = String::from(
        "# What remedies save\n\nWritten by `UPDATE_DOCS=1 cargo test --test pairs`; do not edit. Each \
         rule that claims a saving, with XLA's own totals of HBM for the program of \
         `testdata/pairs/RULE` that shows it and for the same program with the remedy. \"At most\": \
         what the arguments then need is sure, what else shrinks is the compiler's business; the \
         claim is an upper bound of what is left.\n\n\
         | rule | before (XLA) | after (XLA) | saved | claimed | |\n\
         | --- | ---: | ---: | ---: | ---: | --- |\n",
    );
    let mut wrong = Vec::new();
    for rule in all_rules() {
        let name = rule.meta().name;
        let Some(finding) = claim(name) else { continue };
        let folder = |side| Path::new("testdata/pairs").join(name).join(side);
        let (bad, good) = (total_bytes(&folder("bad")), total_bytes(&folder("good")));
        let saved = bad.saturating_sub(good);
        let claimed = finding.saving_bytes.unwrap();
        let first = finding.remedies.iter().find(|remedy| remedy.required_bytes_after.is_some());
        let is_bound = first.is_some_and(|remedy| remedy.at_most);
        let off = claimed.abs_diff(saved) as f64 / saved.max(1) as f64;
        let holds = if is_bound { claimed <= saved } else { off <= TOLERANCE };
        let exception = EXCEPTIONS.iter().find(|(rule, _)| *rule == name);
        if holds == exception.is_some() {
            wrong.push(format!("{name}: claimed {claimed}, XLA {bad} - {good} = {saved}"));
        }
        let remark = match (exception, is_bound) {
            (Some((_, why)), _) => (*why).to_owned(),
            (None, true) => "at most".to_owned(),
            (None, false) => String::new(),
        };
        let sizes = [bad, good, saved, claimed].map(bytes_as_xla);
        writeln!(text, "| {name} | {} | {remark} |", sizes.join(" | ")).unwrap();
    }
    let path = root().join("docs/savings.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(known == text, "docs/savings.md is not what it should be; set UPDATE_DOCS=1");
}
