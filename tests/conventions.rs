//! Conventions that no compiler checks: rules, their documentation, fixtures and snapshots belong
//! together; messages read alike; bytes are named; nothing panics; nothing of a maker's machine gets
//! in.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::keys;
use hlolint::lint::all_rules;
use std::collections::BTreeSet;
use std::fs;
use support::{file_name, fixture, fixtures, own_files, root};

/// Rules whose `bad` program does not fire yet, and why. A rule that fires must leave this list.
const DO_NOT_FIRE_YET: &[(&str, &str)] = &[];

/// Places in `src` that may panic, and why they cannot.
const MAY_PANIC: &[(&str, &str)] = &[];

/// Words with a capital that a message may start with.
const PROPER_NAMES: &[&str] =
    &["XLA", "HBM", "VMEM", "SMEM", "SparseCore", "SparseCores", "Pallas", "JAX"];

/// Hosts that a file may name.
const HOSTS: &[&str] = &[
    "github.com",
    "openxla.org",
    "www.apache.org",
    "docs.jax.dev",
    "docs.oasis-open.org",
    "json-schema.org",
];

#[test]
fn every_rule_has_its_name_file_documentation_and_fixtures() {
    let mut names = BTreeSet::new();
    for rule in all_rules() {
        let meta = rule.meta();
        let name = meta.name;
        assert!(names.insert(name), "two rules {name}");
        let is_kebab = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        assert!(name.split('-').all(is_kebab), "{name} is not kebab-case");
        let file = format!("src/lint/rules/{}.rs", name.replace('-', "_"));
        assert!(root().join(&file).is_file(), "{name} has no {file}");
        for side in ["bad", "good"] {
            let folder = format!("testdata/pairs/{name}/{side}");
            assert!(root().join(&folder).is_dir(), "{name} has no {folder}");
        }
        is_documented(name, meta.documentation);
        reads_well(&format!("{name}: summary"), meta.summary);
        assert!(!meta.reference.section.is_empty(), "{name} refers to no section");
        for threshold in meta.thresholds {
            let is_key = keys::RULE.key(threshold.name).is_some();
            assert!(!is_key, "{name}: {} is a key of every rule", threshold.name);
        }
    }
    for folder in ["src/lint/rules", "testdata/pairs"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let file = file_name(&entry.unwrap().path());
            let name = file.trim_end_matches(".rs").replace('_', "-");
            assert!(
                file == "mod.rs" || names.contains(name.as_str()),
                "no rule for {folder}/{file}"
            );
        }
    }
}

/// All sections are there, in order, and say something.
fn is_documented(name: &str, documentation: &str) {
    let sections = ["What it does:", "Why it costs memory:", "Example:", "Remedy:", "References:"];
    let starts: Vec<usize> = sections
        .iter()
        .map(|section| {
            let at = documentation.find(section);
            let at = at.unwrap_or_else(|| panic!("{name} is documented without \"{section}\""));
            assert!(at == 0 || documentation[..at].ends_with('\n'), "{name}: {section} in a line");
            at
        })
        .collect();
    assert!(starts.is_sorted(), "{name}: sections in another order than {sections:?}");
    let ends = starts[1..].iter().copied().chain([documentation.len()]);
    for ((start, end), section) in starts.iter().zip(ends).zip(sections) {
        let text = documentation[*start..end].trim_start_matches(section).trim();
        assert!(text.len() > 10, "{name}: nothing in \"{section}\"");
    }
}

/// Lower case (or a figure, or a name), no full stop.
fn reads_well(what: &str, message: &str) {
    let first = message.split([' ', ':', ',']).next().unwrap_or("");
    let small = message.chars().next().is_some_and(|c| !c.is_uppercase());
    assert!(small || PROPER_NAMES.contains(&first), "{what} starts with a capital: {message}");
    assert!(!message.trim_end().ends_with(['.', '!']), "{what} ends like a sentence: {message}");
    assert!(!message.contains('\n'), "{what} has several lines: {message}");
}

