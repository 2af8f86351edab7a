//! `hlolint triage` on texts with every form of message, and on the errors of real programs joined to
//! their dumps.

#![allow(clippy::unwrap_used)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use serde_json::Value;
use std::path::PathBuf;
use support::{assert_snapshot, root};

fn testdata() -> PathBuf {
    root().join("testdata")
}

/// Exit code and output. Paths are given relative to testdata, so that outputs name none of a machine.
fn run(arguments: &[&str]) -> (i32, String) {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    let output = command.current_dir(testdata()).arg("triage").args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&run(&[arguments, &["--format", "json"]].concat()).1).unwrap()
}

/// File, exit code, category, code, needed and available as printed.
#[test]
fn every_form_of_message() {
    let cases = [
        ("hbm_tables", 0, "hbm-oom", "used", "", "21.50G", "15.75G"),
        ("hbm_prefixed_repeated", 0, "hbm-oom", "used", "E1000", "18.00G", "15.75G"),
        ("hbm_total_required", 0, "hbm-oom", "total-required", "", "33.25G", "15.75G"),
        (
            "hbm_single_allocation",
            0,
            "hbm-oom",
            "single-allocation",
            "",
            "25769803776",
            "17179869184",
        ),
        ("hbm_split", 0, "hbm-oom", "split", "", "30.00G", "95.74G"),
        ("hbm_early_abort", 0, "hbm-oom", "early-abort", "", "1.25T", "30.75G"),
        ("vmem_scoped_kernel_tail", 0, "vmem-scoped-oom", "scoped", "", "20.50M", "16.00M"),
        ("vmem_scoped_fusion", 0, "vmem-scoped-oom", "scoped", "E1001", "208.0K", "64.0K"),
        ("vmem_table", 0, "vmem-capacity", "used", "", "20.00M", "16.00M"),
        ("vmem_window", 0, "vmem-capacity", "single-allocation", "", "268435456", "134217728"),
        ("smem", 0, "smem-capacity", "single-allocation", "", "4194304", "1048576"),
        ("vmem_coloured", 0, "vmem-coloured", "coloured", "", "33554432", ""),
        ("mosaic", 0, "kernel", "other", "", "", ""),
        ("run_time", 0, "runtime-oom", "device-allocation", "", "8.00M", "6.43M"),
        ("gpu", 0, "runtime-oom", "device-allocation", "", "214748364800", ""),
        ("gpu_peak_buffers", 0, "runtime-oom", "device-allocation", "", "5251006464", ""),
        ("vmem_preflight", 0, "vmem-capacity", "preflight", "", "91.20MB", "67.11MB"),
        ("resharding", 0, "", "", "", "", ""),
        ("crash", 0, "crash", "other", "", "", ""),
        ("compiled", 0, "", "", "", "", ""),
        ("other_error", 2, "", "", "", "", ""),
        ("unknown", 2, "", "", "", "", ""),
    ];
    for (name, code, category, form, number, needed, available) in cases {
        let file = format!("logs/{name}.log");
        let report = json(&[&file]);
        let incidents = report["incidents"].as_array().unwrap();
        assert_eq!(incidents.len(), usize::from(!category.is_empty()), "{name}: {incidents:?}");
        if let [incident] = incidents.as_slice() {
            let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
            assert_eq!(text(&incident["category"]), category, "{name}");
            assert_eq!(text(&incident["form"]), form, "{name}");
            assert_eq!(text(&incident["code"]), number, "{name}");
            assert_eq!(text(&incident["needed"]["text"]), needed, "{name}");
            assert_eq!(text(&incident["available"]["text"]), available, "{name}");
        }
        let (exit, text) = run(&[&file]);
        assert_eq!(exit, code, "{name}");
        assert_snapshot("triage", name, &text);
    }
}

/// The tables and the figures beside them.
#[test]
fn tables_point_to_a_section() {
    let incident = &json(&["logs/hbm_tables.log"])["incidents"][0];
    assert_eq!(incident["usage"]["arguments"]["text"], "9.00G");
    assert_eq!(incident["output"]["shared"]["text"], "1.00G");
    assert_eq!(incident["rows"][0]["padding"]["text"], "11.72G");
    assert_eq!(incident["rows"].as_array().unwrap().len(), 2);
    assert!(incident["section"].as_str().unwrap().contains("scenario 2"), "12.00G of 15.75G");
    let repeated = json(&["logs/hbm_prefixed_repeated.log"]);
    assert_eq!(repeated["messages"], 2);
    let incident = &repeated["incidents"][0];
    assert!(incident["section"].as_str().unwrap().contains("scenario 3"), "4.00G of 15.75G");
    assert_eq!(incident["remat"]["reached_bytes"], 5_905_580_032_u64);
}

