//! `hlolint verify` over testdata: figures that XLA wrote, and what is said when they differ.

#![allow(clippy::unwrap_used)] // a helper of a test fails by panicking

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn dumps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/dumps")
}

/// Exit code, and the output as text.
fn run(arguments: &[&str]) -> (i32, String) {
    let output = Command::cargo_bin("hlolint").unwrap().arg("verify").args(arguments).output();
    let output = output.unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn json(path: &Path) -> (i32, Value) {
    let (code, text) = run(&[path.to_str().unwrap(), "--format", "json"]);
    (code, serde_json::from_str(&text).unwrap())
}

/// A copy of a dump whose files a test may change.
fn copy(name: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    for entry in fs::read_dir(dumps().join(name)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, directory.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    directory
}

/// The file of a directory whose name ends so.
fn file(directory: &Path, ending: &str) -> PathBuf {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_str().unwrap().ends_with(ending)).min().unwrap()
}

fn change(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} is not in {}", path.display());
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn testdata_is_exact() {
    let (code, report) = json(&dumps());
    assert_eq!(report["schema"], "hlolint.verify/1");
    let tpu: Vec<&Value> = report["modules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|module| module["backend"] == "tpu")
        .collect();
    assert!(tpu.len() >= 12, "{} TPU modules", tpu.len());
    for module in tpu {
        assert_eq!(module["exact"], true, "{module}");
        for figure in ["sizes", "live_ranges", "allocations", "offsets"] {
            assert_eq!(module[figure]["equal"], module[figure]["of"], "{figure} {module}");
        }
        for figure in ["peak", "total", "required", "xla_live_range_peak"] {
            assert_eq!(module[figure]["ours"], module[figure]["xla"], "{figure} {module}");
        }
    }
    assert!([0, 1].contains(&code));
}

#[test]
fn one_module_in_one_line() {
    let (code, text) = run(&[dumps().join("mlp_donated").to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("exact "), "{text}");
    assert!(text.ends_with("\nexact: 1 of 1\n"), "{text}");
}

/// A changed figure of XLA is a disagreement that names value, both figures and the line.
#[test]
fn the_first_disagreement_is_named() {
    let live_range = "-live-range.txt";
    let assignment = "-buffer-assignment.txt";
    let report = "-memory-usage-report.txt";
    let source = copy("mlp_donated");
    let text = fs::read_to_string(file(source.path(), assignment)).unwrap();
    let value = text.lines().find(|line| line.contains("maybe-live-out:")).unwrap();
    let size = value.split("size ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    let table = [
        (
            live_range,
            "  BufferLiveRange:\n    ",
            "  BufferLiveRange:\n    other.9{}:0-1\n    ",
            "live_range",
            0,
        ),
        (live_range, "    0:", "    0:other", "schedule", 0),
        (report, "Total bytes: ", "Total bytes: 1", "total", 1),
        (assignment, &format!(": size {size}"), ": size 7", "allocation", 1),
        (assignment, "(size=", "(size=1", "size", 1),
        (assignment, ",offset=0)", ",offset=1)", "offset", 0),
    ];
    for (ending, from, to, figure, expected) in table {
        let directory = copy("mlp_donated");
        change(&file(directory.path(), ending), from, to);
        let (code, report) = json(directory.path());
        let module = &report["modules"][0];
        assert_eq!(module["first_disagreement"]["figure"], figure, "{module}");
        assert_eq!((code, &report["exact"]), (expected, &Value::from(0)), "{figure}: {module}");
        let (_, text) = run(&[directory.path().to_str().unwrap()]);
        assert!(text.contains("  first: ") && text.contains("XLA"), "{text}");
    }
}

#[test]
fn nothing_to_compare_with() {
    let directory = copy("mlp_donated");
    for ending in ["-live-range.txt", "-buffer-assignment.txt", "-memory-usage-report.txt"] {
        fs::remove_file(file(directory.path(), ending)).unwrap();
    }
    let (code, report) = json(directory.path());
    assert_eq!(code, 3);
    assert_eq!(report["of"], 0);
    assert_eq!(report["not_compared"].as_array().unwrap().len(), 1);
}

#[test]
fn a_cut_side_file_is_an_error_and_the_rest_is_compared() {
    let directory = copy("mlp_donated");
    let path = file(directory.path(), "-live-range.txt");
    let text = fs::read_to_string(&path).unwrap();
    let end = text.find("  BufferLiveRange:").unwrap();
    fs::write(&path, &text[..end]).unwrap();
    let (code, report) = json(directory.path());
    assert_eq!(code, 2);
    assert_eq!(report["diagnostics"].as_array().unwrap().len(), 1);
    assert_eq!(report["modules"][0]["total"]["ours"], report["modules"][0]["total"]["xla"]);
    assert_eq!(report["modules"][0]["live_ranges"], Value::Null);
}

#[test]
fn equal_modules_count_as_often_as_they_are_there() {
    let directory = TempDir::new().unwrap();
    for host in ["host0", "host1", "host2"] {
        let source = copy("mlp_donated");
        let target = directory.path().join(host);
        fs::rename(source.keep(), target).unwrap();
    }
    let (code, report) = json(directory.path());
    assert_eq!((code, &report["exact"], &report["of"]), (0, &Value::from(3), &Value::from(3)));
    assert_eq!(report["modules"].as_array().unwrap().len(), 1);
}

#[test]
fn wrong_usage_is_exit_2() {
    let path = dumps().join("mlp_donated");
    let path = path.to_str().unwrap();
    for arguments in [&["--chip", "v9", path][..], &["--module", "[", path], &[], &["/nothing"]] {
        assert_eq!(run(arguments).0, 2, "{arguments:?}");
    }
}

/// An archive through a pipe, as one looks at a report that came by mail.
#[test]
fn an_archive_on_stdin() {
    let directory = copy("mlp_donated");
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_dir_all("dump", directory.path()).unwrap();
    let archive = builder.into_inner().unwrap();
    let mut command = Command::cargo_bin("hlolint").unwrap();
    let output = command.args(["verify", "-"]).write_stdin(archive).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("<stdin>!dump/module_0000."), "{text}");
    assert!(text.ends_with("exact: 1 of 1\n"), "{text}");
}

/// What a person sees: the snapshots are read in review.
#[test]
fn texts_for_a_person() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots/verify"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let text = |directory: &Path| {
        let (_, text) = run(&[directory.to_str().unwrap()]);
        text.replace(directory.to_str().unwrap(), "DIR")
    };
    let differs = copy("mlp_donated");
    change(&file(differs.path(), "-buffer-assignment.txt"), ",offset=0)", ",offset=512)");
    let alone = copy("mlp_donated");
    for ending in ["-live-range.txt", "-buffer-assignment.txt", "-memory-usage-report.txt"] {
        fs::remove_file(file(alone.path(), ending)).unwrap();
    }
    settings.bind(|| {
        insta::assert_snapshot!("one_module", text(&dumps().join("mlp_donated")));
        insta::assert_snapshot!("two_modules", text(&dumps().join("two_modules")));
        insta::assert_snapshot!("first_disagreement", text(differs.path()));
        insta::assert_snapshot!("nothing_to_compare_with", text(alone.path()));
    });
}
