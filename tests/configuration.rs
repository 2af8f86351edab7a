//! hlolint.toml and the command line before it: every key changes what is said, mistakes are named with
//! their place, docs/configuration.md has every key.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use hlolint::config::keys::TABLES;
use predicates::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use support::root;
use tempfile::TempDir;

/// A folder with this hlolint.toml.
fn folder(toml: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("hlolint.toml"), toml).unwrap();
    folder
}

/// `hlolint check` in a folder.
fn check(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    command.current_dir(folder).arg("check");
    command
}

/// What `check` says of a dump of testdata under a hlolint.toml: exit code and JSON.
fn judge(toml: &str, dump: &str, options: &[&str]) -> (i32, Value) {
    let folder = folder(toml);
    let mut command = check(folder.path());
    let output =
        command.args(["--format", "json"]).arg(input(dump)).args(options).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{toml}\n{said}"));
    (output.status.code().unwrap(), report)
}

/// `testdata/NAME`.
fn input(name: &str) -> std::path::PathBuf {
    root().join("testdata").join(name)
}

const WHOLE: &str = "pairs/replicated-tensor/bad";
const PRINTS: &str = "pairs/debug-print/bad";
const LARGE: &str = "pairs/large-allocation/bad";
const FITS: &str = "dumps/mlp_donated";
const TRAINS: &str = "pairs/budget/bad";

/// The first finding of a rule.
fn of_rule(report: &Value, rule: &str) -> Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["rule"] == rule).cloned().unwrap_or(Value::Null)
}

/// Table, key, the file without and with the key, the dump, what is looked at, its value with the key.
/// Without the key it is another one.
type Case<'c> = (&'c str, &'c str, &'c str, &'c str, &'c str, fn(i32, &Value) -> Value, Value);

