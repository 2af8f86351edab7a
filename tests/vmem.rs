//! `hlolint vmem` on programs of testdata and on kernels that cannot be estimated.

#![allow(clippy::unwrap_used)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use support::{assert_snapshot, files, root};

/// Exit code, output, error stream.
fn run(arguments: &[&str], stdin: &str) -> (i32, String, String) {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    let command = command.current_dir(root()).arg("vmem").args(arguments).write_stdin(stdin);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn kernels(arguments: &[&str], stdin: &str) -> Vec<Value> {
    let (code, text, _) = run(&[arguments, &["--format", "json"]].concat(), stdin);
    assert_eq!(code, 0);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], "hlolint.vmem/1");
    report["kernels"].as_array().unwrap().clone()
}

/// The text of a stage.
fn stage(folder: &str, stage: &str) -> String {
    let found = files(&root().join(folder), &format!(".{stage}.txt"));
    fs::read_to_string(&found[0]).unwrap()
}

const BAD: &str = "testdata/pairs/scoped-vmem/bad";
const NEAR: &str = "testdata/pairs/scoped-vmem-near-limit/bad";

#[test]
fn rows_and_windows() {
    let all = ["testdata/pairs", "testdata/dumps/kernels_kept_and_deleted"];
    for (name, arguments) in [
        ("all", &all[..]),
        ("over", &[BAD, "--kernel", "row_softmax"]),
        ("recorded", &[NEAR, "--kernel", "normalize"]),
        ("deleted", &["testdata/dumps/kernels_kept_and_deleted", "--kernel", "one_step"]),
    ] {
        let (code, text, _) = run(arguments, "");
        assert_eq!(code, 0);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert_snapshot("vmem", name, &text);
    }
    let (_, text, _) = run(&[BAD, "--format", "json"], "");
    assert_snapshot("vmem", "over-json", &text);
}

/// What the compiler recorded stands in another text of the same compile.
#[test]
fn recorded_use_comes_from_after_codegen() {
    let kernel = &kernels(&[NEAR], "")[0];
    assert_eq!(kernel["stage"], "after_optimizations");
    assert_eq!(kernel["used_bytes"], 16 << 20);
    assert_eq!(kernel["total_bytes"], 16 << 20);
    let alone = stage(NEAR, "after_optimizations");
    let kernel = &kernels(&["-", "--chip", "v5e"], &alone)[0];
    assert_eq!(kernel["used_bytes"], Value::Null);
    assert_eq!(kernel["lower_bound"], true);
}

/// A text before optimizations has no layouts and names no chip.
#[test]
fn before_optimizations() {
    let text = stage(BAD, "before_optimizations");
    for (arguments, limit) in
        [(&["-"][..], Value::Null), (&["-", "--chip", "v6e"], Value::from(32 << 20))]
    {
        let kernel = &kernels(arguments, &text)[0];
        assert_eq!(kernel["total_bytes"], 64 << 20);
        assert_eq!(kernel["limit_bytes"], limit);
        assert_eq!(kernel["lower_bound"], false);
        let (_, said, _) = run(arguments, &text);
        assert!(said.contains("upper bound"), "{said}");
        assert_eq!(said.contains("--chip"), limit.is_null(), "{said}");
    }
}

/// Why there is no estimate is said; it is no failure and no finding.
#[test]
fn kernels_that_are_not_estimated() {
    let text = stage(BAD, "after_optimizations");
    let start = text.find("\"body\":").unwrap() + 8;
    let end = start + text[start..].find('"').unwrap();
    let with_body = |body: &str| format!("{}{body}{}", &text[..start], &text[end..]);
    let custom_call = |target: &str, config: &str| {
        format!(
            "HloModule m\n\nENTRY e {{\n  a = f32[8] parameter(0)\n  ROOT k = f32[8] \
             custom-call(a), custom_call_target=\"{target}\", backend_config={config}\n}}\n"
        )
    };
    let results = "(f32[8], f32[8], f32[8]) custom-call(".to_owned();
    for (text, reason) in [
        (with_body("TUzvUg=="), "damaged"),
        (with_body("TUzvUhNhAA=="), "version 9; versions up to 6 are read"),
        (with_body("aGVsbG8gd29ybGQ="), "not MLIR bytecode"),
        (with_body("bW9kdWxlIHt9"), "a kernel of XLA's own"),
        (with_body("!!!"), "not base64"),
        (text.replace("custom_call_config", "another"), "not MLIR bytecode"),
        (text.replace("f32[65536,4096]{1,0:T(8,128)} custom-call(", &results), "do not match"),
        (custom_call("tpu_custom_call", "\"opaque\""), "not the JSON"),
        (custom_call("__gpu$xla.gpu.triton", "{name = \"k\", num_warps = 4 : i32}"), "not a TPU"),
        (custom_call("mosaic_gpu_v2", "{kernel_hash = \"k\"}"), "not a TPU kernel"),
    ] {
        let found = kernels(&["-", "--chip", "v5e"], &text);
        let unknown = found[0]["unknown"].as_str().unwrap_or_default();
        assert!(unknown.contains(reason), "{reason}: {unknown}");
        assert_eq!(found[0]["total_bytes"], Value::Null);
        let (code, said, _) = run(&["-", "--chip", "v5e"], &text);
        assert!(code == 0 && said.contains(unknown), "{reason}: {said}");
        let mut check = Command::cargo_bin("hlolint").unwrap();
        let output = check.args(["check", "-"]).write_stdin(text).output().unwrap();
        assert!(!String::from_utf8(output.stdout).unwrap().contains("vmem"), "{reason}");
    }
}

