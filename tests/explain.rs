//! `hlolint rules` and `hlolint explain`, from outside.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use hlolint::lint::all_rules;
use predicates::str::contains;

fn hlolint(arguments: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("hlolint").unwrap().args(arguments).assert()
}

fn output(arguments: &[&str]) -> String {
    let output = hlolint(arguments).success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn every_rule_is_listed_and_explained() {
    let list = output(&["rules"]);
    let json: serde_json::Value =
        serde_json::from_str(&output(&["rules", "--format", "json"])).unwrap();
    assert_eq!(json["schema"], "hlolint.rules/1");
    assert_eq!(json["rules"].as_array().unwrap().len(), all_rules().len());
    for rule in all_rules() {
        let name = rule.meta().name;
        assert!(list.contains(name), "{name} is not listed");
        let text = output(&["explain", name]);
        for title in ["What it does", "Why it costs memory", "Example", "Remedy", "Configuration"] {
            assert!(text.contains(title), "{name} is explained without \"{title}\"");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}: a long line");
    }
}

#[test]
fn pages() {
    for page in ["E1000", "E1001"] {
        support::assert_snapshot("explain", page, &output(&["explain", page]));
    }
    support::assert_snapshot("explain", "debug-print", &output(&["explain", "debug-print"]));
}

#[test]
fn a_wrong_name_is_wrong_usage() {
    let near = contains("did you mean 'debug-print'");
    hlolint(&["explain", "debug_print"]).code(2).stderr(near);
}
