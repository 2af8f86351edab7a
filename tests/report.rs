//! `hlolint report` on programs of testdata.

#![allow(clippy::unwrap_used)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use serde_json::Value;
use support::{assert_snapshot, fixtures, root};

/// Exit code and output.
fn run(arguments: &[&str]) -> (i32, String) {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    let command = command.current_dir(root()).arg("report").args(arguments);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn json(path: &str) -> Value {
    serde_json::from_str(&run(&[path, "--format", "json"]).1).unwrap()
}

fn bytes(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn text_and_markdown() {
    for name in ["padded_points", "scan_oom", "sharded_state"] {
        let path = format!("testdata/dumps/{name}");
        let (code, text) = run(&[&path, "--rows", "6"]);
        assert_eq!(code, 0);
        assert_snapshot("report", name, &text);
    }
    let path = "testdata/dumps/padded_points";
    let (_, text) = run(&[path, "--format", "md", "--rows", "3", "--sort", "padding"]);
    assert_snapshot("report", "padded_points-md", &text);
    let (_, text) = run(&["testdata/dumps/kernel_fits", "--rows", "3", "--stack", "--width", "60"]);
    assert_snapshot("report", "kernel_fits-stack", &text);
}

/// The curve reaches what is said of the peak, at the point that is said, and nowhere more; buffers
/// and padding belong together.
#[test]
fn curves_and_buffers_agree_with_the_totals() {
    let mut scheduled = 0;
    for fixture in fixtures() {
        let report = json(fixture.path.to_str().unwrap());
        assert_eq!(report["schema"], "hlolint.report/1");
        for module in report["modules"].as_array().unwrap() {
            let name = &fixture.name;
            let hbm = &module["hbm"];
            // Without a schedule nothing is placed.
            if module["figures"] == "lower-bound" {
                continue;
            }
            let buffers = module["buffers"].as_array().unwrap();
            let of = |kind: &str| -> u64 {
                let is = |buffer: &&Value| buffer["kind"] == kind && buffer["memory_space"] == 0;
                buffers.iter().filter(is).map(|buffer| bytes(&buffer["bytes"])).sum()
            };
            assert_eq!(of("parameter"), bytes(&hbm["parameters_bytes"]), "{name}: parameters");
            assert_eq!(of("constant"), bytes(&hbm["constants_bytes"]), "{name}: constants");
            let Some(peak) = module["peak"].as_object() else { continue };
            scheduled += 1;
            let live = module["live"].as_array().unwrap();
            let highest = live.iter().map(|live| bytes(&live["bytes"])).max().unwrap();
            assert_eq!(highest, bytes(&hbm["peak_live_bytes"]), "{name}: highest");
            let at_peak =
                live.iter().rev().find(|live| bytes(&live["point"]) <= bytes(&peak["point"]));
            assert_eq!(bytes(&at_peak.unwrap()["bytes"]), highest, "{name}: at the peak");
        }
    }
    assert!(scheduled > 30, "{scheduled} programs with a schedule");
}

/// Arguments have the shardings that the user gave, though the partitioned module prints none, and
/// kernels what they need.
#[test]
fn shardings_and_kernels() {
    let report = json("testdata/dumps/sharded_state");
    let parameter = &report["modules"][0]["parameters"][0];
    assert_eq!(parameter["path"], "state['momentum']['down']");
    assert_eq!(parameter["sharding"], r#"[{"data"}, {"model"}]"#);
    let report = json("testdata/dumps/kernel_fits");
    let kernel = &report["modules"][0]["kernels"][0];
    assert!(bytes(&kernel["estimated_vmem_bytes"]) <= bytes(&kernel["vmem_limit_bytes"]));
}

#[test]
fn is_the_same_on_one_thread_and_on_many() {
    let on = |threads: &str| {
        let mut command = Command::cargo_bin("hlolint").unwrap();
        let command = command.current_dir(root()).env("RAYON_NUM_THREADS", threads);
        let command = command.args(["report", "testdata/dumps", "--rows", "all"]);
        command.output().unwrap().stdout
    };
    assert!(on("1") == on("4"), "outputs differ");
}

#[test]
fn wrong_usage() {
    assert_eq!(run(&["nowhere"]).0, 2);
    assert_eq!(run(&["testdata/dumps/kernel_fits", "--rows", "many"]).0, 2);
    assert_eq!(run(&["testdata/dumps/kernel_fits", "--module", "nothing*"]).0, 3);
}
