//! What runs in other people's pipelines: the action, the hook, the workflows, and the page that shows
//! them. `.ci/gate` runs the page's workflow whole, a compile included.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::root;
use tempfile::TempDir;
use yaml_rust2::{Yaml, YamlLoader};

/// Every YAML file of the project, parsed.
fn yaml_files() -> BTreeMap<String, Yaml> {
    let mut names: Vec<PathBuf> =
        ["action.yml", ".pre-commit-hooks.yaml", "docs/gate/workflow.yml"]
            .map(|name| root().join(name))
            .to_vec();
    let workflows = fs::read_dir(root().join(".github/workflows")).unwrap();
    names.extend(workflows.map(|entry| entry.unwrap().path()));
    names.into_iter().map(|path| (path.display().to_string(), parsed(&path))).collect()
}

fn parsed(path: &Path) -> Yaml {
    let text = fs::read_to_string(path).unwrap();
    YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}")).remove(0)
}

/// All values of a key, at any depth.
fn values<'y>(yaml: &'y Yaml, key: &str, found: &mut Vec<&'y str>) {
    match yaml {
        Yaml::Hash(hash) => {
            for (name, value) in hash {
                match value.as_str().filter(|_| name.as_str() == Some(key)) {
                    Some(text) => found.push(text),
                    None => values(value, key, found),
                }
            }
        }
        Yaml::Array(all) => all.iter().for_each(|one| values(one, key, found)),
        _ => {}
    }
}

/// A tag can be moved; a commit cannot. The comment beside it says which release it is.
#[test]
fn actions_of_others_are_pinned() {
    let mut count = 0;
    for (file, yaml) in yaml_files() {
        let text = fs::read_to_string(&file).unwrap();
        let mut uses = Vec::new();
        values(&yaml, "uses", &mut uses);
        for action in uses.into_iter().filter(|action| !action.starts_with("OWNER/hlolint@v")) {
            let (_, commit) = action.split_once('@').unwrap();
            let is_commit = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
            assert!(is_commit, "{file}: {action}");
            assert!(text.contains(&format!("{action} # v")), "{file}: which release is {action}?");
            count += 1;
        }
    }
    assert!(count >= 6, "{count} actions");
}

fn help(command: &str) -> String {
    let mut binary = Command::cargo_bin("hlolint").unwrap();
    let output = binary.args([command, "--help"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Every option of `hlolint check` that a file or page names is one.
#[test]
fn options_that_are_named_exist() {
    let help = help("check");
    let mut count = 0;
    let pages = ["gate-your-merges.md", "configuration.md", "python.md"];
    let pages = pages.map(|name| root().join("docs").join(name).display().to_string());
    for file in yaml_files().into_keys().chain(pages) {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter(|line| line.contains("hlolint") || line.contains("BINARY"));
        let behind = lines.filter_map(|line| Some(line.split_once("check")?.1));
        for word in behind.flat_map(|line| line.split(|c: char| " `\"'[],;:()=".contains(c))) {
            let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) else {
                continue;
            };
            let is_one =
                [' ', '\n', ','].iter().any(|end| help.contains(&format!("--{option}{end}")));
            assert!(is_one, "{file}: --{option} is no option of hlolint check");
            count += 1;
        }
    }
    assert!(count >= 10, "{count} options");
}

/// A step of the action, by its id.
fn step(id: &str) -> Yaml {
    let action = parsed(&root().join("action.yml"));
    let steps = action["runs"]["steps"].as_vec().unwrap().clone();
    steps.into_iter().find(|step| step["id"].as_str() == Some(id)).unwrap()
}

/// Runs a step of the action as a runner does; the exit code, what it printed, and its outputs.
fn run(id: &str, folder: &Path, environment: &[(&str, &str)]) -> (i32, String, String) {
    let outputs = folder.join("outputs");
    fs::write(&outputs, "").unwrap();
    let step = step(id);
    let declared = step["env"].as_hash().unwrap();
    for (name, _) in environment {
        assert!(declared.contains_key(&Yaml::String((*name).to_owned())), "{id} takes no {name}");
    }
    let output = std::process::Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().unwrap()])
        .current_dir(folder)
        .envs(environment.iter().copied())
        .env("GITHUB_OUTPUT", &outputs)
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let code = output.status.code().unwrap();
    assert!(code == 0 || id == "verdict", "{}", String::from_utf8_lossy(&output.stderr));
    (code, said, fs::read_to_string(&outputs).unwrap())
}

