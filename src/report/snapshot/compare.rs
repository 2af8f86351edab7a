//! The snapshots of a directory and those of a run, as texts, in; what is the same, changed, missing,
//! extra or renamed out.

use super::tolerance;
use crate::config::Allowance;
use crate::report::pairing::{Identity, pair};
use rustc_hash::{FxHashMap, FxHashSet};
use similar::{Algorithm, ChangeTag, TextDiff};
use std::collections::VecDeque;

/// The first line of a snapshot.
pub const HEAD: &str = "hlolint snapshot 1";

/// What the name of a snapshot's file ends with.
pub const ENDING: &str = ".memory.txt";

/// Lines around a change that are shown.
const CONTEXT: usize = 2;

/// A snapshot that was found in the directory.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The file's name.
    pub file: String,
    /// What it says.
    pub text: String,
}

/// A snapshot of this run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taken {
    /// The module's name.
    pub name: String,
    /// Its signature.
    pub signature: String,
    /// What it says.
    pub text: String,
}

/// How a directory compares with a run.
#[derive(Debug)]
pub struct Comparison {
    /// By file name.
    pub entries: Vec<Entry>,
}

/// One snapshot.
#[derive(Debug)]
pub struct Entry {
    /// The file: the one that is there, or the one that a new snapshot gets.
    pub file: String,
    /// The module's name.
    pub module: String,
    /// How it compares.
    pub state: State,
    /// What this run says; `None` where no module of it belongs to the file.
    pub text: Option<String>,
}

/// How a snapshot compares with its module.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    /// It says the same, within the tolerance.
    Same,
    /// It says the same, by another build of the compiler.
    SameByOtherCompiler(Builds),
    /// It says something else.
    Changed(Option<Builds>, Vec<Hunk>),
    /// The module is called otherwise than it was: the file and name of then, and what else differs.
    Renamed {
        /// Its file until now.
        old_file: String,
        /// Its name until now.
        old_name: String,
        /// What differs beside the name.
        hunks: Vec<Hunk>,
    },
    /// There is none for this module.
    Missing,
    /// There is no module for it.
    Extra,
}

/// The compiler of then and of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Builds {
    /// In the directory.
    pub old: String,
    /// Of this run.
    pub new: String,
}

/// Lines that changed, with some around them.
#[derive(Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The heading that they stand under.
    pub section: String,
    /// The lines.
    pub lines: Vec<(Sign, String)>,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It was there and is not any more.
    Gone,
    /// It is new.
    New,
    /// It stays.
    Stays,
}

/// What is to be done with the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: it is looked at.
    Check,
    /// Snapshots that are missing are written, the others are looked at.
    Add,
    /// It is made to say what this run says.
    Update,
}

impl Comparison {
    /// Whether nothing is left that a person must look at.
    pub fn is_accepted(&self, mode: Mode) -> bool {
        self.entries.iter().all(|entry| match entry.state {
            State::Same | State::SameByOtherCompiler(_) => true,
            State::Changed(..) | State::Renamed { .. } => mode == Mode::Update,
            // Without --check an extra one may belong to another run.
            State::Missing | State::Extra => mode != Mode::Check,
        })
    }
}

/// Compares a directory with a run. `is_wanted` says by name which modules the run looked at:
/// snapshots of others are left alone.
pub fn compare(
    kept: Vec<Kept>,
    taken: Vec<Taken>,
    tolerance: Option<Allowance>,
    is_wanted: impl Fn(&str) -> bool,
) -> Comparison {
    let kept: Vec<(Identity, Kept)> = kept
        .into_iter()
        .map(|kept| (identity(&kept.text), kept))
        .filter(|(identity, _)| is_wanted(&identity.name))
        .collect();
    let mut names = Files::of(&kept);
    let (mut entries, kept, taken) = without_equal(kept, taken);
    let old: Vec<Identity> = kept.iter().map(|(identity, _)| identity.clone()).collect();
    let new: Vec<Identity> = taken.iter().map(Taken::identity).collect();
    for pair in pair(&old, &new) {
        let old = pair.old.map(|at| &kept[at]);
        let new = pair.new.map(|at| &taken[at]);
        entries.extend(match (old, new) {
            (Some((identity, kept)), Some(taken)) if identity.name == taken.name => Some(Entry {
                file: kept.file.clone(),
                module: taken.name.clone(),
                state: changed(&kept.text, &taken.text, tolerance),
                text: Some(taken.text.clone()),
            }),
            (Some((identity, kept)), Some(taken)) => Some(Entry {
                file: names.file_for(&taken.name),
                module: taken.name.clone(),
                state: State::Renamed {
                    old_file: kept.file.clone(),
                    old_name: identity.name.clone(),
                    hunks: hunks(&kept.text, &within(&kept.text, &taken.text, tolerance)),
                },
                text: Some(taken.text.clone()),
            }),
            (None, Some(taken)) => Some(Entry {
                file: names.file_for(&taken.name),
                module: taken.name.clone(),
                state: State::Missing,
                text: Some(taken.text.clone()),
            }),
            (Some((identity, kept)), None) => Some(Entry {
                file: kept.file.clone(),
                module: identity.name.clone(),
                state: State::Extra,
                text: None,
            }),
            (None, None) => None,
        });
    }
    entries.sort_by(|a, b| a.file.cmp(&b.file));
    Comparison { entries }
}

