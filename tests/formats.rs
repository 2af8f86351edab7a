//! The formats of `hlolint check` for other tools: held against the schemas that those tools publish,
//! and as snapshots in `snapshots/formats`; where they go, and what becomes of paths.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use support::{assert_snapshot, fixtures, root};
use tempfile::TempDir;

const FORMATS: [&str; 9] =
    ["text", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "markdown"];

/// A program with findings, and an input that cannot be read.
const INPUTS: [&str; 2] = ["testdata/dumps/scan_oom", "testdata/no/such/dump"];

fn check(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    command.current_dir(root()).env_remove("GITHUB_STEP_SUMMARY").arg("check").args(arguments);
    command
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(check(arguments).output().unwrap().stdout).unwrap()
}

fn code(arguments: &[&str]) -> i32 {
    check(arguments).output().unwrap().status.code().unwrap()
}

/// What `check` prints of a path in a format.
fn of(path: &str, format: &str) -> String {
    stdout(&[path, "--format", format])
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn schema(name: &str) -> String {
    fs::read_to_string(root().join("tests/schemas").join(name)).unwrap()
}

/// Programs of all kinds: every rule's, several modules, other backends, a kernel, no verdict.
fn programs() -> Vec<String> {
    let dumps = ["two_modules", "cpu_softmax", "gpu_adam_sharded", "kernel_over_vmem", "callbacks"];
    let dumps = dumps.map(|name| format!("testdata/dumps/{name}"));
    let bad = fixtures().iter().filter(|fixture| fixture.name.ends_with("-bad"));
    let bad = bad.map(|fixture| fixture.path.to_str().unwrap().to_owned());
    dumps.into_iter().chain(INPUTS.map(str::to_owned)).chain(bad).collect()
}

#[test]
fn sarif_is_valid_by_the_published_schema() {
    let schema = jsonschema::validator_for(&json(&schema("sarif-2.1.0.json"))).unwrap();
    for program in programs() {
        let log = json(&of(&program, "sarif"));
        let errors: Vec<String> =
            schema.iter_errors(&log).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{program}: {errors:?}");
    }
    let mut log = json(&of(INPUTS[0], "sarif"));
    log["runs"][0]["results"][0]["level"] = "bad".into();
    assert!(!schema.is_valid(&log), "the schema is not read");
}

/// What GitHub asks for beyond the schema: a location each, relative paths, its own fingerprint.
#[test]
fn sarif_leads_to_the_lines_of_the_program() {
    let log = json(&stdout(&[INPUTS[0], INPUTS[1], "--format", "sarif"]));
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    let levels: BTreeSet<&str> =
        results.iter().map(|result| result["level"].as_str().unwrap()).collect();
    assert_eq!(levels, BTreeSet::from(["error", "warning"]));
    let findings = &json(&of(INPUTS[0], "json"))["findings"];
    for (at, result) in results.iter().enumerate() {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["markdown"].as_str().unwrap().contains("**Remedy**"));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "testdata/generate/models.py");
        assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
        assert_eq!(place["region"]["startLine"], findings[at]["source"]["line"]);
        let text = &result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert!(text.as_str().unwrap().ends_with("after_optimizations.txt"), "{text}");
        let own = result["partialFingerprints"]["hlolint/v1"].as_str().unwrap();
        let github = &result["partialFingerprints"]["primaryLocationLineHash"];
        assert_eq!(github, &format!("{own}:1"));
    }
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["exitCode"], 2);
    assert_eq!(invocation["toolExecutionNotifications"].as_array().unwrap().len(), 1);
}

#[test]
fn junit_is_valid_by_the_schemas_of_ant_and_of_jenkins() {
    for name in ["junit-ant.xsd", "junit-jenkins.xsd"] {
        let text = schema(name);
        let document = uppsala::parse(&text).unwrap();
        let schema = uppsala::XsdValidator::from_schema(&document).unwrap();
        for program in programs() {
            let report = of(&program, "junit");
            let errors = schema.validate(&uppsala::parse(&report).unwrap());
            assert!(errors.is_empty(), "{program} by {name}: {errors:?}\n{report}");
        }
        let broken = of(INPUTS[0], "junit").replace("tests=", "test=");
        assert!(!schema.validate(&uppsala::parse(&broken).unwrap()).is_empty(), "{name}");
    }
}