/// The table of an executable on a GPU, and its sums.
#[test]
fn peak_buffers_of_a_gpu() {
    let incident = &json(&["logs/gpu_peak_buffers.log"])["incidents"][0];
    let rows = incident["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[0]["size"]["text"], "4.89GiB");
    assert_eq!(rows[0]["source"], "decode.py:175");
    assert_eq!(rows[2]["shape"], "f16[2048,257152]");
    assert_eq!(rows[2]["tag"], "parameter");
    assert_eq!(incident["requirement"]["total"]["text"], "7.88GiB");
    assert_eq!(incident["requirement"]["parts"].as_array().unwrap().len(), 4);
}

/// The partitioner's warnings are no failure: each value once, the largest first.
#[test]
fn reshardings_are_ranked() {
    let report = json(&["logs/resharding.log"]);
    let found = report["reshardings"].as_array().unwrap();
    let of = |key: &str| found.iter().map(|one| one[key].clone()).collect::<Vec<Value>>();
    assert_eq!(of("whole_bytes"), [Value::from(1_u64 << 30), 768.into(), Value::Null]);
    assert_eq!(of("count"), [2, 1, 1]);
    assert_eq!(found[0]["source"], "mixer.py:41");
}

/// The message names an instruction that is no kernel, and is cut behind it: the dump knows.
#[test]
fn scoped_vmem_of_what_is_no_kernel_is_a_bug_of_the_compiler() {
    let message = |name: &str| {
        format!(
            "Ran out of memory in memory space vmem while allocating on stack for %{name}. Scoped \
             allocation with size 20.00M and limit 16.00M exceeded scoped vmem limit by 4.00M."
        )
    };
    let section = |name: &str, dump: &str| {
        let mut command = Command::cargo_bin("hlolint").unwrap();
        command.current_dir(testdata()).args(["check", dump, "--log", "-", "--format", "json"]);
        let output = command.write_stdin(message(name)).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["log"]["incidents"][0]["section"].as_str().unwrap().to_owned()
    };
    assert_eq!(section("fusion.27", "dumps/mlp_donated"), "E1001, a compiler bug");
    assert_eq!(section("scaled_sum.1", "dumps/kernel_over_vmem"), "E1001, retune the kernel");
    assert_eq!(section("gone.1", "dumps/mlp_donated"), "E1001, retune the kernel");
}

/// Every failing program of testdata: its own error names it, and needs what our figures say.
#[test]
fn errors_of_testdata_agree_with_their_dumps() {
    let programs = ["arguments_oom", "attention_oom", "attention_oom_0_0_42_1", "scan_oom"];
    for name in programs {
        let (log, dump) = (format!("dumps/{name}/compile.log"), format!("dumps/{name}"));
        let report = json(&[&log, "--dump", &dump]);
        let joined = &report["incidents"][0]["dump"];
        assert_eq!(joined["agrees"], true, "{name}: {joined}");
    }
    let report = json(&["dumps/kernel_over_vmem/compile.log", "--dump", "dumps/kernel_over_vmem"]);
    let place = &report["incidents"][0]["dump"]["places"][0];
    assert_eq!(place["instruction"], "scaled_sum.1", "{report}");
    assert!(place["source"]["line"].is_number());
}

#[test]
fn a_dump_adds_places_and_findings() {
    let (code, text) = run(&["dumps/scan_oom/compile.log", "--dump", "dumps/scan_oom"]);
    assert_eq!(code, 0);
    assert_snapshot("triage", "with_dump", &text);
}

/// A pasted error on stdin, in the middle of megabytes of something else, escaped and not UTF-8.
#[test]
fn large_and_dirty_logs() {
    let error = std::fs::read(testdata().join("logs/hbm_tables.log")).unwrap();
    let mut log = b"step \xff\xfe 1 loss 0.5\n".repeat(200_000);
    log.extend_from_slice(&error);
    log.extend(b"step 2\n".repeat(200_000));
    let mut command = Command::cargo_bin("hlolint").unwrap();
    let output = command.args(["triage", "-"]).write_stdin(log).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("21.50G needed, 15.75G available: 5.75G too much"), "{text}");
}

#[test]
fn wrong_usage() {
    for arguments in [&["nowhere.log"][..], &["logs/gpu.log", "--dump", "nowhere"]] {
        assert_eq!(run(arguments).0, 2, "{arguments:?}");
    }
}
