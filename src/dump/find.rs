//! Paths in; the files of dumps found there, with their names taken apart, out.

use super::archive::{self, Packing};
use super::diagnostic::Diagnostic;
use super::name::{Content, FileName, Stage, is_archive};
use super::source::{File, Limits};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// A file of a dump.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// How to read it.
    pub file: File,
    /// The directory (or archive and directory in it) that it stands in, with a separator at its end.
    pub directory: String,
    /// Its name.
    pub name: String,
    /// Whether the command line named it, and not only its directory.
    pub is_named: bool,
}

impl Found {
    /// The name, taken apart.
    pub fn parsed(&self) -> FileName<'_> {
        FileName::parse(&self.name)
    }
}

/// What one input was found to hold, for the sentence about what is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// The input.
    pub path: String,
    /// Whether it is a directory or an archive, where something may be missing.
    pub is_container: bool,
    /// Files of any kind.
    pub files: usize,
    /// Texts between passes, left aside.
    pub passes: usize,
    /// Binary protos, left aside.
    pub protos: usize,
    /// Archives in a directory, left aside.
    pub archives: usize,
    /// Side files.
    pub sides: usize,
    /// Files whose names begin as XLA's do.
    pub of_xla: usize,
    /// Texts.
    pub texts: usize,
}

/// All files found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub found: Vec<Found>,
    pub tallies: Vec<Tally>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Finds the files of all inputs, in the order of the inputs and, inside one, of the names.
pub(super) fn find(paths: &[PathBuf], limits: &Limits) -> Findings {
    Finder::new(limits, false).run(paths)
}

/// The same for readers of single texts: every path that is named, texts between passes, and no
/// siblings.
pub(super) fn find_each(paths: &[PathBuf], limits: &Limits) -> Findings {
    Finder::new(limits, true).run(paths)
}

struct Finder<'l> {
    limits: &'l Limits,
    /// Whether texts stand for themselves: see [`find_each`].
    each: bool,
    findings: Findings,
    /// Paths that were taken already.
    seen: FxHashSet<PathBuf>,
    /// Of directories in which texts were named: names by prefix.
    siblings: FxHashMap<PathBuf, NamesByPrefix>,
}

/// Names of a directory's files, sorted, by the prefix of their compile.
type NamesByPrefix = FxHashMap<String, Vec<OsString>>;

/// The names in a directory. Of one that cannot be read there are none: the text that was named is
/// still analysed.
fn by_prefix(directory: &Path, limit: usize) -> NamesByPrefix {
    let directory = if directory == Path::new("") { Path::new(".") } else { directory };
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<OsString> =
        entries.take(limit).flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    let mut by_prefix = NamesByPrefix::default();
    for name in names {
        let prefix = FileName::parse(&name.to_string_lossy()).prefix.to_owned();
        by_prefix.entry(prefix).or_default().push(name);
    }
    by_prefix
}

