//! `hlolint snapshot`: what it keeps of every program of testdata (`snapshots/snapshot`), that it
//! keeps nothing that changes by itself, and what it does with a directory.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use hlolint::config::Settings;
use hlolint::render;
use hlolint::report::snapshot::take;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::renumber::{copy_dump, renumbered, reordered};
use support::{assert_snapshot, file_name, fixtures, open, root};

/// The snapshots of all modules of a dump, one below the other.
fn snapshots(path: &Path, settings: &Settings) -> String {
    let taken = take(&open(path), settings, &|| {});
    let mut texts: Vec<String> = taken.modules.iter().map(render::snapshot::text).collect();
    texts.sort();
    texts.join("\n")
}

#[test]
fn of_every_program() {
    for fixture in fixtures() {
        assert_snapshot("snapshot", &fixture.name, &snapshots(&fixture.path, &fixture.settings));
    }
}

#[test]
fn the_same_when_instructions_are_renumbered() {
    let mut changed = 0;
    for fixture in fixtures() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(&fixture.name);
        copy_dump(&fixture.path, &copy, &mut |text| {
            let text_then = renumbered(text);
            changed += usize::from(text_then != text);
            text_then
        });
        assert_eq!(
            snapshots(&copy, &fixture.settings),
            snapshots(&fixture.path, &fixture.settings),
            "{}",
            fixture.name
        );
    }
    assert!(changed > 60, "{changed} texts with other numbers");
}

#[test]
fn the_same_when_instructions_are_reordered_without_effect() {
    let mut swapped = 0;
    for fixture in fixtures() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(&fixture.name);
        copy_dump(&fixture.path, &copy, &mut |text| {
            let (text, count) = reordered(text);
            swapped += count;
            text
        });
        assert_eq!(
            snapshots(&copy, &fixture.settings),
            snapshots(&fixture.path, &fixture.settings),
            "{}",
            fixture.name
        );
    }
    assert!(swapped > 100, "{swapped} swaps");
}

#[test]
fn tells_nothing_of_the_machine() {
    for fixture in fixtures() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(&fixture.name);
        copy_dump(&fixture.path, &copy, &mut str::to_owned);
        let text = snapshots(&copy, &fixture.settings);
        assert_eq!(text, snapshots(&fixture.path, &fixture.settings), "{}", fixture.name);
        assert!(!text.contains(folder.path().to_str().unwrap()), "{}: a path", fixture.name);
        assert!(!text.contains("testdata"), "{}: a path", fixture.name);
    }
}

/// A directory of snapshots.
struct Kept {
    folder: tempfile::TempDir,
}

impl Kept {
    fn new() -> Kept {
        Kept { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("memory")
    }

    /// Exit code and output.
    fn run(&self, dumps: &[&str], options: &[&str]) -> (i32, String) {
        let mut command = Command::cargo_bin("hlolint").unwrap();
        command.current_dir(root()).arg("snapshot").args(dumps).args(options);
        let output = command.arg("--dir").arg(self.path()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }

    fn files(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (file_name(&path), fs::read_to_string(&path).unwrap())).collect()
    }

    /// Changes a file.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "no {from} in {file}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
    }
}

const NOT_DONATED: &str = "testdata/dumps/mlp_not_donated";
const DONATED: &str = "testdata/dumps/mlp_donated";
const FILE: &str = "jit_momentum_step.memory.txt";