#[test]
fn every_rule_fires_on_bad_and_is_silent_on_good() {
    for rule in all_rules() {
        let name = rule.meta().name;
        let fires = |side: &str| {
            let fixture = fixture(&format!("{name}-{side}"));
            // A rule whose bytes another one speaks of, because its remedy saves more, has fired.
            let behind = format!("{name}: ");
            fixture.report.findings.iter().any(|finding| {
                finding.rule == name
                    || finding.also_seen.iter().any(|seen| seen.starts_with(&behind))
            })
        };
        match DO_NOT_FIRE_YET.iter().find(|(rule, _)| *rule == name) {
            Some(_) => assert!(!fires("bad"), "{name} fires: take it off DO_NOT_FIRE_YET"),
            None => assert!(fires("bad"), "{name} does not fire on testdata/pairs/{name}/bad"),
        }
        assert!(!fires("good"), "{name} fires on testdata/pairs/{name}/good");
        let snapshot = root().join(format!("snapshots/rules/{name}.snap"));
        let text = fs::read_to_string(&snapshot).unwrap_or_default();
        assert!(text.contains("silent on"), "no snapshots/rules/{name}.snap");
    }
    for (name, _) in DO_NOT_FIRE_YET {
        assert!(all_rules().iter().any(|rule| rule.meta().name == *name), "no rule {name}");
    }
}

#[test]
fn findings_read_alike() {
    for fixture in fixtures() {
        for finding in &fixture.report.findings {
            let what = format!("{} in {}", finding.rule, fixture.name);
            reads_well(&what, &finding.message);
            assert!(!finding.help.is_empty(), "{what} has no help");
            for text in finding.details.iter().chain([&finding.help]) {
                assert!(!text.trim_end().ends_with('.'), "{what} ends with a full stop: {text}");
            }
            assert!(finding.message.contains(|c: char| c.is_ascii_digit()), "{what}: no figure");
            assert!(finding.location.is_some(), "{what} has no place in the text");
            assert_eq!(finding.fingerprint.len(), 16, "{what}");
        }
        for diagnostic in &fixture.report.diagnostics {
            reads_well(&fixture.name, &diagnostic.message);
        }
    }
}

/// The lines of `src` outside test modules, with their places.
fn code_lines() -> Vec<(String, String)> {
    let is_code = |path: &str| {
        path.starts_with("src/") && !path.ends_with("_test.rs") && !path.ends_with("/tests.rs")
    };
    let files = own_files().into_iter().filter(|(path, _)| is_code(path));
    files
        .flat_map(|(path, text)| {
            let end = text.find("#[cfg(test)]").unwrap_or(text.len());
            let lines: Vec<(String, String)> = text[..end]
                .lines()
                .enumerate()
                .filter(|(_, line)| !line.trim_start().starts_with("//"))
                .map(|(at, line)| (format!("{path}:{}", at + 1), line.to_owned()))
                .collect();
            lines
        })
        .collect()
}

#[test]
fn nothing_panics() {
    let words = [".unwrap()", ".expect(", "panic!(", "unreachable!(", "todo!(", "unimplemented!("];
    let mut wrong = Vec::new();
    for (place, line) in code_lines() {
        let allowed =
            MAY_PANIC.iter().any(|(file, code)| place.starts_with(file) && line.contains(code));
        if words.iter().any(|word| line.contains(word)) && !allowed {
            wrong.push(format!("{place}: {}", line.trim()));
        }
    }
    assert!(wrong.is_empty(), "may panic:\n{}", wrong.join("\n"));
}

