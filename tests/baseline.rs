//! Baselines: known findings stay silent on a program that was compiled anew, a new one is reported, and
//! what is gone is said, so that a baseline only shrinks.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use support::root;
use tempfile::TempDir;

/// `hlolint check` of dumps of testdata in a folder.
fn check(folder: &Path, dumps: &[&str], options: &[&str]) -> Output {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    let dumps = dumps.iter().map(|name| root().join("testdata/dumps").join(name));
    command.current_dir(folder).arg("check").args(dumps).args(options).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn findings(output: &Output) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["findings"].as_array().unwrap().clone()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const WRITE: &[&str] = &["--write-baseline", "known.json"];
const COMPARE: &[&str] = &["--baseline", "known.json", "--format", "json"];
const NOTES: &[&str] = &["--baseline", "known.json", "--format", "json", "--fail-on", "note"];

/// A folder with a baseline of some dumps.
fn baseline(dumps: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let output = check(folder.path(), dumps, WRITE);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    folder
}

#[test]
fn a_program_compiled_anew_with_one_layer_more_is_silent() {
    let folder = baseline(&["baseline_known"]);
    let before = check(folder.path(), &["baseline_known"], &["--format", "json"]);
    assert_eq!((code(&before), findings(&before).len()), (1, 2), "findings to be known");
    for dump in ["baseline_known", "baseline_layer_added"] {
        let output = check(folder.path(), &[dump], NOTES);
        assert_eq!((code(&output), findings(&output)), (0, Vec::new()), "{dump}");
        assert_eq!(stderr(&output), "", "{dump}");
    }
}

/// The planted print has the shape and the name of a known one, and a place before it.
#[test]
fn the_one_new_finding_is_reported() {
    let folder = baseline(&["baseline_known"]);
    let all = check(folder.path(), &["baseline_print_added"], &["--format", "json"]);
    let output = check(folder.path(), &["baseline_print_added"], COMPARE);
    let (all, new) = (findings(&all), findings(&output));
    assert_eq!((code(&output), all.len(), new.len()), (1, 3, 1));
    assert_eq!(new[0]["rule"], "debug-print");
    let planted = fs::read_to_string(root().join("testdata/generate/baseline.py")).unwrap();
    let line = 1 + planted.lines().position(|line| line.contains("debug.print(\"input")).unwrap();
    assert_eq!(new[0]["source"]["line"], line);
    // Two equal findings are known where two were written down.
    let folder = baseline(&["baseline_print_added"]);
    let output = check(folder.path(), &["baseline_print_added"], NOTES);
    assert_eq!((code(&output), findings(&output).len()), (0, 0));
}

/// Numbers of instructions have shifted in between: the test would prove nothing otherwise.
#[test]
fn instructions_were_renumbered() {
    let instruction = |dump: &str, shape: &str| -> String {
        let output = check(root(), &[dump], &["--format", "json", "--isolated"]);
        let all = findings(&output);
        let found = all.iter().find(|finding| finding["shape"] == shape).unwrap();
        found["instruction"].to_string()
    };
    for shape in ["f32[32768,2048]", "f32[8192,2048]"] {
        let (before, now) =
            (instruction("baseline_known", shape), instruction("baseline_print_added", shape));
        assert_ne!(before, now, "{shape}");
    }
}

#[test]
fn a_baseline_only_shrinks() {
    let folder = baseline(&["baseline_print_added", "debug_print"]);
    let file = folder.path().join("known.json");
    let written = fs::read_to_string(&file).unwrap();
    let known = |text: &str| text.matches("\"fingerprint\"").count();
    // What is gone is said and changes nothing; of a program that was not checked nothing is known.
    let output = check(folder.path(), &["baseline_known"], NOTES);
    assert_eq!(code(&output), 0);
    let said = stderr(&output);
    assert!(
        said.contains(
            "1 finding of the baseline is gone: debug-print of f32[32768,2048] in jit_score"
        ),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
    let update = [COMPARE, &["--update-baseline"]].concat();
    let output = check(folder.path(), &["baseline_known"], &update);
    assert!(stderr(&output).contains("1 fewer"), "{}", stderr(&output));
    let smaller = fs::read_to_string(&file).unwrap();
    assert_eq!(known(&smaller), known(&written) - 1);
    // It never grows: the finding that came back is new.
    let output = check(folder.path(), &["baseline_print_added"], &update);
    assert_eq!((code(&output), findings(&output).len()), (1, 1));
    assert_eq!(fs::read_to_string(&file).unwrap(), smaller);
}

/// A finding that was known as a note is new as a warning.
#[test]
fn what_became_worse_is_new() {
    let folder = TempDir::new().unwrap();
    check(folder.path(), &["baseline_known"], &[WRITE, &["--min-share", "0.5"]].concat());
    let output = check(folder.path(), &["baseline_known"], COMPARE);
    assert_eq!((code(&output), findings(&output).len()), (1, 1));
    assert_eq!(stderr(&output), "", "worse is not gone");
}

#[test]
fn the_configuration_may_name_it() {
    let folder = baseline(&["baseline_known"]);
    fs::write(folder.path().join("hlolint.toml"), "baseline = 'known.json'").unwrap();
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    assert_eq!(code(&check(&below, &["baseline_known"], &[])), 0);
    assert_eq!(code(&check(&below, &["baseline_known"], &["--isolated"])), 1);
    let output = check(&below, &["baseline_known"], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("No findings.  2 known from the baseline."), "{text}");
}

#[test]
fn what_is_no_baseline() {
    let folder = baseline(&["baseline_known"]);
    fs::write(folder.path().join("other.json"), "{\"schema\": \"x/1\", \"findings\": []}").unwrap();
    for (options, said) in [
        (&["--baseline", "none.json"][..], "none.json: "),
        (&["--baseline", "other.json"], "a baseline of the form x/1"),
        (&["--update-baseline"], "--update-baseline without a baseline"),
        (&["--write-baseline", "no/such/folder/known.json"], "no/such/folder"),
    ] {
        let output = check(folder.path(), &["baseline_known"], options);
        assert_eq!(code(&output), 2, "{options:?}");
        assert!(stderr(&output).contains(said), "{options:?}: {}", stderr(&output));
    }
    // Half a baseline is none.
    let output =
        check(folder.path(), &["baseline_known", "missing"], &["--write-baseline", "half.json"]);
    assert_eq!(code(&output), 2);
    assert!(!folder.path().join("half.json").exists());
}
