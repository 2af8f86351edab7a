//! The way out of programs that do not fit: each step is what the memory analysis says of all steps
//! up to it, each path ends with something that fits.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::Settings;
use hlolint::render::text::{Options, check};
use hlolint::report::check::CheckReport;
use hlolint::report::way_out::{Basis, Path, WayOut};
use std::path::Path as FilePath;
use support::{fixtures, report};

/// What is said of a program that may need so much at most.
fn limited(path: &FilePath, max_total_bytes: u64) -> CheckReport {
    let settings = Settings { max_total_bytes: Some(max_total_bytes), ..Settings::default() };
    report(path, &settings)
}

fn way_out(path: &str, max_total_bytes: u64) -> WayOut {
    limited(FilePath::new(path), max_total_bytes).modules[0].way_out.clone().unwrap()
}

fn words(path: &Path) -> Vec<String> {
    path.steps.iter().map(|step| step.action.clone()).collect()
}

const MIB: u64 = 1 << 20;

/// Steps follow each other, each saves something, and what is said to fit does. Over every program and
/// several maxima.
#[test]
fn steps_lead_to_something_that_fits() {
    let (mut paths, mut longest) = (0, 0);
    for fixture in fixtures() {
        let module = &fixture.report.modules.first();
        let Some(required) = module.map(|module| module.hbm.required_bytes) else { continue };
        for available in [required / 10 * 9, required / 2, required / 5] {
            let report = limited(&fixture.path, available);
            let Some(found) = &report.modules[0].way_out else { continue };
            for path in &found.paths {
                let mut left = required;
                for step in &path.steps {
                    let what = format!("{}, {available}: {}", fixture.name, step.action);
                    assert_eq!(step.before_bytes, left, "{what}");
                    assert!(step.required_bytes_after < left, "{what}");
                    assert!(step.alone_bytes < required, "{what}");
                    // With others before it a step leaves no more than alone.
                    assert!(step.required_bytes_after <= step.alone_bytes, "{what}");
                    left = step.required_bytes_after;
                }
                assert_eq!(path.fits, left <= available, "{}: {:?}", fixture.name, words(path));
                (paths, longest) = (paths + 1, longest.max(path.steps.len()));
            }
        }
    }
    assert!(paths > 50 && longest >= 2, "{paths} paths, {longest} steps");
}

#[test]
fn a_remedy_that_is_enough_stands_alone() {
    let found = way_out("testdata/pairs/stacked-residuals/bad", u64::MAX);
    let [path] = found.paths.as_slice() else { panic!("{found:?}") };
    assert_eq!(words(path), ["jax.checkpoint around the scanned layer"]);
    assert!(path.fits);
}

/// Where one remedy is not enough the batch is cut, or more devices share it, with the remedy first.
#[test]
fn what_is_not_enough_goes_on() {
    let found = way_out("testdata/pairs/stacked-residuals/bad", 4 << 30);
    let all: Vec<Vec<String>> = found.paths.iter().map(words).collect();
    let first = "jax.checkpoint around the scanned layer";
    assert_eq!(
        all,
        [
            [first, "a batch of 16384 instead of 32768"],
            [first, "shard state and batch over 2 devices"]
        ]
    );
    assert_eq!(found.paths[1].steps[1].basis, Basis::EvenSplit);
}

/// Two prints each free the same bytes: the second is no step of its own.
#[test]
fn savings_are_not_added() {
    let found = way_out("testdata/dumps/debug_print", MIB);
    for path in &found.paths {
        let prints = path.steps.iter().filter(|step| step.action.starts_with("print")).count();
        assert!(prints <= 1, "{:?}", words(path));
    }
}

#[test]
fn its_lines_are_no_wider_than_the_report() {
    for fixture in fixtures() {
        let text = check(&limited(&fixture.path, 64 * MIB), Options::default());
        let text = anstream::adapter::strip_str(&text).to_string();
        let Some((_, found)) = text.split_once("\nThe way out\n") else { continue };
        for line in found.lines().take_while(|line| !line.is_empty()) {
            assert!(line.chars().count() <= 100, "{}: {line}", fixture.name);
        }
    }
}
