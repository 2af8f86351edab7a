//! Cases of public memory reports as small programs: the rule that should speak does, with the bytes
//! that the report names. Texts in `testdata/text/public-findings/` are written by hand after the
//! reports' shapes.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::{RuleLevel, RuleSettings, Settings};
use hlolint::report::Finding;
use hlolint::target::{Chip, tpu};
use std::path::Path;

/// What a rule says of a case on a chip with so many bytes of HBM.
fn finding(case: &str, rule: &str, hbm_bytes: u64) -> Finding {
    let path = Path::new("testdata/text/public-findings").join(format!("{case}.hlo"));
    let allowed = RuleSettings { level: Some(RuleLevel::Allow), ..RuleSettings::default() };
    let settings = Settings {
        chip: Some(Chip::Tpu(tpu::Chip::V3)),
        hbm_bytes: Some(hbm_bytes),
        // Speaks of some of the same bytes, and first (tests/public_cases.rs).
        rules: ["tile-padding", "rng-bits"].map(|rule| (rule.to_owned(), allowed.clone())).into(),
        ..Settings::default()
    };
    let report = support::report(&path, &settings);
    let found = report.findings.iter().find(|finding| finding.rule == rule);
    let other: Vec<&str> = report.findings.iter().map(|finding| finding.rule).collect();
    found.cloned().unwrap_or_else(|| panic!("{case}: no {rule} among {other:?}"))
}

const MIB: u64 = 1 << 20;

#[test]
fn rules_speak_of_the_reports_bytes() {
    let cases = [
        // Residuals of a scan of 1000 steps, 12e9 bytes without padding: the carry itself.
        ("r35", "stacked-residuals", 15 << 30, 15_360_000_000, "chunks of 31 iterations"),
        // A carry of 16 MiB that is sliced and updated in one body.
        ("r44", "loop-copy", 1 << 30, 16 * MIB, "two steps an iteration"),
        // Activations of 1 GiB, three of each of six layers (the report has about 90); the last sum is
        // used at once.
        ("r25", "unrolled-layers", 16 << 30, 17 << 30, "jax.checkpoint around each layer"),
        // Gradients of 32 MiB of every layer (seven of them) until the optimizer's step.
        ("r26", "unrolled-layers", 1 << 30, 7 * 32 * MIB, "shard the gradients"),
        // Random bits in a column, 6 GiB each, that the compiler computes again.
        ("r04", "remat-exhausted", 8 << 30, 12 << 30, "a smaller batch"),
    ];
    for (case, rule, hbm_bytes, bytes, remedy) in cases {
        let finding = finding(case, rule, hbm_bytes);
        assert_eq!(finding.bytes, bytes, "{case}: {}", finding.message);
        assert!(finding.help.contains(remedy), "{case}: {}", finding.help);
    }
}

/// A checkpoint around chunks leaves about 2 sqrt(1000) of the 1000 slices.
#[test]
fn chunks_of_a_long_scan() {
    let finding = finding("r35", "stacked-residuals", 15 << 30);
    let after = finding.remedies[0].required_bytes_after.unwrap();
    let slice = 15_360_000_000 / 1000;
    let left = finding.required_bytes - finding.bytes + slice * (31 + 33);
    assert!(after.abs_diff(left) <= 2 * slice, "{after} {left}");
}