impl<'l> Finder<'l> {
    fn new(limits: &'l Limits, each: bool) -> Finder<'l> {
        Finder {
            limits,
            each,
            findings: Findings::default(),
            seen: FxHashSet::default(),
            siblings: FxHashMap::default(),
        }
    }

    fn run(mut self, paths: &[PathBuf]) -> Findings {
        let finder = &mut self;
        for path in paths {
            if path == Path::new("-") {
                finder.stdin();
            } else if path.is_dir() {
                finder.directory(path);
            } else {
                finder.named_file(path);
            }
        }
        self.findings
    }

    fn fail(&mut self, diagnostic: Diagnostic) {
        self.findings.diagnostics.push(diagnostic);
    }

    fn stdin(&mut self) {
        const LABEL: &str = "<stdin>";
        let limit_bytes = self.limits.archive_bytes;
        match super::source::read_at_most(std::io::stdin().lock(), limit_bytes) {
            Ok(bytes) => self.bytes(LABEL, LABEL, bytes.into()),
            Err(error) => self.fail(Diagnostic::io(LABEL, &error)),
        }
    }

    fn pipe(&mut self, path: &Path, label: &str) {
        let read = std::fs::File::open(path)
            .and_then(|file| super::source::read_at_most(file, self.limits.archive_bytes));
        match read {
            Ok(bytes) => self.bytes(label, &name_of(path), bytes.into()),
            Err(error) => self.fail(Diagnostic::io(label, &error)),
        }
    }

    /// Bytes whose form is told by what they hold: stdin, and archives given by name.
    fn bytes(&mut self, label: &str, name: &str, bytes: Arc<[u8]>) {
        let packing = archive::packing(name, &bytes);
        if matches!(packing, Packing::Plain | Packing::Gzip) {
            let gzip = packing == Packing::Gzip;
            let file = File::in_memory(label.into(), bytes, gzip, self.limits);
            self.findings.tallies.push(Tally { path: label.into(), texts: 1, ..Tally::default() });
            self.findings.found.push(Found {
                file,
                directory: String::new(),
                name: name.into(),
                is_named: true,
            });
            return;
        }
        self.archive(label, &bytes, packing);
    }

    fn archive(&mut self, label: &str, bytes: &[u8], packing: Packing) {
        if let Packing::Unsupported(what) = packing {
            let reason = format!("a {what} archive cannot be read in place");
            let remedy = "unpack it, or give a .tar, .tar.gz or .zip";
            self.fail(Diagnostic::new(label, reason, remedy));
            return;
        }
        let mut tally = Tally { path: label.into(), is_container: true, ..Tally::default() };
        let diagnostics = &mut self.findings.diagnostics;
        let mut entries = archive::entries(label, bytes, packing, self.limits, diagnostics);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        for entry in entries {
            let path = entry.path.strip_prefix("./").unwrap_or(&entry.path);
            let at = path.rfind('/').map_or(0, |at| at + 1);
            let (directory, name) = path.split_at(at);
            let label = format!("{label}!{path}");
            let gzip = FileName::parse(name).gzip;
            let found = Found {
                file: File::in_memory(label.clone(), entry.bytes, gzip, self.limits),
                directory: format!("{}!{directory}", tally.path),
                name: name.into(),
                is_named: false,
            };
            self.take(found, &mut tally);
        }
        self.findings.tallies.push(tally);
    }

    fn directory(&mut self, path: &Path) {
        let label = path.display().to_string();
        let mut tally = Tally { path: label, is_container: true, ..Tally::default() };
        // A loop of links is an error that the walk itself reports.
        let walk =
            WalkDir::new(path).follow_links(true).max_depth(self.limits.depth).sort_by_file_name();
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let at = error.path().unwrap_or(path).display().to_string();
                    let remedy = match error.loop_ancestor() {
                        Some(_) => "a link leads back to a directory above it: remove the link",
                        None => "make it readable for this user, or give the paths below it",
                    };
                    let reason = match error.io_error() {
                        Some(error) => format!("cannot be read: {error}"),
                        None => "cannot be read: a loop of links".into(),
                    };
                    self.fail(Diagnostic::new(&at, reason, remedy));
                    continue;
                }
            };
            // Reading a pipe or a device that lies in a directory could wait for ever.
            if !entry.file_type().is_file() {
                continue;
            }
            if tally.files == self.limits.files {
                let reason = format!("more than {} files; the rest is left out", tally.files);
                let remedy = "give the dump's own directory";
                self.fail(Diagnostic::new(&tally.path, reason, remedy));
                break;
            }
            if let Some(found) = self.on_disk(entry.path(), false) {
                self.take(found, &mut tally);
            }
        }
        self.findings.tallies.push(tally);
    }

    fn named_file(&mut self, path: &Path) {
        let label = path.display().to_string();
        if is_archive(&name_of(path)) {
            match File::on_disk(path.into(), false, &archive_limits(self.limits)).read_packed() {
                Ok(source) => {
                    let packing = archive::packing(&label, source.bytes());
                    if matches!(packing, Packing::Plain | Packing::Gzip) {
                        let reason = "not an archive, whatever its name says";
                        self.fail(Diagnostic::new(&label, reason, "give it its right name"));
                    } else {
                        self.archive(&label, source.bytes(), packing);
                    }
                }
                Err(diagnostic) => self.fail(diagnostic),
            }
            return;
        }
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            // A pipe, such as a shell makes of `<(zcat x)`, can be read only once.
            Ok(_) => return self.pipe(path, &label),
            Err(error) => return self.fail(Diagnostic::io(&label, &error)),
        }
        let mut tally = Tally { path: label.clone(), ..Tally::default() };
        if let Some(mut found) = self.on_disk(path, true) {
            let content = found.parsed().content;
            if content == Content::Proto {
                let reason = "a binary proto";
                let remedy = "dump texts: XLA_FLAGS=--xla_dump_hlo_as_text";
                self.fail(Diagnostic::new(&label, reason, remedy));
                return;
            }
            found.is_named = true;
            let prefix = found.parsed().prefix.to_owned();
            self.take(found, &mut tally);
            if matches!(content, Content::Text(_)) && !prefix.is_empty() && !self.each {
                self.siblings(path, &prefix);
            }
        }
        self.findings.tallies.push(tally);
    }

    /// Takes the files of the same compile beside a text that was named.
    fn siblings(&mut self, path: &Path, prefix: &str) {
        let parent = path.parent().unwrap_or(Path::new(""));
        if !self.siblings.contains_key(parent) {
            let names = by_prefix(parent, self.limits.files);
            self.siblings.insert(parent.to_path_buf(), names);
        }
        let names = self.siblings.get(parent).and_then(|names| names.get(prefix));
        let mut paths: Vec<PathBuf> =
            names.into_iter().flatten().map(|name| parent.join(name)).collect();
        // The compile's own directory says which chip.
        paths.push(parent.join(prefix).join("topology.textproto"));
        let mut tally = Tally::default();
        for path in paths.into_iter().filter(|path| path.is_file()) {
            if let Some(found) = self.on_disk(&path, false) {
                self.take(found, &mut tally);
            }
        }
    }

    fn on_disk(&mut self, path: &Path, is_named: bool) -> Option<Found> {
        let name = name_of(path);
        let gzip = FileName::parse(&name).gzip;
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => format!("{}/", parent.display()),
            _ => String::new(),
        };
        let file = File::on_disk(path.into(), gzip, self.limits);
        (self.seen.insert(path.into()) || is_named).then_some(Found {
            file,
            directory,
            name,
            is_named,
        })
    }

    /// Takes a file if it is one of a dump, and counts it.
    fn take(&mut self, found: Found, tally: &mut Tally) {
        let name = found.parsed();
        let (content, is_of_xla) = (name.content, name.number.is_some());
        tally.files += 1;
        tally.of_xla += usize::from(is_of_xla);
        let keep = match content {
            _ if self.each && found.is_named => true,
            Content::Text(Stage::Pass) => {
                tally.passes += 1;
                found.is_named || self.each
            }
            Content::Text(_) => {
                tally.texts += 1;
                true
            }
            Content::Side(_) => {
                tally.sides += 1;
                true
            }
            Content::Proto => {
                tally.protos += 1;
                false
            }
            Content::Archive => {
                tally.archives += 1;
                false
            }
            Content::Unknown => {
                let keep = found.is_named || is_hlo(&found.file.head());
                tally.texts += usize::from(keep);
                keep
            }
            // Known by its name as no text; any other name may still be a text that was named.
            Content::Other => found.is_named && !is_of_xla && is_hlo(&found.file.head()),
        };
        if keep {
            self.findings.found.push(found);
        }
    }
}

/// The limits of an archive's own file: it is read as one.
fn archive_limits(limits: &Limits) -> Limits {
    Limits { text_bytes: limits.archive_bytes, ..*limits }
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a text begins as a HLO module does; comments may stand in front.
fn is_hlo(head: &[u8]) -> bool {
    module_name(head).is_some()
}

/// The module's name, read from the first bytes of a text.
pub(super) fn module_name(head: &[u8]) -> Option<String> {
    const WORD: &[u8] = b"HloModule";
    let at = memchr::memmem::find(head, WORD)?;
    let is_at_start = at == 0 || head.get(at - 1).is_some_and(|byte| byte.is_ascii_whitespace());
    let rest = head.get(at + WORD.len()..)?;
    let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    if !is_at_start || blanks == 0 {
        return None;
    }
    let name = rest.get(blanks..)?;
    let end = name
        .iter()
        .position(|&byte| byte == b',' || byte == b'{' || byte.is_ascii_whitespace())
        .unwrap_or(name.len());
    Some(String::from_utf8_lossy(name.get(..end)?).trim_start_matches('%').to_owned())
}
