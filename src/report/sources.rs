//! A report and the working directory in; where each file that the report names lies below that
//! directory, out.
//!
//! A dump names the user's files as the machine that compiled saw them, which may be another one, or
//! another checkout. A review shows a finding only where its path is that of a file of the change.

use super::check::CheckReport;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Files that are looked at below the working directory, and how deep.
const MAX_FILES: usize = 200_000;
const MAX_DEPTH: usize = 16;

/// Where the files of a report lie.
#[derive(Debug, Default)]
pub struct Sources {
    root: PathBuf,
    paths: FxHashMap<String, String>,
    /// Relative paths that lead nowhere from the working directory.
    unknown: Vec<String>,
}

impl Sources {
    /// Looks for the files that a report names below a directory, by their paths.
    pub fn below(root: &Path, report: &CheckReport) -> Sources {
        let mut sources = Sources { root: root.to_owned(), ..Sources::default() };
        let findings = || report.findings.iter();
        let texts = findings().filter_map(|finding| finding.file());
        let others = report.diagnostics.iter().map(|diagnostic| diagnostic.file.as_str());
        let modules = report.modules.iter().map(|module| module.file.as_str());
        for file in texts.chain(others).chain(modules) {
            sources.paths.insert(file.to_owned(), sources.stripped(file));
        }
        let users = findings().filter_map(|finding| finding.source.as_ref());
        let at_peaks = report.modules.iter().filter_map(|module| module.peak.as_ref());
        let at_peaks = at_peaks.flat_map(|peak| {
            let rows = peak.alive.groups.iter().flat_map(|group| {
                group.source.iter().chain(group.rows.iter().filter_map(|row| row.source.as_ref()))
            });
            peak.source.iter().chain(rows)
        });
        let users: BTreeSet<&str> =
            users.chain(at_peaks).map(|source| source.file.as_str()).collect();
        for file in users {
            let found = sources.by_suffix(file);
            if found.is_none() && is_plain(file) && !is_rooted(file) {
                sources.unknown.push(file.to_owned());
            }
            sources.paths.insert(file.to_owned(), found.unwrap_or_else(|| clean(file)));
        }
        sources
    }

    /// Looks for the rest in all folders, too, which takes its time in large ones.
    #[must_use]
    pub fn searched(mut self) -> Sources {
        let unknown = std::mem::take(&mut self.unknown);
        self.search(&unknown.iter().map(String::as_str).collect::<Vec<&str>>());
        self
    }

    /// A file's path from the working directory, with `/` between its parts; as it was named where
    /// it does not lie there.
    pub fn path<'a>(&'a self, file: &'a str) -> &'a str {
        self.paths.get(file).map_or(file, String::as_str)
    }

    /// The whole path of a file that is there.
    pub fn whole(&self, file: &str) -> Option<PathBuf> {
        Some(self.root.join(self.paths.get(file)?)).filter(|path| path.is_file())
    }

    /// The path without the working directory in front.
    fn stripped(&self, file: &str) -> String {
        let stripped = Path::new(file).strip_prefix(&self.root).ok().and_then(Path::to_str);
        clean(stripped.unwrap_or(file))
    }

    /// The longest end of a path that names a file below the working directory.
    fn by_suffix(&self, file: &str) -> Option<String> {
        let path = self.stripped(file);
        if path.len() < file.len() && Path::new(file).starts_with(&self.root) {
            return Some(path);
        }
        if !is_plain(&path) {
            return None;
        }
        let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        let mut ends = starts.filter_map(|at| path.get(at..)).filter(|end| !end.is_empty());
        let found = ends.find(|end| !is_rooted(end) && self.root.join(end).is_file());
        found.map(str::to_owned)
    }