impl Taken {
    fn identity(&self) -> Identity {
        Identity {
            name: self.name.clone(),
            signature: self.signature.clone(),
            folder: String::new(),
        }
    }
}

/// What a snapshot says of who it is.
fn identity(text: &str) -> Identity {
    let line = |name: &str| field(text, name).unwrap_or("").to_owned();
    let arguments = line("arguments");
    let signature = arguments.rsplit(' ').next().unwrap_or("").to_owned();
    Identity { name: line("module"), signature, folder: String::new() }
}

/// The rest of the line that begins with a word.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(' ')?.trim()))
}

type Known = Vec<(Identity, Kept)>;

/// Files that say exactly what a module says are done; the rest comes back, in an order that does not
/// depend on the order of compiles.
fn without_equal(mut kept: Known, mut taken: Vec<Taken>) -> (Vec<Entry>, Known, Vec<Taken>) {
    taken.sort_unstable();
    taken.dedup();
    kept.sort_by(|(_, a), (_, b)| a.file.cmp(&b.file));
    let mut by_text: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, (_, kept)) in kept.iter().enumerate() {
        by_text.entry(kept.text.as_str()).or_insert(at);
    }
    let mut is_done = vec![false; kept.len()];
    let mut entries = Vec::new();
    let mut left = Vec::new();
    for taken in taken {
        match by_text.get(taken.text.as_str()) {
            Some(&at) => {
                is_done[at] = true;
                entries.push(Entry {
                    file: kept[at].1.file.clone(),
                    module: taken.name,
                    state: State::Same,
                    text: Some(taken.text),
                });
            }
            None => left.push(taken),
        }
    }
    let kept = kept.into_iter().zip(is_done).filter(|(_, done)| !done).map(|(kept, _)| kept);
    (entries, kept.collect(), left)
}

fn changed(old: &str, new: &str, tolerance: Option<Allowance>) -> State {
    let new = within(old, new, tolerance);
    let builds = builds(old, &new);
    let hunks = hunks(old, &new);
    match (builds, hunks.is_empty()) {
        (None, true) => State::Same,
        (Some(builds), true) => State::SameByOtherCompiler(builds),
        (builds, false) => State::Changed(builds, hunks),
    }
}

fn builds(old: &str, new: &str) -> Option<Builds> {
    let (old, new) = (field(old, "compiler")?, field(new, "compiler")?);
    (old != new).then(|| Builds { old: old.to_owned(), new: new.to_owned() })
}

/// The new text with the old lines where they say the same within the tolerance.
fn within(old: &str, new: &str, tolerance: Option<Allowance>) -> String {
    let Some(tolerance) = tolerance else { return new.to_owned() };
    let mut by_key: FxHashMap<String, VecDeque<&str>> = FxHashMap::default();
    for line in old.lines() {
        by_key.entry(tolerance::key(line)).or_default().push_back(line);
    }
    let mut out = String::with_capacity(new.len());
    for line in new.lines() {
        let known = by_key.get_mut(&tolerance::key(line)).and_then(VecDeque::pop_front);
        let known = known.filter(|known| tolerance::is_within(known, line, tolerance));
        out.push_str(known.unwrap_or(line));
        out.push('\n');
    }
    out
}

/// What differs, but for the lines that say which module and which compiler it is.
fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let body = |text: &str| -> String {
        let is_identity =
            |line: &&str| line.starts_with("module ") || line.starts_with("compiler ");
        let lines = text.split_inclusive('\n').filter(|line| !is_identity(line));
        lines.collect()
    };
    let (old, new) = (body(old), body(new));
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(&old, &new);
    let old_lines: Vec<&str> = old.lines().collect();
    diff.grouped_ops(CONTEXT)
        .iter()
        .map(|group| {
            let start = group.first().map_or(0, |op| op.old_range().start);
            let above = old_lines.get(..=start.min(old_lines.len().saturating_sub(1)));
            let heading = above.and_then(|lines| lines.iter().rev().find(|line| is_heading(line)));
            let changes = group.iter().flat_map(|op| diff.iter_changes(op));
            Hunk {
                section: heading.map(|line| (*line).to_owned()).unwrap_or_default(),
                lines: changes
                    .map(|change| {
                        let sign = match change.tag() {
                            ChangeTag::Delete => Sign::Gone,
                            ChangeTag::Insert => Sign::New,
                            ChangeTag::Equal => Sign::Stays,
                        };
                        (sign, change.value().trim_end_matches('\n').to_owned())
                    })
                    .collect(),
            }
        })
        .collect()
}

