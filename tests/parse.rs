//! `hlolint parse` and `hlolint print` from outside.

#![allow(clippy::expect_used, reason = "tests")]

use assert_cmd::Command;
use predicates::prelude::*;
use std::path::{Path, PathBuf};

fn hlolint() -> Command {
    let mut command = Command::cargo_bin("hlolint").expect("the binary");
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn good_texts_are_read() {
    hlolint().arg("parse").args(files("testdata/text/ok")).assert().success();
}

#[test]
fn bad_texts_fail_with_a_place() {
    let bad = files("testdata/text/bad");
    assert!(bad.len() >= 8);
    for file in bad {
        let output = hlolint().args(["parse", "--format", "json-lines"]).arg(&file).output();
        let output = output.expect("output");
        assert_eq!(output.status.code(), Some(2), "{}", file.display());
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(line["ok"], false);
        assert!(line["line"].is_u64() && line["column"].is_u64(), "{line}");
        hlolint()
            .arg("parse")
            .arg(&file)
            .assert()
            .code(2)
            .stderr(predicate::str::contains("error"));
    }
}

#[test]
fn messages_say_what_and_where() {
    for (file, place, message) in [
        ("undefined_operand", "5:26", "instruction q is not defined above in this computation"),
        ("truncated_in_string", "5:48", "the file ends inside a string"),
        ("truncated_in_word", "5:19", "the file ends inside computation e"),
        ("unknown_attribute", "5:30", "negate has no attribute bogus"),
        ("unknown_opcode", "5:19", "unknown opcode frobnicate"),
        ("nul", "6:1", "a NUL byte is no part of HLO text"),
        ("not_utf8", "4:35", "this byte is not UTF-8 text"),
    ] {
        let path = format!("testdata/text/bad/{file}.hlo");
        hlolint()
            .args(["parse", &path])
            .assert()
            .code(2)
            .stderr(predicate::str::contains(format!("{path}:{place}")))
            .stderr(predicate::str::contains(message));
    }
}

#[test]
fn json_lines_in_the_order_of_the_arguments() {
    let output = hlolint()
        .args(["parse", "--format", "json-lines"])
        .args(["testdata/text/ok/crlf.hlo", "testdata/text/bad/nul.hlo"])
        .args(["testdata/text/ok/async_sugar.hlo", "no/such/file.txt"])
        .output()
        .expect("output");
    assert_eq!(output.status.code(), Some(2));
    let lines: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .expect("UTF-8")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines[0]["file"], "testdata/text/ok/crlf.hlo");
    assert_eq!(lines[1]["ok"], false);
    assert_eq!(lines[2]["opcodes"]["async-start"], 1);
    assert_eq!(lines[2]["opcodes"]["slice"], 1);
    assert_eq!(lines[2]["computations"], 2);
    assert_eq!(lines[2]["instructions"], 6);
}

#[test]
fn a_text_on_stdin() {
    hlolint()
        .args(["parse", "-", "--format", "json-lines"])
        .write_stdin("HloModule m ENTRY e { ROOT p = f32[] parameter(0) }")
        .assert()
        .success()
        .stdout(predicate::str::contains(r#""name":"m","computations":1,"instructions":1"#));
}

#[test]
fn older_syntax_is_read_with_a_warning() {
    hlolint()
        .args(["parse", "testdata/text/ok/older_syntax.hlo"])
        .assert()
        .success()
        .stderr(predicate::str::contains("cross-replica-sum is an opcode of an earlier version"));
}

#[test]
fn print_gives_text_that_prints_the_same() {
    for file in files("testdata/text/ok") {
        let first = hlolint().arg("print").arg(&file).output().expect("output");
        assert!(first.status.success(), "{}", file.display());
        hlolint()
            .args(["print", "-"])
            .write_stdin(first.stdout.clone())
            .assert()
            .success()
            .stdout(predicate::eq(first.stdout));
    }
}

#[test]
fn print_one_computation() {
    let file = "testdata/text/ok/older_syntax.hlo";
    hlolint()
        .args(["print", file, "--computation", "%sum"])
        .assert()
        .success()
        .stdout(predicate::str::starts_with("%sum {\n  %a = f32[] parameter(0)\n"));
    hlolint().args(["print", file, "--computation", "other"]).assert().code(2);
}
