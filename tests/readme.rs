//! Documents that are kept true: the output in README.md, and docs/rules.md, which is the rules' own
//! documentation. `UPDATE_DOCS=1 cargo test --test readme` writes them.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use std::fmt::Write;
use std::fs;
use support::root;

const RUN: &str = "<!-- run -->\n```console\n$ ";
const END: &str = "```\n";

/// Holds a file against what it should be, or writes it.
fn hold(file: &str, expected: &str) {
    let path = root().join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    if let Some((at, (now, then))) =
        expected.lines().zip(text.lines()).enumerate().find(|(_, (now, then))| now != then)
    {
        panic!("{file}:{}: is \"{then}\", should be \"{now}\"; set UPDATE_DOCS=1", at + 1);
    }
    assert_eq!(expected.lines().count(), text.lines().count(), "{file}; set UPDATE_DOCS=1");
}

fn output(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[0], "hlolint", "{command}");
    let mut binary = Command::cargo_bin("hlolint").unwrap();
    let output = binary.args(&words[1..]).current_dir(root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_tour_shows_real_output() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let mut expected = String::new();
    let mut rest = text.as_str();
    let mut count = 0;
    while let Some((before, behind)) = rest.split_once(RUN) {
        let (command, behind) = behind.split_once('\n').unwrap();
        let (_, behind) = behind.split_once(END).unwrap();
        write!(expected, "{before}{RUN}{command}\n{}{END}", output(command)).unwrap();
        rest = behind;
        count += 1;
    }
    expected.push_str(rest);
    assert!(count >= 5, "{count} commands");
    hold("README.md", &expected);
}

/// What the README names is there, and its links lead somewhere.
#[test]
fn the_readme_names_what_there_is() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    for link in text.split("](").skip(1).map(|part| part.split(')').next().unwrap()) {
        assert!(link.starts_with("http") || root().join(link).exists(), "no {link}");
    }
    for word in text.split(|c: char| c.is_whitespace() || "`()".contains(c)) {
        // A path of an output has a line behind it.
        let word = word.split(':').next().unwrap();
        if word.starts_with("testdata/") || word.starts_with("docs/") {
            assert!(root().join(word).exists(), "no {word}");
        }
    }
}

#[test]
fn the_rules_document_is_their_documentation() {
    let text = format!(
        "# Rules\n\nWritten from the rules' own documentation by `UPDATE_DOCS=1 cargo test --test \
         readme`; do not edit. A program that shows a rule, and the same one with the remedy, stand \
         in `testdata/pairs/RULE`.\n\n{}",
        hlolint::render::rules::markdown(&hlolint::report::rules::rules())
    );
    hold("docs/rules.md", &text);
}