/// Failures are what makes the run fail; what could not be read is an error.
#[test]
fn junit_counts_what_fails() {
    let counts = |arguments: &[&str]| {
        let report = stdout(&[arguments, &["--format", "junit"]].concat());
        (report.matches("<failure ").count(), report.matches("<error ").count())
    };
    assert_eq!(counts(&INPUTS), (2, 1));
    assert_eq!(counts(&[INPUTS[0], "--fail-on", "error"]), (1, 0));
    assert_eq!(counts(&[INPUTS[0], "--fail-on", "never"]), (0, 0));
    assert_eq!(counts(&["testdata/dumps/mlp_donated"]), (0, 0));
}

/// The keys that GitLab documents as required, their types and values.
#[test]
fn gitlab_has_what_its_documentation_requires() {
    let severities = ["info", "minor", "major", "critical", "blocker"];
    for program in programs() {
        let mut fingerprints = BTreeSet::new();
        for issue in json(&of(&program, "gitlab")).as_array().unwrap() {
            let text = |key: &str| issue[key].as_str().unwrap().to_owned();
            assert!(!text("description").is_empty() && !text("check_name").is_empty());
            assert!(fingerprints.insert(text("fingerprint")), "{program}: {issue} twice");
            assert!(severities.contains(&text("severity").as_str()), "{issue}");
            let path = issue["location"]["path"].as_str().unwrap();
            assert!(!path.starts_with("./") && !path.starts_with('/'), "{path} is not relative");
            assert!(issue["location"]["lines"]["begin"].as_u64().unwrap() >= 1, "{issue}");
        }
    }
    assert_eq!(of("testdata/dumps/mlp_donated", "gitlab"), "[]\n");
}

#[test]
fn formats_as_they_are() {
    for format in FORMATS.iter().filter(|format| !format.starts_with("json")) {
        let inputs = ["testdata/pairs/debug-print/bad", INPUTS[0], INPUTS[1]];
        let has_statistics = ["text", "concise", "markdown"].contains(format);
        let more: &[&str] = if has_statistics { &["--statistics"] } else { &[] };
        let arguments = [&inputs[..], &["--format", format], more].concat();
        assert_snapshot("formats", format, &stdout(&arguments));
    }
}

/// An option that would change nothing is refused.
#[test]
fn statistics_need_a_format_with_a_place_for_them() {
    for format in ["sarif", "github", "gitlab", "junit"] {
        let mut command = Command::cargo_bin("hlolint").unwrap();
        let arguments = ["check", INPUTS[0], "--statistics", "--format", format];
        let run = command.current_dir(root()).args(arguments).assert().code(2);
        let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert!(said.contains("--statistics has no place in this format"), "{format}: {said}");
    }
    assert!(
        stdout(&[INPUTS[0], "--statistics", "--format", "concise"]).contains("Findings by rule")
    );
}

/// A line an item, with the fields of the JSON object.
#[test]
fn json_lines_are_the_json() {
    let whole = json(&stdout(&[INPUTS[0], INPUTS[1], "--format", "json"]));
    let lines = stdout(&[INPUTS[0], INPUTS[1], "--format", "json-lines"]);
    let mut met = Vec::new();
    for line in lines.lines() {
        let mut item = json(line);
        let kind = item.as_object_mut().unwrap().remove("type").unwrap();
        let kind = format!("{}s", kind.as_str().unwrap());
        assert!(whole[&kind].as_array().unwrap().contains(&item), "{kind}: {item}");
        met.push(kind);
    }
    assert_eq!(met, ["diagnostics", "modules", "findings", "findings"]);
}

/// The exit code and what could not be read are the same in every format.
#[test]
fn every_format_ends_alike_and_tells_what_was_not_read() {
    let empty = TempDir::new().unwrap();
    let table: &[(&[&str], i32)] = &[
        (&INPUTS, 2),
        (&[INPUTS[0]], 1),
        (&[INPUTS[0], "--fail-on", "never"], 0),
        (&[empty.path().to_str().unwrap()], 3),
    ];
    for format in FORMATS {
        for (arguments, expected) in table {
            let arguments = [*arguments, &["--format", format]].concat();
            assert_eq!(code(&arguments), *expected, "{arguments:?}");
        }
        let output = check(&[INPUTS[0], INPUTS[1], "--format", format]).output().unwrap();
        let said = if format == "text" { output.stderr } else { output.stdout };
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("no/such/dump") && said.contains("cannot be read"), "{said}");
    }
}

/// Every format twice, and on one thread: the same bytes.
#[test]
fn every_format_is_the_same_twice() {
    for format in FORMATS {
        let inputs = ["testdata/dumps/two_modules", "testdata/pairs/replicated-tensor"];
        let arguments = [&inputs[..], &["--format", format]].concat();
        let mut alone = check(&arguments);
        let alone = alone.env("RAYON_NUM_THREADS", "1").output().unwrap().stdout;
        assert_eq!(String::from_utf8(alone).unwrap(), stdout(&arguments), "{format}");
    }
}

