//! `hlolint check` from outside: exit codes, options, inputs of every kind, figures against XLA's own.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use hlolint::config::{bytes_as_xla, parse_bytes};
use predicates::prelude::*;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use support::{file_name, files, fixtures, root};
use tempfile::TempDir;

fn hlolint() -> Command {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    command.current_dir(root()).arg("check");
    command
}

fn exit_code(arguments: &[&str]) -> i32 {
    hlolint().args(arguments).output().unwrap().status.code().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(hlolint().args(arguments).output().unwrap().stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let text = stdout(&[&["--format", "json"], arguments].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{text}"))
}

/// `testdata/dumps/NAME`.
fn dump(name: &str) -> String {
    format!("testdata/dumps/{name}")
}

/// The compiler before 0.0.42 compares with the capacity what it needs without results.
const OLDER_COMPILER: &[&str] = &["mlp_older_compiler"];

fn rules(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

/// The scheduled text of a dump of testdata.
fn scheduled(name: &str) -> PathBuf {
    files(&root().join(dump(name)), "after_optimizations.txt").remove(0)
}

/// A copy of the files of a dump that a test may change.
fn copy(name: &str, keep: impl Fn(&str) -> bool) -> TempDir {
    let directory = TempDir::new().unwrap();
    for path in files(&root().join(dump(name)), "") {
        if path.is_file() && keep(&file_name(&path)) {
            fs::copy(&path, directory.path().join(file_name(&path))).unwrap();
        }
    }
    directory
}

fn path_of(directory: &TempDir) -> &str {
    directory.path().to_str().unwrap()
}

/// Leaves the first two thirds of a text, as a compiler does that is killed while it writes.
fn cut(path: &Path) {
    let text = fs::read(path).unwrap();
    fs::write(path, &text[..text.len() * 2 / 3]).unwrap();
}

#[test]
fn exit_codes() {
    let empty = TempDir::new().unwrap();
    let table: &[(&[&str], i32)] = &[
        (&[&dump("mlp_donated")], 0),
        (&[&dump("attention_oom")], 1),
        (&[&dump("attention_oom"), "--fail-on", "never"], 0),
        (&[&dump("attention_oom"), "--fail-on", "error"], 1),
        (&["testdata/pairs/large-allocation/bad"], 1),
        (&["testdata/pairs/large-allocation/bad", "--fail-on", "error"], 0),
        (&[&dump("mlp_donated"), "--fail-on", "note"], 0),
        // A directory without HLO: nothing to judge.
        (&[path_of(&empty)], 3),
        // Wrong usage.
        (&[], 2),
        (&["no/such/directory"], 2),
        (&[&dump("mlp_donated"), "--chip", "v9"], 2),
        (&[&dump("mlp_donated"), "--hbm", "much"], 2),
        (&[&dump("mlp_donated"), "--module", "["], 2),
        (&[&dump("mlp_donated"), "--fail-on", "sometimes"], 2),
        (&[&dump("mlp_donated"), "--force-chip"], 2),
        // A wrong input wins over a finding, and over nothing at all.
        (&[&dump("attention_oom"), "no/such/directory"], 2),
        (&[path_of(&empty), "no/such/directory"], 2),
    ];
    for (arguments, code) in table {
        assert_eq!(exit_code(arguments), *code, "{arguments:?}");
    }
}

#[test]
fn findings_are_printed_beside_an_input_that_cannot_be_read() {
    hlolint()
        .args([&dump("attention_oom"), "no/such/directory"])
        .assert()
        .code(2)
        .stdout(predicate::str::contains("error[hbm-over-capacity]"))
        .stderr(predicate::str::contains("no/such/directory"));
}

#[test]
fn a_truncated_text_is_a_diagnostic_and_the_rest_is_analysed() {
    let directory = copy("two_modules", |_| true);
    let text = files(directory.path(), "jit_momentum_step.cl_1014260217.after_optimizations.txt");
    cut(&text[0]);
    let output = hlolint().arg(directory.path()).assert().code(2);
    output.stdout(predicate::str::contains("jit__lambda")).stderr(
        predicate::str::contains("after_optimizations.txt").and(
            // A place in the file, not only its name.
            predicate::str::is_match(r"after_optimizations\.txt:\d+:\d+").unwrap(),
        ),
    );
    let report = json(&[path_of(&directory)]);
    assert_eq!(report["modules"].as_array().unwrap().len(), 1);
    let failed: Vec<&Value> = report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|diagnostic| diagnostic["failed"] == true)
        .collect();
    assert_eq!(failed.len(), 1, "{report}");
    assert!(failed[0]["line"].as_u64().unwrap() > 1 && failed[0]["column"].as_u64().is_some());
}

/// The program's own text is whole; only the one before optimisation was cut.
#[test]
fn a_truncated_text_before_optimisation_costs_no_verdict() {
    let directory = copy("mlp_donated", |_| true);
    cut(&files(directory.path(), ".before_optimizations.txt")[0]);
    let report = json(&[path_of(&directory)]);
    assert_eq!(report["modules"][0]["verdict"], "fits");
    assert_eq!(exit_code(&[path_of(&directory)]), 2);
}

#[test]
fn an_empty_directory_says_what_to_set() {
    let directory = TempDir::new().unwrap();
    hlolint()
        .arg(directory.path())
        .assert()
        .code(3)
        .stderr(predicate::str::contains("--xla_dump_hlo_as_text"));
    assert_eq!(json(&[path_of(&directory)])["modules"], Value::Array(Vec::new()));
}

#[test]
fn without_a_schedule_there_is_a_lower_bound_and_no_peak() {
    let directory = copy("attention_oom", |name| {
        name.ends_with("before_optimizations.txt") || name.ends_with("target_arguments.txt")
    });
    let report = json(&[path_of(&directory)]);
    let module = &report["modules"][0];
    assert_eq!(module["figures"], "lower-bound");
    assert_eq!(module["stage"], "before_optimizations");
    assert_eq!(module["hbm"]["peak_live_bytes"], Value::Null);
    assert_eq!(module["peak"], Value::Null);
    let whole = json(&[&dump("attention_oom")]);
    let required = |report: &Value| report["modules"][0]["hbm"]["required_bytes"].as_u64().unwrap();
    assert!(required(&report) <= required(&whole), "a bound that is none");
    assert!(stdout(&[path_of(&directory)]).contains("not scheduled"));
}

#[test]
fn no_lower_bound_of_testdata_is_above_the_truth() {
    for fixture in fixtures() {
        let directory = TempDir::new().unwrap();
        for ending in ["before_optimizations.txt", "target_arguments.txt"] {
            for path in files(&fixture.path, ending) {
                fs::copy(&path, directory.path().join(file_name(&path))).unwrap();
            }
        }
        let bound = support::report(directory.path(), &Default::default());
        for module in &bound.modules {
            let whole = fixture.report.modules.iter().find(|whole| {
                let prefix =
                    |file: &str| file_name(Path::new(file)).split(".cl_").next().map(str::to_owned);
                prefix(&whole.file) == prefix(&module.file)
            });
            let Some(whole) = whole.filter(|_| module.backend == "tpu") else { continue };
            let (bound, truth) = (module.hbm.required_bytes, whole.hbm.required_bytes);
            assert!(bound <= truth, "{}: at least {bound} before, {truth} in truth", fixture.name);
        }
    }
}

#[test]
fn chips() {
    let mlp = dump("mlp_donated");
    hlolint()
        .args([&mlp, "--chip", "v4"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("v5e").and(predicate::str::contains("--force-chip")));
    assert_eq!(exit_code(&[&mlp, "--chip", "v5e"]), 0);
    let forced = json(&[&mlp, "--chip", "v5p", "--force-chip"]);
    assert_eq!(forced["modules"][0]["chip"], "v5p");
    let own = json(&[&mlp]);
    let capacity = |report: &Value| report["modules"][0]["hbm"]["capacity_bytes"].as_u64().unwrap();
    assert!(capacity(&forced) > capacity(&own));
}

/// A text on stdin names no chip: with --chip it is judged as in its directory.
#[test]
fn a_text_on_stdin() {
    let text = fs::read(scheduled("attention_oom")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = hlolint();
        let output = command.args(arguments).write_stdin(text.clone()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), report)
    };
    let (code, report) = run(&["-", "--chip", "v5e", "--format", "json"]);
    assert_eq!(code, 1);
    assert!(rules(&report).contains(&"hbm-over-capacity"));
    assert_eq!(report["modules"][0]["hbm"], json(&[&dump("attention_oom")])["modules"][0]["hbm"]);
    let (_, report) = run(&["-", "--format", "json"]);
    assert_eq!(report["modules"][0]["verdict"], "unknown");
    assert!(!report["modules"][0]["caveats"].as_array().unwrap().is_empty());
}

#[test]
fn capacity_reserve_and_maximum() {
    // What a program needs depends on the capacity: the compiler packs by it. Not on a reserve.
    const HBM: u64 = 10 << 30;
    let mlp = dump("mlp_donated");
    let hbm = |options: &[&str]| -> Value {
        let report = json(&[&[mlp.as_str(), "--hbm", "10GiB"], options].concat());
        report["modules"][0]["hbm"].clone()
    };
    let required = hbm(&[])["required_bytes"].as_u64().unwrap();
    let (exact, tight) = ((HBM - required).to_string(), (HBM - required + 1).to_string());
    let (enough, little) = (required.to_string(), (required - 1).to_string());
    // Options, whether it fits, what is available.
    let table: &[(&[&str], bool, u64)] = &[
        (&[], true, HBM),
        (&["--reserve", &exact], true, required),
        (&["--reserve", &tight], false, required - 1),
        (&["--reserve", "11GiB"], false, 0),
        (&["--max-total", &enough], true, required),
        (&["--max-total", &little], false, required - 1),
        (&["--max-total", "100GiB"], true, HBM),
        (&["--max-total", "100GiB", "--reserve", &exact], true, required),
    ];
    for (options, fits, available) in table {
        let arguments = [&[mlp.as_str(), "--hbm", "10GiB"], *options].concat();
        let report = json(&arguments);
        let module = &report["modules"][0];
        assert_eq!(module["verdict"] == "fits", *fits, "{options:?}");
        assert_eq!(module["hbm"]["available_bytes"], *available, "{options:?}");
        assert_eq!(rules(&report).contains(&"hbm-over-capacity"), !fits, "{options:?}");
        // That it is nearly full is a warning.
        let arguments = [&arguments[..], &["--fail-on", "error"]].concat();
        assert_eq!(exit_code(&arguments), i32::from(!fits), "{options:?}");
    }
}

#[test]
fn materiality() {
    let path = "testdata/pairs/replicated-tensor/bad";
    let level = |options: &[&str]| -> Option<String> {
        let report = json(&[&[path], options].concat());
        let findings = report["findings"].as_array().unwrap().clone();
        let found = findings.into_iter().find(|finding| finding["rule"] == "replicated-tensor")?;
        Some(found["level"].as_str().unwrap().to_owned())
    };
    assert_eq!(level(&[]).as_deref(), Some("warn"));
    assert_eq!(level(&["--min-share", "0.5"]).as_deref(), Some("note"));
    assert_eq!(level(&["--min-bytes", "10GiB"]), None);
    assert_eq!(exit_code(&[path]), 1);
    assert_eq!(exit_code(&[path, "--min-share", "0.5"]), 0);
    assert_eq!(exit_code(&[path, "--min-share", "0.5", "--fail-on", "note"]), 1);
}

#[test]
fn modules_by_name() {
    let two = dump("two_modules");
    let names = |options: &[&str]| -> Vec<String> {
        let report = json(&[&[two.as_str()], options].concat());
        let modules = report["modules"].as_array().unwrap().iter();
        modules.map(|module| module["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]), ["jit_momentum_step", "jit__lambda"]);
    assert_eq!(names(&["--module", "jit_m*"]), ["jit_momentum_step"]);
    assert_eq!(names(&["--module", "jit_m*", "--module", "*lambda"]).len(), 2);
    assert_eq!(names(&["--module", "other"]), [""; 0]);
    assert_eq!(exit_code(&[&two, "--module", "other"]), 3);
}

/// However a dump is packed, the verdict is the same.
#[test]
fn archives_and_compressed_texts() {
    let expected = json(&[&dump("attention_oom")]);
    let directory = TempDir::new().unwrap();
    let paths = files(&root().join(dump("attention_oom")), "");

    let mut builder = tar::Builder::new(Vec::new());
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let packed = TempDir::new().unwrap();
    for path in &paths {
        let (name, bytes) = (file_name(path), fs::read(path).unwrap());
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("dump/{name}"), bytes.as_slice()).unwrap();
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(format!("dump/{name}"), options).unwrap();
        writer.write_all(&bytes).unwrap();
        if name.ends_with("_optimizations.txt") {
            fs::write(packed.path().join(format!("{name}.gz")), gzip(&bytes)).unwrap();
        } else {
            fs::write(packed.path().join(name), bytes).unwrap();
        }
    }
    let tar = builder.into_inner().unwrap();
    for (name, bytes) in [
        ("dump.tar", tar.clone()),
        ("dump.tar.gz", gzip(&tar)),
        ("dump.zip", writer.finish().unwrap().into_inner()),
    ] {
        let archive = directory.path().join(name);
        fs::write(&archive, bytes).unwrap();
        let report = json(&[archive.to_str().unwrap()]);
        assert_eq!(report["modules"][0]["hbm"], expected["modules"][0]["hbm"], "{name}");
        assert_eq!(rules(&report), rules(&expected), "{name}");
    }
    let report = json(&[path_of(&packed)]);
    assert_eq!(report["modules"][0]["hbm"], expected["modules"][0]["hbm"], "texts in .gz");
    assert_eq!(rules(&report), rules(&expected), "texts in .gz");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// `hlolint check DIR | head -1`.
#[test]
fn a_closed_pipe_is_no_crash() {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("hlolint"))
        .current_dir(root())
        .args(["check", "testdata/dumps", "--format", "json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    // The pipe is closed here; the rest of the report has no reader.
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn colours_only_where_they_belong() {
    let run = |variables: &[(&str, &str)]| {
        let mut command = hlolint();
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(variables.iter().copied());
        command.arg(dump("attention_oom")).output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!run(&[]), "a pipe has no colours");
    assert!(run(&[("CLICOLOR_FORCE", "1")]), "forced");
    assert!(!run(&[("NO_COLOR", "1")]));
}

/// The same bytes on any number of threads, and twice.
#[test]
fn output_does_not_depend_on_threads() {
    for format in ["text", "json"] {
        let run = |threads: &str| {
            let mut command = hlolint();
            command.env("RAYON_NUM_THREADS", threads).args(["--format", format, "--verbose"]);
            let output = command.args(["testdata/dumps", "testdata/pairs"]).output().unwrap();
            (output.stdout, output.stderr, output.status.code())
        };
        let one = run("1");
        assert!(!one.0.is_empty());
        for threads in ["4", "4", "1"] {
            assert!(run(threads) == one, "{format} with {threads} threads");
        }
    }
}

/// The fields that the shape of the JSON promises (`docs/json.md`).
#[test]
fn fields_of_the_json() {
    let report = json(&[&dump("attention_oom"), &dump("replicated_state")]);
    assert_eq!(report["schema"], "hlolint.check/1");
    for module in report["modules"].as_array().unwrap() {
        for field in ["name", "file", "stage", "backend", "chip", "compiler", "verdict", "figures"]
        {
            assert!(module[field].is_string(), "{field}: {module}");
        }
        for field in ["capacity", "available", "required", "total", "peak_live", "parameters"] {
            assert!(module["hbm"][format!("{field}_bytes")].is_u64(), "{field}: {module}");
        }
    }
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.len() >= 3, "{report}");
    for finding in findings {
        let text = ["rule", "level", "confidence", "message", "help", "module", "fingerprint"];
        for field in text {
            assert!(finding[field].is_string(), "{field}: {finding}");
        }
        assert!(finding["bytes"].is_u64() && finding["reference"]["code"].is_string());
        assert!(["instruction", "op_name", "source"].iter().all(|f| finding.get(f).is_some()));
        let location = &finding["location"];
        assert!(location["file"].is_string(), "{finding}");
        assert!(location["line"].is_u64() && location["column"].is_u64(), "{finding}");
    }
}

/// What the parts of HBM sum up to, for every program of testdata.
#[test]
fn parts_of_hbm_sum_up() {
    for fixture in fixtures() {
        for module in &fixture.report.modules {
            let hbm = &module.hbm;
            let Some(peak) = hbm.peak_live_bytes else { continue };
            let what = format!("{} {}", fixture.name, module.name);
            let name = fixture.name.as_str();
            let is_without_results = OLDER_COMPILER.contains(&name);
            assert_eq!(
                hbm.total_bytes + hbm.sparsecore_bytes
                    != hbm.required_bytes + hbm.thread_local_bytes,
                is_without_results,
                "{what}: total and the SparseCores' part are required and thread-local"
            );
            assert_eq!(
                hbm.total_bytes,
                peak + hbm.fragmentation_bytes + hbm.thread_local_bytes,
                "{what}: total is peak, fragmentation and thread-local"
            );
        }
    }
}

/// Total bytes of HBM as XLA's memory-usage report states them, by the prefix of the file.
fn xla_total_bytes(file: &str) -> Option<u64> {
    let report = file.strip_suffix(".txt")?.to_owned() + "-memory-usage-report.txt";
    let text = fs::read_to_string(root().join(report)).ok()?;
    let behind = text.split("Memory Space: default (color=0)").nth(1)?;
    behind.split("Total bytes: ").nth(1)?.split(' ').next()?.parse().ok()
}

#[test]
fn totals_are_xlas_own() {
    let mut compared = 0;
    for fixture in fixtures() {
        for module in fixture.report.modules.iter() {
            let Some(total) = xla_total_bytes(&module.file) else { continue };
            assert_eq!(module.hbm.total_bytes, total, "{}", module.file);
            compared += 1;
        }
    }
    assert!(compared >= 30, "{compared} programs were compared");
}

/// The TPU programs whose compile failed for want of HBM are the ones that `hbm-over-capacity` names, and
/// both figures of the error are met again, as XLA prints them.
#[test]
fn out_of_memory_is_what_the_compiler_said() {
    let mut failed = 0;
    for fixture in fixtures() {
        // XLA:GPU compiles what does not fit.
        if fixture.report.modules.iter().any(|module| module.backend == "gpu") {
            continue;
        }
        let log = fs::read_to_string(fixture.path.join("compile.log")).unwrap_or_default();
        let message = log.lines().find(|line| {
            line.contains("RESOURCE_EXHAUSTED") && line.to_lowercase().contains("memory on hbm")
                || line.contains("Ran out of memory in memory space hbm")
        });
        let finding =
            fixture.report.findings.iter().find(|finding| finding.rule == "hbm-over-capacity");
        assert_eq!(finding.is_some(), message.is_some(), "{}: {message:?}", fixture.name);
        let (Some(finding), Some(message)) = (finding, message) else { continue };
        failed += 1;
        let module = &fixture.report.modules[0];
        let available = module.hbm.available_bytes.unwrap();
        for bytes in [module.hbm.required_bytes, available] {
            let printed = bytes_as_xla(bytes).replace(" GiB", "G").replace(" MiB", "M");
            assert!(message.contains(&printed), "{}: {printed} in {message}", fixture.name);
            assert!(finding.message.contains(&bytes_as_xla(bytes)), "{}", finding.message);
        }
    }
    assert!(failed >= 5, "{failed} programs do not fit");
}

/// The same of scoped VMEM: the size and the limit of the compiler's error are those of the finding.
#[test]
fn scoped_vmem_is_what_the_compiler_said() {
    let mut failed = 0;
    for fixture in fixtures() {
        let log = fs::read_to_string(fixture.path.join("compile.log")).unwrap_or_default();
        let said = log.split("Scoped allocation with size ").nth(1);
        let finding = fixture.report.findings.iter().find(|finding| finding.rule == "scoped-vmem");
        assert_eq!(finding.is_some(), said.is_some(), "{}", fixture.name);
        let (Some(finding), Some(said)) = (finding, said) else { continue };
        failed += 1;
        let (size, rest) = said.split_once(" and limit ").unwrap();
        for printed in [size, rest.split(' ').next().unwrap()] {
            let ours = printed.replace('M', " MiB");
            assert!(finding.message.contains(&ours), "{printed}: {}", finding.message);
        }
    }
    assert!(failed >= 2, "{failed} programs");
}

#[test]
fn sizes_on_the_command_line() {
    for (text, bytes) in [("31.25GiB", 33_554_432_000_u64), ("500MiB", 500 << 20), ("7", 7)] {
        assert_eq!(parse_bytes(text), Ok(bytes));
        let report = json(&[&dump("mlp_donated"), "--hbm", text]);
        assert_eq!(report["modules"][0]["hbm"]["capacity_bytes"], bytes);
    }
}
