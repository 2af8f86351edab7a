//! What several tests need: the programs of testdata, their reports, snapshots.

// A helper of a test fails by panicking; not every test uses every helper.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)]

pub mod page;
pub mod renumber;

use hlolint::config::{self, Settings};
use hlolint::dump::{self, Dump, Options};
use hlolint::lint::known_rules;
use hlolint::report::check::{self, CheckReport};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The folder of the crate.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A dump directory of testdata.
pub struct Fixture {
    /// The name of its snapshots: `mlp_donated`, `debug-print-bad`.
    pub name: String,
    /// Its path from the folder of the crate, where tests run.
    pub path: PathBuf,
    /// What the hlolint.toml beside it says.
    pub settings: Settings,
    /// What `check` says of it with no more said than that.
    pub report: CheckReport,
}

/// All dump directories of `testdata/dumps` and `testdata/pairs`, by name.
pub fn fixtures() -> &'static [Fixture] {
    static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
        let dumps = folders(Path::new("testdata/dumps")).into_iter();
        let pairs = folders(Path::new("testdata/pairs")).into_iter().flat_map(|p| folders(&p));
        let named = dumps.map(|path| (file_name(&path), path)).chain(pairs.map(|path| {
            let rule = file_name(path.parent().unwrap());
            (format!("{rule}-{}", file_name(&path)), path)
        }));
        let all: Vec<Fixture> = named
            .map(|(name, path)| {
                let settings = settings(&path);
                let report = report(&path, &settings);
                Fixture { name, path, settings, report }
            })
            .collect();
        assert!(all.len() > 30, "testdata is not complete: {} directories", all.len());
        all
    });
    &FIXTURES
}

/// The fixture of this name.
pub fn fixture(name: &str) -> &'static Fixture {
    fixtures().iter().find(|fixture| fixture.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// What the hlolint.toml in the folder of a pair says.
fn settings(path: &Path) -> Settings {
    let Some(file) = config::find_upward(path) else { return Settings::default() };
    let (name, text) = (file.display().to_string(), fs::read_to_string(&file).unwrap());
    config::read(&name, &text, &known_rules()).unwrap().settings
}

/// The folders in a folder, by name.
pub fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The last part of a path.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The files of a folder whose names end so, by name.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    files.sort();
    files
}

/// What is found at a path.
pub fn open(path: &Path) -> Dump {
    dump::open(&[path.to_owned()], &Options::default())
}

/// What `check` says of a path.
pub fn report(path: &Path, settings: &Settings) -> CheckReport {
    check::check(&open(path), settings, &|| {})
}

/// Holds a text against `snapshots/AREA/NAME.snap`.
pub fn assert_snapshot(area: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots").join(area));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name.to_owned(), text));
}

/// All tracked text files of the project but those that a tool wrote (dumps, the lock file).
pub fn own_files() -> Vec<(String, String)> {
    let skipped = [
        "target",
        "testdata/dumps",
        "testdata/pairs",
        "testdata/large",
        "tests/schemas",
        "Cargo.lock",
    ];
    let walk = walkdir::WalkDir::new(root()).sort_by_file_name().into_iter();
    let relative = |path: &Path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    walk.filter_entry(|entry| {
        let path = relative(entry.path());
        let name = file_name(entry.path());
        let hidden = name.starts_with(".git") && name != ".github" || name == ".venvs";
        let generated = ["target", "node_modules", "corpus", "artifacts", "__pycache__"]
            .contains(&name.as_str());
        path.is_empty() || !hidden && !generated && !skipped.contains(&path.as_str())
    })
    .map(Result::unwrap)
    .filter(|entry| entry.file_type().is_file())
    .filter_map(|entry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        Some((relative(entry.path()), text))
    })
    .collect()
}
