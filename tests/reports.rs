//! What `check` and `verify` say of every program in testdata, as snapshots: `snapshots/check` for a
//! person, `snapshots/json` for a machine, `snapshots/rules` by rule, `snapshots/verify`.
//! `INSTA_UPDATE=always cargo test --test reports` writes them; read the difference.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::Settings;
use hlolint::render::{self, text::Options};
use hlolint::report::check::CheckReport;
use hlolint::report::verify::{Report, verify};
use std::fmt::Write;
use std::path::Path;
use support::{assert_snapshot, fixtures};

/// What a person sees without colours: errors and notes first, then the report.
fn plain(report: &CheckReport, verbose: bool) -> String {
    let mut text = render::text::diagnostics(&report.diagnostics);
    text += &render::text::check(report, Options { verbose, ..Options::default() });
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn check_for_a_person() {
    for fixture in fixtures() {
        assert_snapshot("check", &fixture.name, &plain(&fixture.report, false));
    }
}

/// Everything, of programs that show something of everything.
#[test]
fn check_for_a_person_who_wants_everything() {
    for name in ["debug_print", "replicated_state", "scan_oom", "cpu_softmax"] {
        let fixture = support::fixture(name);
        assert_snapshot("check", &format!("{name}-verbose"), &plain(&fixture.report, true));
    }
}

#[test]
fn check_for_a_machine() {
    for fixture in fixtures() {
        let json = render::json::pretty(&fixture.report).unwrap();
        assert_snapshot("json", &fixture.name, &json);
    }
}

/// Every rule over every program: a line in another rule's fixture is a false alarm until shown
/// otherwise.
#[test]
fn rules_over_all_of_testdata() {
    for rule in hlolint::lint::all_rules() {
        let name = rule.meta().name;
        let mut text = String::new();
        for fixture in fixtures() {
            let mut said = String::new();
            for finding in &fixture.report.findings {
                if finding.rule == name {
                    let (level, message) = (finding.level.as_str(), &finding.message);
                    writeln!(said, "  {level}: {message}").unwrap();
                }
                for line in finding.also_seen.iter().filter(|_| finding.rule != name) {
                    if line.contains(name) {
                        writeln!(said, "  beside {}: {line}", finding.rule).unwrap();
                    }
                }
            }
            if !said.is_empty() {
                write!(text, "{}\n{said}", fixture.path.display()).unwrap();
            }
        }
        text.push_str("silent on all others\n");
        assert_snapshot("rules", name, &text);
    }
}

#[test]
fn the_same_bytes_twice() {
    for fixture in fixtures() {
        let again = support::report(&fixture.path, &fixture.settings);
        let json = |report| render::json::pretty(report).unwrap();
        assert_eq!(json(&again), json(&fixture.report), "{}", fixture.name);
    }
}

/// A line a program; where a figure differs, the first that does.
#[test]
fn verify_for_a_person() {
    for folder in ["dumps", "pairs"] {
        let dump = support::open(&Path::new("testdata").join(folder));
        let (mut modules, mut not_compared, mut diagnostics) = (Vec::new(), Vec::new(), Vec::new());
        for program in &dump.programs {
            let outcome = verify(program, &Settings::default());
            modules.extend(outcome.module);
            not_compared.extend(outcome.not_compared);
            diagnostics.extend(outcome.diagnostics);
        }
        let report = Report::new(modules, not_compared, diagnostics);
        let text = anstream::adapter::strip_str(&render::verify::text(&report)).to_string();
        assert_snapshot("verify", &format!("all-{folder}"), &text);
    }
}