#[test]
fn exit_codes() {
    let none = "testdata/dumps/mlp_donated";
    let (code, text, _) = run(&[none], "");
    assert_eq!((code, text.as_str()), (0, "no Pallas kernels in 1 program\n"));
    let (code, _, error) = run(&[BAD, "--kernel", "softmax"], "");
    assert!(code == 2 && error.contains("none of the 1 kernels is called softmax"), "{error}");
    assert_eq!(run(&[BAD, "--kernel", "%row_softmax.1"], "").0, 0);
    assert_eq!(run(&[BAD, "--chip", "v6e"], "").0, 2);
    assert_eq!(run(&[BAD, "--chip", "v6e", "--force-chip"], "").0, 0);
    assert_eq!(run(&["-"], "HloModule m\n\nENTRY e {\n  broken").0, 2);
    assert_eq!(run(&["docs"], "").0, 3);
}

/// A text that stands alone does not show the flag: it can be said. A kernel's own limit holds before
/// it.
#[test]
fn limit_by_flag() {
    let good = "testdata/pairs/scoped-vmem/good";
    let text = stage(good, "after_optimizations");
    for (flag, limit, source, exceeds) in [
        (&[][..], 16 << 20, "default", Value::Null),
        (&["--vmem-limit", "4MiB"], 4 << 20, "flag", Value::from("limit")),
        (&["--vmem-limit", "8MiB"], 8 << 20, "flag", Value::Null),
    ] {
        let kernel = &kernels(&[&["-", "--chip", "v5e"], flag].concat(), &text)[0];
        assert_eq!(kernel["total_bytes"], 8 << 20);
        assert_eq!(
            (&kernel["limit_bytes"], &kernel["limit_source"]),
            (&limit.into(), &source.into())
        );
        assert_eq!(kernel["exceeds"], exceeds);
        let mut check = Command::cargo_bin("hlolint").unwrap();
        let check =
            check.args(["check", "-", "--chip", "v5e"]).args(flag).write_stdin(text.clone());
        let said = String::from_utf8(check.output().unwrap().stdout).unwrap();
        assert_eq!(said.contains("error[scoped-vmem]"), !exceeds.is_null(), "{said}");
    }
    let own = text.replacen(
        "\"scoped_memory_configs\":[]",
        "\"scoped_memory_configs\":[{\"memory_space\":\"1\",\"offset\":\"0\",\"size\":\"20971520\"}]",
        1,
    );
    assert!(own != text);
    let call = text.find("custom-call(").unwrap();
    assert!(own[call..] != text[call..], "the first list is not the kernel's");
    let kernel = &kernels(&["-", "--chip", "v5e", "--vmem-limit", "4MiB"], &own)[0];
    assert_eq!(kernel["limit_source"], "kernel");
}

/// The limit in force and what asks for more than there is.
#[test]
fn limits_that_the_chip_does_not_have() {
    let text = stage(BAD, "before_optimizations");
    let asks = text.replacen(
        "backend_config={",
        "backend_config={\"scoped_memory_configs\": [{\"memory_space\": 1, \"offset\": 0, \
         \"size\": 104857600}], ",
        1,
    );
    assert!(asks != text);
    let coloured = asks.replacen(
        "\"custom_call_config\":{",
        "\"custom_call_config\":{\"input_memory_space_colors\": [{\"operand_index\": 0, \
         \"color\": 1}], ",
        1,
    );
    let check = |text: &str, chip: &str| {
        let mut command = Command::cargo_bin("hlolint").unwrap();
        let command = command.args(["check", "-", "--format", "json", "--chip", chip]);
        let output = command.write_stdin(text).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap().clone();
        let found = findings.into_iter().find(|f| f["rule"] == "vmem-limit-over-capacity");
        found.map(|found| (found["level"].as_str().unwrap().to_owned(), found["bytes"].as_u64()))
    };
    // 100 MiB: of 128 on a v5e, of 63.94 on a v5p. The operand is 1 GiB.
    assert_eq!(check(&asks, "v5e"), None);
    let missing = Some((100 << 20) - ((64 << 20) - (64 << 10)));
    assert_eq!(check(&asks, "v5p"), Some(("warn".to_owned(), missing)));
    assert!(coloured != asks);
    let missing = Some((1 << 30) + (100 << 20) - (128 << 20));
    assert_eq!(check(&coloured, "v5e"), Some(("error".to_owned(), missing)));
}