#[test]
fn the_same_bytes_on_one_thread_and_on_two() {
    let of = |threads: &str| {
        let kept = Kept::new();
        let mut command = Command::cargo_bin("hlolint").unwrap();
        command.current_dir(root()).env("RAYON_NUM_THREADS", threads);
        command.args(["snapshot", "testdata/dumps", "testdata/pairs", "--dir"]).arg(kept.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        (output.stdout, kept.files())
    };
    let (one, two) = (of("1"), of("2"));
    assert!(one.1.len() > 40, "{} files", one.1.len());
    assert!(one == two, "one and two threads differ");
}

#[test]
fn writes_compares_and_accepts() {
    let kept = Kept::new();
    assert_eq!(kept.run(&[NOT_DONATED], &["--check"]).0, 1, "missing");
    assert!(!kept.path().exists(), "--check writes nothing");
    let (code, text) = kept.run(&[NOT_DONATED], &[]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(kept.files().keys().collect::<Vec<_>>(), [FILE]);
    assert_eq!(kept.run(&[NOT_DONATED], &["--check"]).0, 0);
    // The remedy changes what is needed: shown, and left as it is until it is accepted.
    let before = kept.files();
    for options in [&["--check"][..], &[]] {
        let (code, text) = kept.run(&[DONATED], options);
        assert_eq!(code, 1, "{text}");
        assert_eq!(kept.files(), before);
        assert_snapshot("changes", "snapshot_check", &text);
    }
    assert_eq!(kept.run(&[DONATED], &["--update"]).0, 0);
    assert_eq!(kept.run(&[DONATED], &["--check"]).0, 0);
    assert_ne!(kept.files(), before);
    assert_eq!(kept.run(&["testdata/none"], &["--check"]).0, 2);
    assert_eq!(kept.run(&[DONATED], &["--check", "--update"]).0, 2);
}

#[test]
fn sizes_may_differ_within_the_tolerance() {
    let kept = Kept::new();
    kept.run(&[DONATED], &[]);
    kept.edit(FILE, "  required", "0  required");
    assert_eq!(kept.run(&[DONATED], &["--check", "--tolerance", "1%"]).0, 1, "ten times as much");
    kept.run(&[DONATED], &["--update"]);
    let text = kept.files()[FILE].clone();
    let required = text.lines().find(|line| line.ends_with("  required")).unwrap();
    let bytes: u64 = required.split_whitespace().next().unwrap().parse().unwrap();
    kept.edit(FILE, &bytes.to_string(), &(bytes + bytes / 200).to_string());
    assert_eq!(kept.run(&[DONATED], &["--check"]).0, 1);
    assert_eq!(kept.run(&[DONATED], &["--check", "--tolerance", "0.1%"]).0, 1);
    assert_eq!(kept.run(&[DONATED], &["--check", "--tolerance", "1%"]).0, 0);
    assert_eq!(kept.run(&[DONATED], &["--check", "--tolerance", "16MiB"]).0, 0);
    assert_eq!(kept.run(&[DONATED], &["--check", "--tolerance", "many"]).0, 2);
}

#[test]
fn another_compiler_is_told_from_another_program() {
    let kept = Kept::new();
    kept.run(&[DONATED], &[]);
    kept.edit(FILE, "(cl_1014260217)", "(cl_1)");
    let (code, text) = kept.run(&[DONATED], &["--check"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("(cl_1014260217), the snapshot by libtpu 0.0.52 (cl_1)"), "{text}");
    kept.edit(FILE, "  required", "1  required");
    let (code, text) = kept.run(&[DONATED], &["--check"]);
    assert_eq!(code, 1);
    assert!(text.contains("it may be the compiler's doing"), "{text}");
}

#[test]
fn says_what_is_missing_extra_and_renamed() {
    let kept = Kept::new();
    let two = "testdata/dumps/two_modules";
    kept.run(&[two], &[]);
    assert_eq!(kept.files().len(), 2);
    fs::write(kept.path().join("notes.md"), "mine").unwrap();
    // One module only was looked at: the other one's snapshot is no concern of the run.
    assert_eq!(kept.run(&[two], &["--check", "--module", "jit_momentum*"]).0, 0);
    fs::remove_file(kept.path().join("jit__lambda.memory.txt")).unwrap();
    let (code, text) = kept.run(&[two], &["--check"]);
    assert!(code == 1 && text.contains("missing  jit__lambda.memory.txt"), "{text}");
    kept.run(&[two], &[]);
    // Renamed: the same arguments under another name.
    fs::rename(kept.path().join("jit__lambda.memory.txt"), kept.path().join("jit_old.memory.txt"))
        .unwrap();
    kept.edit("jit_old.memory.txt", "jit__lambda", "jit_old");
    let (code, text) = kept.run(&[two], &["--check"]);
    assert!(code == 1 && text.contains("jit_old is jit__lambda now, otherwise the same"), "{text}");
    assert_eq!(kept.run(&[two], &["--update"]).0, 0);
    assert!(!kept.files().contains_key("jit_old.memory.txt"));
    assert_eq!(kept.run(&[two], &["--check"]).0, 0);
    let other = "testdata/dumps/gru_v4";
    let (code, text) = kept.run(&[two, other], &[]);
    assert!(code == 0 && text.contains("written  jit_f.memory.txt"), "{text}");
    let (code, text) = kept.run(&[two], &["--check"]);
    assert!(code == 1 && text.contains("extra  jit_f.memory.txt"), "{text}");
    assert_eq!(kept.run(&[two], &[]).0, 0, "another run may be about it");
    assert!(kept.files().contains_key("jit_f.memory.txt"));
    assert_eq!(kept.run(&[two], &["--update"]).0, 0);
    let files: Vec<String> = kept.files().into_keys().collect();
    assert_eq!(files, ["jit__lambda.memory.txt", FILE, "notes.md"], "mine is left alone");
}

/// Programs of one name keep their files whatever the order of the compiles.
#[test]
fn programs_of_one_name() {
    let kept = Kept::new();
    let dumps =
        ["testdata/dumps/gru_v4", "testdata/dumps/kernel_fits", "testdata/dumps/collectives"];
    kept.run(&dumps, &[]);
    let files = kept.files();
    assert_eq!(files.len(), 3, "{:?}", files.keys());
    let reversed: Vec<&str> = dumps.iter().rev().copied().collect();
    assert_eq!(kept.run(&reversed, &["--check"]).0, 0);
    let again = Kept::new();
    again.run(&reversed, &[]);
    assert_eq!(again.files(), files);
}

/// Where an input cannot be read nothing is removed: its module may be the one that seems gone.
#[test]
fn an_input_that_cannot_be_read_removes_nothing() {
    let kept = Kept::new();
    kept.run(&[DONATED, "testdata/dumps/gru_v4"], &[]);
    let broken = kept.folder.path().join("broken.txt");
    fs::write(&broken, "HloModule broken\n\nENTRY %main {\n  %x = ").unwrap();
    let (code, _) = kept.run(&[DONATED, broken.to_str().unwrap()], &["--update"]);
    assert_eq!(code, 2);
    assert_eq!(kept.files().len(), 2);
}

#[test]
fn files_of_another_kind_are_not_overwritten() {
    let kept = Kept::new();
    fs::create_dir(kept.path()).unwrap();
    fs::write(kept.path().join(FILE), "something of mine\n").unwrap();
    assert_eq!(kept.run(&[DONATED], &["--update"]).0, 2);
    assert_eq!(kept.files()[FILE], "something of mine\n");
}