/// A public number that its comment calls bytes, or that is named after memory, is named `_bytes`.
#[test]
fn bytes_are_named() {
    let about_memory = ["capacity", "total", "required", "peak", "padded", "fragmentation", "hbm"];
    let mut wrong = Vec::new();
    let files = own_files().into_iter().filter(|(path, _)| path.starts_with("src/"));
    for (path, text) in files {
        let mut comment = String::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(more) = line.strip_prefix("///") {
                comment.push_str(more);
                continue;
            }
            let said = std::mem::take(&mut comment).to_lowercase();
            let Some((name, kind)) =
                line.strip_prefix("pub ").and_then(|field| field.split_once(": "))
            else {
                continue;
            };
            let is_number = ["u64,", "Option<u64>,", "i64,"].contains(&kind);
            let is_bytes = about_memory.iter().any(|word| name.contains(word))
                || said.split(|c: char| !c.is_alphanumeric()).any(|word| word == "bytes");
            let exempt = ["offset", "line", "column", "span", "start", "end"];
            if is_number
                && is_bytes
                && name != "bytes"
                && !name.trim_end_matches("_after").ends_with("_bytes")
                && !exempt.contains(&name)
            {
                wrong.push(format!("{path}:{}: {name}", at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "bytes by another name:\n{}", wrong.join("\n"));
}

#[test]
fn no_machine_and_no_unknown_host_is_named() {
    // Put together here, so that this file does not name them.
    let homes = ["root", "home", "work", "tmp/bash", "Users"].map(|name| format!("/{name}/"));
    let mut wrong = Vec::new();
    for (path, text) in own_files() {
        for (at, line) in text.lines().enumerate() {
            let place = || format!("{path}:{}: {}", at + 1, line.trim());
            if homes.iter().any(|home| line.contains(home.as_str())) {
                wrong.push(place());
            }
            for part in line.split("://").skip(1) {
                let host: String =
                    part.chars().take_while(|c| c.is_alphanumeric() || ".-".contains(*c)).collect();
                if !host.is_empty() && host.contains('.') && !HOSTS.contains(&host.as_str()) {
                    wrong.push(place());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "machine paths or hosts:\n{}", wrong.join("\n"));
}

/// A dump names no folder of the machine that made it.
#[test]
fn dumps_name_no_machine() {
    let homes = ["root", "home", "work", "Users"].map(|name| format!("/{name}/"));
    for folder in ["testdata/dumps", "testdata/pairs"] {
        for entry in walkdir::WalkDir::new(root().join(folder)) {
            let entry = entry.unwrap();
            let Ok(text) = fs::read_to_string(entry.path()) else { continue };
            let named = homes.iter().find(|home| text.contains(home.as_str()));
            assert!(named.is_none(), "{} names {named:?}", entry.path().display());
        }
    }
}

/// Nobody forgets a snapshot: each belongs to a test that is there, and none waits to be accepted.
#[test]
fn no_snapshot_is_left_over() {
    let programs: BTreeSet<&str> = fixtures().iter().map(|f| f.name.as_str()).collect();
    let rules: BTreeSet<&str> = all_rules().iter().map(|rule| rule.meta().name).collect();
    let code: String = own_files()
        .into_iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(_, text)| text)
        .collect();
    for entry in walkdir::WalkDir::new(root().join("snapshots")) {
        let path = entry.unwrap().into_path();
        if path.is_dir() {
            continue;
        }
        let (folder, file) = (file_name(path.parent().unwrap()), file_name(&path));
        let Some(name) = file.strip_suffix(".snap") else {
            panic!("{} is no accepted snapshot", path.display());
        };
        let text = fs::read_to_string(&path).unwrap();
        let source = text.lines().find_map(|line| line.strip_prefix("source: ")).unwrap_or("");
        assert!(root().join(source).is_file(), "{file}: its test {source} is gone");
        let program = name.trim_end_matches("-verbose");
        let known = match folder.as_str() {
            "check" | "json" | "snapshot" => programs.contains(program),
            "rules" => rules.contains(name),
            "verify" if name.starts_with("all-") => true,
            _ => code.contains(&format!("\"{name}\"")),
        };
        assert!(known, "no test names snapshots/{folder}/{file}");
    }
}