fn is_heading(line: &str) -> bool {
    !line.starts_with(' ') && !line.is_empty()
}

/// Names of files.
struct Files(FxHashSet<String>);

impl Files {
    fn of(kept: &[(Identity, Kept)]) -> Files {
        Files(kept.iter().map(|(_, kept)| kept.file.to_lowercase()).collect())
    }

    /// A name that is free, also where upper and lower case are the same.
    fn file_for(&mut self, module: &str) -> String {
        const MOST: usize = 120;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let stem: String =
            module.chars().take(MOST).map(|c| if is_plain(c) { c } else { '_' }).collect();
        let stem = stem.trim_start_matches('.');
        let mut file = format!("{stem}{ENDING}");
        let mut number = 1_u64;
        while !self.0.insert(file.to_lowercase()) {
            number += 1;
            file = format!("{stem}.{number}{ENDING}");
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, signature: &str, compiler: &str, bytes: u64) -> String {
        format!(
            "{HEAD}\nmodule     {name}\ncompiler   {compiler}\narguments  2, signature {signature}\n\n\
             memory\n  {bytes}  required\n"
        )
    }

    fn kept(file: &str, text: String) -> Kept {
        Kept { file: format!("{file}{ENDING}"), text }
    }

    fn taken(name: &str, signature: &str, compiler: &str, bytes: u64) -> Taken {
        Taken {
            name: name.into(),
            signature: signature.into(),
            text: text(name, signature, compiler, bytes),
        }
    }

    /// The states, by file, in one line.
    fn states(comparison: &Comparison) -> String {
        let word = |entry: &Entry| {
            let state = match &entry.state {
                State::Same => "same".to_owned(),
                State::SameByOtherCompiler(builds) => format!("by {}", builds.new),
                State::Changed(builds, hunks) => {
                    let by = builds.as_ref().map(|builds| format!(" by {}", builds.new));
                    format!("{} hunk{}", hunks.len(), by.unwrap_or_default())
                }
                State::Renamed { old_name, hunks, .. } => {
                    format!("was {old_name}, {} hunks", hunks.len())
                }
                State::Missing => "missing".to_owned(),
                State::Extra => "extra".to_owned(),
            };
            format!("{}: {state}", entry.file.trim_end_matches(ENDING))
        };
        comparison.entries.iter().map(word).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn every_state() {
        let one = || vec![kept("f", text("f", "1", "A", 1000))];
        let all = |_: &str| true;
        let percent = Some(Allowance::Percent(1.0));
        let cases = [
            (one(), vec![taken("f", "1", "A", 1000)], None, "f: same"),
            (one(), vec![taken("f", "1", "B", 1000)], None, "f: by B"),
            (one(), vec![taken("f", "1", "A", 1001)], None, "f: 1 hunk"),
            (one(), vec![taken("f", "1", "B", 1001)], None, "f: 1 hunk by B"),
            (one(), vec![taken("f", "1", "A", 1001)], percent, "f: same"),
            (one(), vec![taken("f", "1", "A", 1100)], percent, "f: 1 hunk"),
            (one(), vec![taken("g", "1", "A", 1000)], None, "g: was f, 0 hunks"),
            (one(), vec![], None, "f: extra"),
            (vec![], vec![taken("f", "1", "A", 1)], None, "f: missing"),
            // One name, two programs: the file follows the arguments, not the order of compiles.
            (
                one(),
                vec![taken("f", "2", "A", 5), taken("f", "1", "A", 1000)],
                None,
                "f.2: missing; f: same",
            ),
            // Names that differ in what a file's name cannot say.
            (
                vec![],
                vec![taken("a/b", "1", "A", 1), taken("A:b", "1", "A", 1)],
                None,
                "A_b: missing; a_b.2: missing",
            ),
        ];
        for (kept, taken, tolerance, expected) in cases {
            assert_eq!(states(&compare(kept, taken, tolerance, all)), expected);
        }
        let others = compare(one(), vec![], None, |name| name != "f");
        assert!(others.entries.is_empty(), "snapshots of modules that were not looked at");
    }

    #[test]
    fn hunks_name_their_section() {
        let old = text("f", "1", "A", 1000);
        let new = text("f", "1", "A", 2000);
        let State::Changed(None, hunks) = changed(&old, &new, None) else { panic!() };
        assert_eq!(hunks[0].lines.last(), Some(&(Sign::New, "  2000  required".to_owned())));
    }
}