fn cases() -> Vec<Case<'static>> {
    fn hbm(report: &Value, field: &str) -> Value {
        report["modules"][0]["hbm"][field].clone()
    }
    let gib = |gib: u64| json!(gib << 30);
    vec![
        (
            "",
            "chip",
            "",
            "chip = 'b200'",
            "dumps/gpu_decode",
            |_, r| r["modules"][0]["chip"].clone(),
            json!("b200"),
        ),
        ("", "hbm", "", "hbm = '10GiB'", FITS, |_, r| hbm(r, "capacity_bytes"), gib(10)),
        (
            "",
            "reserve",
            "hbm = '10GiB'",
            "reserve = '4GiB'\nhbm = '10GiB'",
            FITS,
            |_, r| hbm(r, "available_bytes"),
            gib(6),
        ),
        ("", "max_total", "", "max-total = '1GiB'", FITS, |_, r| hbm(r, "available_bytes"), gib(1)),
        ("", "fail_on", "", "fail_on = 'error'", PRINTS, |code, _| json!(code), json!(0)),
        (
            "",
            "min_share",
            "",
            "min_share = 0.5",
            WHOLE,
            |_, r| of_rule(r, "replicated-tensor")["level"].clone(),
            json!("note"),
        ),
        (
            "",
            "min_bytes",
            "",
            "min_bytes = '10GiB'",
            PRINTS,
            |_, r| of_rule(r, "debug-print"),
            Value::Null,
        ),
        (
            "",
            "rules",
            "",
            "[rules]\ndebug-print = 'allow'",
            PRINTS,
            |_, r| of_rule(r, "debug-print"),
            Value::Null,
        ),
        (
            "",
            "ignore",
            "",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'",
            PRINTS,
            |code, _| json!(code),
            json!(0),
        ),
        (
            "",
            "budget",
            "",
            "[[budget]]\nmodule = '*'\nmax_total = 1",
            FITS,
            |code, _| json!(code),
            json!(1),
        ),
        (
            "[rules.NAME]",
            "level",
            "[rules.debug-print]",
            "[rules.debug-print]\nlevel = 'error'",
            PRINTS,
            |_, r| of_rule(r, "debug-print")["level"].clone(),
            json!("error"),
        ),
        (
            "[rules.NAME]",
            "min_share",
            "[rules.replicated-tensor]",
            "[rules.replicated-tensor]\nmin_share = 0.9",
            WHOLE,
            |_, r| of_rule(r, "replicated-tensor")["level"].clone(),
            json!("note"),
        ),
        (
            "[rules.NAME]",
            "min_bytes",
            "[rules.debug-print]",
            "[rules.debug-print]\nmin-bytes = '10GiB'",
            PRINTS,
            |_, r| of_rule(r, "debug-print"),
            Value::Null,
        ),
        (
            "[rules.NAME]",
            "share",
            "[rules.large-allocation]",
            "[rules.large-allocation]\nshare = 0.99",
            LARGE,
            |_, r| of_rule(r, "large-allocation"),
            Value::Null,
        ),
        (
            "[[ignore]]",
            "rule",
            "[[ignore]]\nrule = 'budget'\nreason = 'x'",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'",
            PRINTS,
            |_, r| of_rule(r, "debug-print"),
            Value::Null,
        ),
        (
            "[[ignore]]",
            "reason",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'wanted'",
            PRINTS,
            |_, r| r["suppressed"][0]["reason"].clone(),
            json!("wanted"),
        ),
        (
            "[[ignore]]",
            "module",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'\nmodule = 'jit_other*'",
            PRINTS,
            |code, _| json!(code),
            json!(1),
        ),
        (
            "[[ignore]]",
            "op_name",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'\nop_name = 'jit(other)/*'",
            PRINTS,
            |code, _| json!(code),
            json!(1),
        ),
        (
            "[[ignore]]",
            "shape",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'",
            "[[ignore]]\nrule = 'debug-print'\nreason = 'x'\nshape = 'f32[1]'",
            PRINTS,
            |code, _| json!(code),
            json!(1),
        ),
        (
            "[[budget]]",
            "module",
            "[[budget]]\nmodule = 'jit_train*'\nmax_total = 1",
            "[[budget]]\nmodule = 'jit_eval*'\nmax_total = 1",
            TRAINS,
            |_, r| of_rule(r, "budget"),
            Value::Null,
        ),
        (
            "[[budget]]",
            "max_total",
            "[[budget]]\nmodule = 'jit_train*'\nmax_peak = '10GiB'",
            "[[budget]]\nmodule = 'jit_train*'\nmax_peak = '10GiB'\nmax_total = '1GiB'",
            TRAINS,
            |_, r| of_rule(r, "budget")["bytes"].clone(),
            json!(1_086_407_168_u64 - (1 << 30)),
        ),
        (
            "[[budget]]",
            "max_peak",
            "[[budget]]\nmodule = 'jit_train*'\nmax_total = '10GiB'",
            "[[budget]]\nmodule = 'jit_train*'\nmax_total = '10GiB'\nmax_peak = '1MiB'",
            TRAINS,
            |_, r| of_rule(r, "budget")["rule"].clone(),
            json!("budget"),
        ),
    ]
}

#[test]
fn every_key_changes_what_is_said() {
    let mut tested: BTreeSet<(&str, &str)> = BTreeSet::from([("", "baseline")]); // tests/baseline.rs
    for (table, key, without, with, dump, look, expected) in cases() {
        let (code, report) = judge(without, dump, &[]);
        assert_ne!(look(code, &report), expected, "without {table} {key}");
        let (code, report) = judge(with, dump, &[]);
        assert_eq!(look(code, &report), expected, "with {table} {key}");
        tested.insert((table, key));
    }
    for table in TABLES {
        for key in table.keys {
            assert!(
                tested.contains(&(table.head, key.name)),
                "no case of {} {}",
                table.head,
                key.name
            );
        }
    }
}

/// What the command line says comes before what the file says.
#[test]
fn the_command_line_comes_first() {
    let file = "hbm = '10GiB'\nmax_total = '1MiB'\nreserve = '1GiB'\nfail_on = 'never'\n\
                min_share = 0.9\nmin_bytes = '10GiB'\n[rules]\ndebug-print = 'allow'\n";
    let options = [
        "--hbm=15GiB",
        "--max-total=12GiB",
        "--reserve=2GiB",
        "--fail-on=warn",
        "--min-share=0.01",
        "--min-bytes=1MiB",
        "-D=debug-print",
    ];
    let (code, report) = judge(file, PRINTS, &[]);
    assert_eq!((code, of_rule(&report, "debug-print")), (0, Value::Null));
    let (code, report) = judge(file, PRINTS, &options);
    assert_eq!((code, of_rule(&report, "debug-print")["level"].clone()), (1, json!("error")));
    assert_eq!(report["modules"][0]["hbm"]["capacity_bytes"], json!(15_u64 << 30));
    assert_eq!(report["modules"][0]["hbm"]["available_bytes"], json!(12_u64 << 30));
}

#[test]
fn levels_on_the_command_line() {
    let level = |options: &[&str]| {
        let (code, report) = judge("", PRINTS, options);
        (code, of_rule(&report, "debug-print")["level"].clone())
    };
    assert_eq!(level(&[]), (1, json!("warn")));
    assert_eq!(level(&["-A", "debug-print"]), (0, Value::Null));
    assert_eq!(level(&["--allow", "debug-print"]), (0, Value::Null));
    assert_eq!(level(&["-D", "debug-print", "--fail-on", "error"]), (1, json!("error")));
    assert_eq!(level(&["--deny", "debug-print", "--exit-zero"]), (0, json!("error")));
    let level = |options: &[&str]| {
        let (code, report) = judge("", "dumps/attention_oom", options);
        (code, of_rule(&report, "hbm-over-capacity")["level"].clone())
    };
    assert_eq!(level(&["--fail-on", "error"]), (1, json!("error")));
    assert_eq!(level(&["-W", "hbm-over-capacity", "--fail-on", "error"]), (0, json!("warn")));
    for (options, said) in [
        (["-D", "debug-prints"], "did you mean 'debug-print'?"),
        (["-A=debug-print", "-D=debug-print"], "debug-print is given two levels"),
        (["--exit-zero", "--fail-on=note"], "cannot be used with"),
    ] {
        let folder = folder("");
        let mut command = check(folder.path());
        let assert = command.arg(input(PRINTS)).args(options).assert();
        assert.code(2).stderr(predicate::str::contains(said));
    }
}

#[test]
fn mistakes_name_their_place_and_what_was_meant() {
    let folder = folder("chip = 'v5e'\n[rules]\nlarge-alocation = 'allow'\ndebug-print = 'of'\n");
    let output = check(folder.path()).arg(input(FITS)).assert().code(2).stdout("");
    output.stderr(
        predicate::str::contains("hlolint.toml:3:1")
            .and(predicate::str::contains("did you mean 'large-allocation'?"))
            .and(predicate::str::contains("hlolint.toml:4:15"))
            .and(predicate::str::contains("wrong in 2 places")),
    );
}

#[test]
fn the_nearest_file_is_taken() {
    let outer = folder("max_total = '1MiB'");
    let inner = outer.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    let code = |folder: &Path, options: &[&str]| {
        let mut command = check(folder);
        command.arg(input(FITS)).args(options).output().unwrap().status.code().unwrap()
    };
    assert_eq!(code(&inner, &[]), 1, "of the folder above");
    assert_eq!(code(&inner, &["--isolated"]), 0);
    fs::write(outer.path().join("a/hlolint.toml"), "hbm = '1GiB'").unwrap();
    assert_eq!(code(&inner, &[]), 0, "the nearer one alone");
    assert_eq!(code(&inner, &["--config", "../../hlolint.toml"]), 1);
    assert_eq!(code(&inner, &["--config", "other.toml"]), 2);
    assert_eq!(code(&inner, &["--config", "../hlolint.toml", "--isolated"]), 2);
    fs::write(outer.path().join("a/hlolint.toml"), "hbn = 1").unwrap();
    check(&inner)
        .arg(input(FITS))
        .assert()
        .code(2)
        .stderr(predicate::str::contains("../hlolint.toml:1:1"));
}

/// An ignore is of no use where a program that it could be about was checked and has no such finding.
#[test]
fn what_matches_nothing_is_said() {
    let said = |toml: &str| {
        let folder = folder(toml);
        let output = check(folder.path()).arg(input(FITS)).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    let ignore = "\n[[ignore]]\nrule = 'debug-print'\nreason = 'x'\n";
    assert!(said(ignore).contains("hlolint.toml:2: this ignore of debug-print matches no finding"));
    assert_eq!(said(&format!("{ignore}module = 'jit_other'")), "");
    let budget = "[[budget]]\nmodule = 'jit_train*'\nmax_total = 1";
    assert!(said(budget).contains("no program is called jit_train*"));
}

#[test]
fn what_is_ignored_is_counted() {
    let folder = folder("[[ignore]]\nrule = 'debug-print'\nreason = 'wanted'");
    let output = check(folder.path()).arg(input(PRINTS)).assert().code(0);
    output.stdout(predicate::str::contains("No findings.  1 ignored."));
}

/// What --show-settings prints is a hlolint.toml that says the same.
#[test]
fn settings_are_shown_as_a_file() {
    let toml = "hbm = '10GiB'\n[rules.large-allocation]\nshare = 0.25\n";
    let shown = |folder: &Path, options: &[&str]| {
        let output = check(folder).args(["--show-settings"]).args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let first = shown(folder(toml).path(), &["-A", "debug-print", "--reserve", "1000000"]);
    for line in ["hbm = \"10GiB\"", "share = 0.25", "level = \"allow\"", "reserve = 1000000"] {
        assert!(first.lines().any(|other| other == line), "{line}\n{first}");
    }
    assert!(first.contains("# fail_on = \"warn\""), "{first}");
    assert_eq!(shown(folder(&first).path(), &[]), first);
}

/// The tables of docs/configuration.md are the keys; its example is read.
#[test]
fn every_key_is_documented() {
    let path = root().join("docs/configuration.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut expected = String::new();
    let mut rest = text.as_str();
    for table in TABLES {
        let (start, end) = (format!("<!-- keys of {} -->\n", table.head), "<!-- end of keys -->");
        let (before, behind) = rest.split_once(&start).unwrap_or_else(|| panic!("no {start}"));
        let (_, behind) = behind.split_once(end).unwrap();
        expected += &format!("{before}{start}{}\n\n", table.documentation);
        expected += "| key | value | what | option of `check` |\n| --- | --- | --- | --- |\n";
        for key in table.keys {
            let flag = key.flag.map(|flag| format!("`{flag}`")).unwrap_or_default();
            let (name, value, what) = (key.name, key.value, key.documentation);
            expected += &format!("| `{name}` | {value} | {what} | {flag} |\n");
        }
        expected += end;
        rest = behind;
    }
    expected += rest;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(expected == fs::read_to_string(&path).unwrap(), "set UPDATE_DOCS=1");
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = folder(example);
    check(folder.path()).arg("--show-settings").assert().code(0).stderr("");
}
