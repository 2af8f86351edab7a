//! Inputs that try to break a run: programs with very many of one thing, streams that fail.

#![allow(clippy::expect_used, reason = "tests")]

use std::fmt::Write as _;
use std::time::Duration;

fn hlolint() -> assert_cmd::Command {
    let mut command = assert_cmd::Command::cargo_bin("hlolint").expect("the binary");
    command.timeout(Duration::from_secs(60));
    command
}

/// A program of 8 partitions that returns its replicated arguments, each in its own group.
fn replicated_arguments(count: usize) -> String {
    let mut text = String::from("HloModule m, is_scheduled=true, num_partitions=8\n\nENTRY e {\n");
    for number in 0..count {
        _ = writeln!(
            text,
            "  a{number} = f32[1024,1024]{{1,0:T(8,128)}} parameter({number}), \
             sharding={{replicated}}, metadata={{op_name=\"p{number}\"}}"
        );
    }
    text.push_str("  ROOT n = f32[1024,1024]{1,0:T(8,128)} negate(a0)\n}\n");
    text
}

/// Each argument has a group of its own: looking one up must not cost a walk over all of them.
#[test]
fn many_groups_of_replicated_arguments() {
    hlolint()
        .args(["check", "-", "--chip", "v5e", "--fail-on", "never"])
        .write_stdin(replicated_arguments(20_000))
        .assert()
        .success();
}

/// Arrays of as many shapes as there are, each in another layout or type, all alive together: what a
/// rule asks of the model, and what is looked up, must not grow with findings times values.
fn many_shapes(count: usize, opcode: &str, result: &str) -> String {
    let mut text = String::from("HloModule m, is_scheduled=true, num_partitions=8\n\nENTRY e {\n");
    for at in 0..count {
        let rows = 1024 + at;
        _ = writeln!(text, "  p{at} = f32[{rows},1024]{{1,0:T(8,128)}} parameter({at})");
    }
    let mut made = Vec::new();
    for at in 0..count {
        let shape = result.replace("ROWS", &(1024 + at).to_string());
        _ = writeln!(text, "  v{at} = {shape} {opcode}(p{at}), metadata={{op_name=\"o{at}\"}}");
        made.push(format!("v{at}"));
    }
    _ = writeln!(
        text,
        "  ROOT z = f32[8]{{0:T(128)}} custom-call({}), custom_call_target=\"z\"\n}}",
        made.join(", ")
    );
    text
}

#[test]
fn many_shapes_alive_together() {
    let table = [
        ("copy", "f32[ROWS,1024]{0,1:T(8,128)}"),
        ("convert", "bf16[ROWS,1024]{1,0:T(8,128)(2,1)}"),
        ("negate", "f32[ROWS,1024]{1,0:T(8,128)}"),
    ];
    for (opcode, result) in table {
        hlolint()
            .args(["check", "-", "--chip", "v5e", "--hbm", "1TiB", "--fail-on", "never"])
            .write_stdin(many_shapes(4_000, opcode, result))
            .assert()
            .success();
    }
}

/// A disk that is full cuts the answer off: the run has failed, and says so.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written() {
    use std::process::{Command, Stdio};
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("m.txt");
    std::fs::write(&file, "HloModule m\n\nENTRY e { ROOT p = f32[8] parameter(0) }\n")
        .expect("a file");
    for command in ["check", "print", "parse"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let output = Command::new(env!("CARGO_BIN_EXE_hlolint"))
            .arg(command)
            .arg(&file)
            .stdout(Stdio::from(full))
            .output()
            .expect("a run");
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"), "{command}");
    }
}

/// Many findings alike: a person sees a few and how many there are, and all of them with `--verbose`.
#[test]
fn many_findings_alike() {
    let mut text = String::from(
        "HloModule m, is_scheduled=true, num_partitions=8\n\nENTRY e {\n  x = bf16[1024,1024]{1,0:T(8,128)(2,1)} parameter(0)\n",
    );
    for at in 0..40 {
        _ = writeln!(
            text,
            "  g{at} = bf16[8192,1024]{{1,0:T(8,128)(2,1)}} all-gather(x), channel_id={}, \
             replica_groups=[1,8]<=[8], dimensions={{0}}, use_global_device_ids=true\n  \
             k{at} = bf16[1024,1024]{{1,0:T(8,128)(2,1)}} slice(g{at}), slice={{[0:1024], [0:1024]}}",
            at + 1
        );
    }
    text.push_str("  ROOT r = bf16[1024,1024]{1,0:T(8,128)(2,1)} add(k0, k39)\n}\n");
    let told = |more: &[&str]| {
        let arguments = [&["check", "-", "--chip", "v5e"], more].concat();
        let run = hlolint().args(arguments).write_stdin(text.clone()).assert().success();
        let out = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
        (out.matches("note[gather-then-slice]  bf16").count(), out)
    };
    let (few, text) = told(&[]);
    assert_eq!(few, 6, "{text}");
    assert!(text.contains("34 more note[gather-then-slice]  (all: --verbose)"), "{text}");
    assert_eq!(told(&["--verbose"]).0, 40);
}