    /// Of files that are named from another directory: the only one below this that ends so.
    fn search(&mut self, files: &[&str]) {
        if files.is_empty() {
            return;
        }
        let is_visible = |entry: &DirEntry| {
            let name = entry.file_name().to_string_lossy();
            let skipped = ["target", "node_modules", "__pycache__", "site-packages"];
            entry.depth() == 0 || !(name.starts_with('.') || skipped.contains(&name.as_ref()))
        };
        let mut by_name: FxHashMap<String, Vec<&str>> = FxHashMap::default();
        for file in files {
            by_name.entry(name_of(&clean(file)).to_owned()).or_default().push(file);
        }
        let walk = WalkDir::new(&self.root).max_depth(MAX_DEPTH).sort_by_file_name().into_iter();
        let mut found: FxHashMap<&str, Vec<String>> = FxHashMap::default();
        for entry in walk.filter_entry(is_visible).filter_map(Result::ok).take(MAX_FILES) {
            let path = entry.path().strip_prefix(&self.root).ok().and_then(Path::to_str);
            let Some(path) = path.filter(|_| entry.file_type().is_file()).map(clean) else {
                continue;
            };
            for file in by_name.get(name_of(&path)).into_iter().flatten() {
                let before = path.strip_suffix(clean(file).as_str());
                if before.is_some_and(|before| before.ends_with('/')) {
                    found.entry(file).or_default().push(path.clone());
                }
            }
        }
        for (file, paths) in found {
            if let [path] = paths.as_slice() {
                self.paths.insert(file.to_owned(), path.clone());
            }
        }
    }
}

/// `a/b.py`, of `./a\b.py`.
fn clean(path: &str) -> String {
    let path = path.replace('\\', "/");
    path.strip_prefix("./").unwrap_or(&path).to_owned()
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_rooted(path: &str) -> bool {
    path.starts_with('/') || path.get(1..3).is_some_and(|drive| drive == ":/")
}

/// Whether a path may be looked for: it climbs nowhere, and is no file of an installed package,
/// whose name means nothing here.
fn is_plain(path: &str) -> bool {
    const LONGEST: usize = 4096;
    let mut parts = path.split('/');
    !parts.any(|part| matches!(part, ".." | "site-packages" | "dist-packages"))
        && !path.starts_with('<')
        && path.len() <= LONGEST
}

#[cfg(test)]
mod tests {
    use super::Sources;
    use std::fs;
    use tempfile::TempDir;

    /// A directory with these files, and what becomes of paths there.
    fn resolved(files: &[&str], path: &str) -> String {
        let directory = TempDir::new().unwrap();
        for file in files {
            let file = directory.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let path = path.replace("ROOT", directory.path().to_str().unwrap());
        let mut sources = Sources { root: directory.path().to_owned(), ..Sources::default() };
        if let Some(found) = sources.by_suffix(&path) {
            return found;
        }
        sources.search(&[&path]);
        sources.path(&path).to_owned()
    }

    #[test]
    fn paths_of_other_machines_are_met_again() {
        let cases: &[(&[&str], &str, &str)] = &[
            // Below the working directory, whether it is there or not.
            (&["train.py"], "ROOT/train.py", "train.py"),
            (&[], "ROOT/gone/train.py", "gone/train.py"),
            // Another checkout: the longest end that is there.
            (&["lib/model.py", "model.py"], "/ci/build/repo/lib/model.py", "lib/model.py"),
            (&["model.py"], "/ci/build/repo/lib/model.py", "model.py"),
            (&["lib/model.py"], r"C:\repo\lib\model.py", "lib/model.py"),
            // Named from a directory below.
            (&["a/b/model.py"], "model.py", "a/b/model.py"),
            (&["a/b/model.py"], "./b/model.py", "a/b/model.py"),
            (&["a/model.py", "b/model.py"], "model.py", "model.py"),
            (&["a/another_model.py"], "model.py", "model.py"),
            // What is not ours stays.
            (
                &["core/nn.py"],
                "/usr/lib/site-packages/flax/core/nn.py",
                "/usr/lib/site-packages/flax/core/nn.py",
            ),
            (&["model.py"], "../../model.py", "../../model.py"),
            (&["model.py"], "/elsewhere/other.py", "/elsewhere/other.py"),
            (&["<stdin>"], "<stdin>", "<stdin>"),
        ];
        for (files, path, expected) in cases {
            assert_eq!(resolved(files, path), *expected, "{path} among {files:?}");
        }
    }

    #[test]
    fn a_file_that_no_report_names_stays_as_it_is() {
        let sources = Sources::default();
        assert_eq!(sources.path("/a/b.py"), "/a/b.py");
        assert_eq!(sources.whole("b.py"), None);
    }
}