#[test]
fn several_formats_in_one_run() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (sarif, junit, text) = (at("a.sarif"), at("b.xml"), at("c.txt"));
    fs::write(&sarif, "what stood there before, which is longer than nothing").unwrap();
    let output = check(&[INPUTS[0], INPUTS[1], "--format", "concise"])
        .args(["--format", &format!("sarif={sarif}"), "--format", &format!("junit={junit}")])
        .args(["--format", &format!("text={text}")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let concise = String::from_utf8(output.stdout).unwrap();
    assert_eq!(concise, stdout(&[INPUTS[0], INPUTS[1], "--format", "concise"]));
    assert_eq!(json(&fs::read_to_string(&sarif).unwrap())["version"], "2.1.0");
    assert!(fs::read_to_string(&junit).unwrap().contains("<testsuites>"));
    let text = fs::read_to_string(&text).unwrap();
    assert!(text.contains("cannot be read") && text.contains("DOES NOT FIT"), "{text}");
    assert!(!text.contains('\u{1b}'), "colours in a file");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "a file is left over");
}

#[test]
fn output_files() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("out.json");
    let arguments = [INPUTS[0], "--format", "json", "--output-file", file.to_str().unwrap()];
    let output = check(&arguments).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert_eq!(json(&fs::read_to_string(&file).unwrap())["schema"], "hlolint.check/1");
    // Nowhere to write to: said, and nothing half done.
    let nowhere = folder.path().join("no/such/folder/x");
    let nowhere = ["--output-file", nowhere.to_str().unwrap()];
    let output = check(&[&[INPUTS[0]], &nowhere[..]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no/such/folder"));
    // A device is written to and stays one.
    assert_eq!(code(&[INPUTS[0], "--output-file", "/dev/null"]), 1);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    for wrong in [
        &["--format", "text", "--format", "json"][..],
        &["--format", "sarif="],
        &["--format", "xml"],
        &["--format", "json=a", "--output-file", "a"],
    ] {
        assert_eq!(code(&[&[INPUTS[0]], wrong].concat()), 2, "{wrong:?}");
    }
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let folder = TempDir::new().unwrap();
    let summary = folder.path().join("summary.md");
    fs::write(&summary, "of the step before\n").unwrap();
    let mut command = check(&[INPUTS[0], "--format", "github"]);
    let output = command.env("GITHUB_STEP_SUMMARY", &summary).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let first = said.lines().next().unwrap();
    let expected = "::error file=testdata/generate/models.py,line=118,title=hbm-over-capacity \
                    (jit_scanned_loss)::42.01 GiB on a v5e with 15.75 GiB%0A";
    assert!(first.starts_with(expected), "{first}");
    assert!(said.lines().all(|line| line.starts_with("::")), "{said}");
    let summary = fs::read_to_string(summary).unwrap();
    assert!(summary.starts_with("of the step before\n## hlolint: "), "{summary}");
    assert!(summary.contains("| **does not fit** | `jit_scanned_loss` |"), "{summary}");
}

/// A dump of another checkout: annotations are on the files of this one.
#[test]
fn paths_of_another_machine_are_those_of_this_checkout() {
    let checkout = TempDir::new().unwrap();
    let source = root().join("testdata/pairs/debug-print/bad");
    for path in support::files(&source, ".txt") {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("\"pairs.py\"", "\"/builds/4711/repo/lib/pairs.py\"");
        fs::write(checkout.path().join(support::file_name(&path)), text).unwrap();
    }
    let run = || {
        let mut command = Command::cargo_bin("hlolint").unwrap();
        command.current_dir(checkout.path()).args(["check", ".", "--format", "concise"]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(run().starts_with("/builds/4711/repo/lib/pairs.py:"), "{}", run());
    fs::create_dir(checkout.path().join("lib")).unwrap();
    fs::write(checkout.path().join("lib/pairs.py"), "").unwrap();
    assert!(run().starts_with("lib/pairs.py:118: warn[debug-print]"), "{}", run());
}

#[test]
fn statistics_count_by_rule() {
    let report = json(&stdout(&["testdata/pairs", "--statistics", "--format", "json"]));
    let statistics = report["statistics"].as_array().unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert!(statistics.len() >= 5, "{statistics:?}");
    for row in statistics {
        let of_rule = findings.iter().filter(|finding| finding["rule"] == row["rule"]);
        let sizes: Vec<u64> = of_rule.map(|finding| finding["bytes"].as_u64().unwrap()).collect();
        assert_eq!(row["count"], sizes.len(), "{row}");
        assert_eq!(row["bytes"], sizes.iter().sum::<u64>(), "{row}");
    }
    assert!(statistics.is_sorted_by_key(|row| std::cmp::Reverse(row["bytes"].as_u64())));
    assert!(report["findings"].as_array().unwrap().len() >= statistics.len());
    assert!(json(&of(INPUTS[0], "json")).get("statistics").is_none(), "not asked for");
}

/// The log of the run: its error explained beside the findings, in every format.
#[test]
fn a_log_is_explained_beside_the_findings() {
    let dump = "testdata/dumps/kernel_over_vmem";
    let log = format!("{dump}/compile.log");
    let text = stdout(&[dump, "--log", &log]);
    assert_snapshot("formats", "text_with_log", &text);
    for format in
        ["concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "markdown"]
    {
        let said = stdout(&[dump, "--log", &log, "--format", format]);
        assert!(said.contains("vmem-scoped-oom"), "{format}: {said}");
    }
    let report = json(&stdout(&[dump, "--log", &log, "--format", "json"]));
    assert_eq!(report["log"]["incidents"][0]["dump"]["module"], report["modules"][0]["name"]);
    // A log that is not there, and one that says nothing.
    assert_eq!(code(&[dump, "--log", "no/such.log"]), 2);
    let quiet = "testdata/logs/compiled.log";
    assert_eq!(code(&["testdata/dumps/mlp_donated", "--log", quiet]), 0);
    let text = stdout(&["testdata/dumps/mlp_donated", "--log", quiet]);
    assert!(text.starts_with("no memory error"), "{text}");
}

/// Links are for terminals: none in a pipe, even where colours are forced.
#[test]
fn source_lines_are_links_on_a_terminal_only() {
    let mut command = check(&[INPUTS[0]]);
    let output = command.env("CLICOLOR_FORCE", "1").env("FORCE_HYPERLINK", "1").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("\u{1b}[") && !said.contains("\u{1b}]8;;"), "{said}");
    let report = &support::fixture("scan_oom").report;
    let sources = hlolint::report::Sources::below(root(), report).searched();
    let options = hlolint::render::text::Options { links: Some(&sources), ..Default::default() };
    let linked = hlolint::render::text::check(report, options);
    let link = format!("\u{1b}]8;;file://{}/testdata/generate/models.py\u{1b}\\", root().display());
    assert!(linked.contains(&link), "{linked}");
    let plain = hlolint::render::text::check(report, Default::default());
    let strip = |text: &str| anstream::adapter::strip_str(text).to_string();
    assert_eq!(strip(&linked), strip(&plain), "links change the layout");
}

/// The help of every command ends with an example; the manual and completions know every command.
#[test]
fn every_command_is_documented() {
    let run = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("hlolint").unwrap();
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let help = run(&["--help"]);
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 10 && names.contains(&"check"), "{names:?}");
    let folder = TempDir::new().unwrap();
    run(&["man", "--dir", folder.path().to_str().unwrap()]);
    for name in names.iter().filter(|name| **name != "help") {
        let help = run(&[name, "--help"]);
        let example = help.rsplit("Example:\n").next().filter(|example| *example != help);
        let example = example.unwrap_or_else(|| panic!("{name} --help ends without an example"));
        assert!(example.contains("hlolint"), "{name}: {example}");
        assert!(example.lines().all(|line| line.starts_with("  ")), "{name}: {example}");
        let page = fs::read_to_string(folder.path().join(format!("hlolint-{name}.1"))).unwrap();
        assert!(page.contains("SYNOPSIS") && page.contains("Example:"), "{name}: {page}");
    }
    assert!(run(&["man"]).starts_with(".ie"), "roff");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]);
        for name in ["check", "--output-file", "--statistics"] {
            assert!(script.contains(name.trim_start_matches('-')), "{shell}: {name}");
        }
    }
}

/// A reader that has seen enough is no error.
#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::{Command, Stdio};
    for format in FORMATS {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("hlolint"));
        command.current_dir(root()).args(["check", INPUTS[0], "--fail-on", "never"]);
        command.args(["--format", format]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("cannot be written") && !said.contains("panicked"), "{said}");
    }
}

/// Lines of a person's report have at most 100 columns, but where a word alone is longer.
#[test]
fn lines_fit_the_terminal() {
    let options = hlolint::render::text::Options::default();
    for fixture in fixtures() {
        let text = hlolint::render::text::check(&fixture.report, options);
        let text = anstream::adapter::strip_str(&text).to_string();
        for line in text.lines().filter(|line| line.chars().count() > options.width) {
            assert!(line.split_whitespace().count() <= 2, "{}: {line}", fixture.name);
        }
    }
}