#[test]
fn the_steps_of_the_action() {
    let binary = assert_cmd::cargo::cargo_bin("hlolint").display().to_string();
    let dump = |name: &str| root().join("testdata").join(name).display().to_string();
    let (fits, prints, missing) =
        (dump("dumps/mlp_donated"), dump("pairs/debug-print/bad"), dump("none"));
    // Paths, options, exit code.
    let cases = [
        (fits.clone(), "", "0"),
        (prints.clone(), "", "1"),
        (format!("{fits}\n{prints}\n"), "--fail-on\nerror\n", "0"),
        (prints, "--allow=debug-print", "0"),
        (missing, "", "2"),
    ];
    for (paths, options, code) in cases {
        let folder = TempDir::new().unwrap();
        let (_, said, outputs) = run("install", folder.path(), &[("BINARY", &binary)]);
        assert!(said.starts_with("hlolint ") && outputs == format!("binary={binary}\n"), "{said}");
        let environment = [
            ("BINARY", binary.as_str()),
            ("PATHS", &paths),
            ("OPTIONS", options),
            ("SARIF", "a.sarif"),
        ];
        let (_, said, outputs) = run("check", folder.path(), &environment);
        assert_eq!(outputs, format!("exit-code={code}\nsarif=true\n"), "{paths} {options}");
        assert!(code != "1" || said.contains("::warning "), "{said}");
        let sarif = fs::read_to_string(folder.path().join("a.sarif")).unwrap();
        assert!(sarif.contains("\"2.1.0\""));
        assert!(folder.path().join("summary.md").is_file());
        let (verdict, ..) = run("verdict", folder.path(), &[("CODE", code)]);
        assert_eq!(verdict.to_string(), code);
    }
}

/// The inputs that steps read are declared, and what the page gives the action are inputs.
#[test]
fn inputs_of_the_action() {
    let text = fs::read_to_string(root().join("action.yml")).unwrap();
    let action = parsed(&root().join("action.yml"));
    let inputs = action["inputs"].as_hash().unwrap();
    let is_input = |name: &str| inputs.contains_key(&Yaml::String(name.to_owned()));
    for behind in text.split("inputs.").skip(1) {
        let name: String =
            behind.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
        assert!(is_input(&name), "no input {name}");
    }
    let workflow = parsed(&root().join("docs/gate/workflow.yml"));
    let steps = workflow["jobs"]["hlolint"]["steps"].as_vec().unwrap();
    let own =
        steps.iter().find(|step| step["uses"].as_str().is_some_and(|u| u.starts_with("OWNER")));
    for name in own.unwrap()["with"].as_hash().unwrap().keys() {
        assert!(is_input(name.as_str().unwrap()), "no input {name:?}");
    }
}

/// The page shows the files that `.ci/gate` runs.
#[test]
fn the_page_shows_files() {
    const START: &str = "<!-- file ";
    let path = root().join("docs/gate-your-merges.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut expected = String::new();
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once(START) {
        let (name, behind) = behind.split_once(" -->\n").unwrap();
        let (_, behind) = behind.split_once("<!-- end of file -->").unwrap();
        let language = match name.rsplit('.').next() {
            Some("py") => "python",
            Some("yml") => "yaml",
            other => other.unwrap(),
        };
        let shown = fs::read_to_string(root().join(name)).unwrap();
        expected +=
            &format!("{before}{START}{name} -->\n```{language}\n{shown}```\n<!-- end of file -->");
        rest = behind;
    }
    expected += rest;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(expected == fs::read_to_string(&path).unwrap(), "set UPDATE_DOCS=1");
}
