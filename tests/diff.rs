//! `hlolint diff` on programs of testdata.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use support::renumber::{copy_dump, renumbered};
use support::{assert_snapshot, fixtures, root};

/// Exit code and output.
fn run(command: &str, arguments: &[&str]) -> (i32, String) {
    let mut binary = Command::cargo_bin("hlolint").unwrap();
    let output = binary.current_dir(root()).arg(command).args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn json(arguments: &[&str]) -> Value {
    let (_, text) = run("diff", &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&text).unwrap()
}

const NOT_DONATED: &str = "testdata/dumps/mlp_not_donated";
const DONATED: &str = "testdata/dumps/mlp_donated";

#[test]
fn for_a_person_a_pull_request_and_a_machine() {
    let cases = [
        ("donation", NOT_DONATED, DONATED),
        ("print_removed", "testdata/pairs/debug-print/bad", "testdata/pairs/debug-print/good"),
        (
            "sharding",
            "testdata/pairs/replicated-tensor/bad",
            "testdata/pairs/replicated-tensor/good",
        ),
        ("compilers", "testdata/dumps/attention_oom_0_0_42_1", "testdata/dumps/attention_oom"),
        ("kernel", "testdata/pairs/scoped-vmem/bad", "testdata/pairs/scoped-vmem/good"),
        ("modules", DONATED, "testdata/dumps/two_modules"),
    ];
    for (name, old, new) in cases {
        let (code, text) = run("diff", &[old, new]);
        assert_eq!(code, 0, "{name}");
        assert_snapshot("diff", name, &text);
    }
    let (_, text) = run("diff", &[NOT_DONATED, DONATED, "--format", "md", "--max-increase", "0%"]);
    assert_snapshot("diff", "donation-md", &text);
    let (_, text) = run("diff", &[NOT_DONATED, DONATED, "--format", "json"]);
    assert_snapshot("diff", "donation-json", &text);
}

/// What the arguments' donation saves is told as that, to the byte.
#[test]
fn donation_is_the_reason() {
    let report = json(&[NOT_DONATED, DONATED]);
    let module = &report["modules"][0];
    let reason = &module["reasons"][0];
    assert_eq!(reason["kind"], "donation");
    let donated = &module["hbm"]["aliased"];
    assert_eq!(reason["size"], *donated);
    assert!(donated["new_bytes"].as_u64() > donated["old_bytes"].as_u64(), "{donated}");
}

/// A report that was saved says what its dump says.
#[test]
fn saved_reports_say_what_their_dumps_say() {
    let folder = tempfile::tempdir().unwrap();
    let save = |path: &str, name: &str| {
        let file = folder.path().join(name);
        fs::write(&file, run("report", &[path, "--format", "json"]).1).unwrap();
        file.to_str().unwrap().to_owned()
    };
    for pair in ["debug-print", "replicated-tensor", "scoped-vmem", "large-allocation"] {
        let (bad, good) =
            (format!("testdata/pairs/{pair}/bad"), format!("testdata/pairs/{pair}/good"));
        let (old, new) = (save(&bad, "bad.json"), save(&good, "good.json"));
        assert_eq!(json(&[&old, &new]), json(&[&bad, &good]), "{pair}");
        assert_eq!(json(&[&old, &good]), json(&[&bad, &new]), "{pair}");
    }
    let other = folder.path().join("other.json");
    for (text, code) in [("{}", 2), ("{\"schema\":\"hlolint.check/1\",\"modules\":[]}", 2), ("", 3)]
    {
        fs::write(&other, text).unwrap();
        assert_eq!(run("diff", &[other.to_str().unwrap(), DONATED]).0, code, "{text}");
    }
}

#[test]
fn nothing_differs_from_itself_nor_when_renumbered() {
    for fixture in fixtures() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(&fixture.name);
        copy_dump(&fixture.path, &copy, &mut renumbered);
        let report = json(&[fixture.path.to_str().unwrap(), copy.to_str().unwrap()]);
        for module in report["modules"].as_array().unwrap() {
            for list in ["buffers", "kernels", "findings", "reasons", "spaces", "alive_at_peak"] {
                assert_eq!(module[list], Value::Array(Vec::new()), "{}: {list}", fixture.name);
            }
        }
        assert_eq!(report["added"], report["removed"], "{}", fixture.name);
    }
}

#[test]
fn the_gate() {
    let cases = [
        (DONATED, NOT_DONATED, "2%", 1),
        (DONATED, NOT_DONATED, "1GiB", 0),
        (NOT_DONATED, DONATED, "0", 0),
        (DONATED, DONATED, "0%", 0),
        (DONATED, DONATED, "much", 2),
        (DONATED, "testdata/none", "2%", 2),
    ];
    for (old, new, allowance, code) in cases {
        assert_eq!(run("diff", &[old, new, "--max-increase", allowance]).0, code, "{old} {new}");
    }
    assert_eq!(run("diff", &[DONATED, DONATED, "--module", "none*"]).0, 3);
}

/// Rows add up: what changed in HBM's buffers is what changed at the sums.
#[test]
fn old_and_new_change_places() {
    for (old, new) in [(DONATED, NOT_DONATED), ("testdata/dumps/gru_v4", "testdata/dumps/scan_oom")]
    {
        let (there, back) = (json(&[old, new]), json(&[new, old]));
        let sides = |report: &Value, one: &str, other: &str| {
            let buffers = report["modules"][0]["buffers"].as_array().unwrap().iter();
            let sizes: Vec<(u64, u64)> = buffers
                .map(|change| {
                    let size = &change["size"];
                    (size[one].as_u64().unwrap(), size[other].as_u64().unwrap())
                })
                .collect();
            let mut sizes = sizes;
            sizes.sort_unstable();
            sizes
        };
        assert_eq!(
            sides(&there, "old_bytes", "new_bytes"),
            sides(&back, "new_bytes", "old_bytes"),
            "{old}"
        );
    }
}
