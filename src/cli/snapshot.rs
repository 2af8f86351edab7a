//! `hlolint snapshot`: keeps what programs need under review, one file a module.

use super::config::ConfigFile;
use super::exit::Exit;
use super::select::{Machine, Programs};
use super::{output, progress};
use crate::config::Allowance;
use crate::render;
use crate::report::snapshot::{self, Comparison, ENDING, HEAD, Kept, Mode, State, Taken};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};

/// No snapshot comes near this size.
const MOST_BYTES: u64 = 64 << 20;

/// Arguments of `hlolint snapshot`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --check and --update, snapshots of modules that have none are written; those that are there
are compared and left as they are.

A snapshot has no path, no time, no number of an instruction and no line number: it changes when the
memory of the program does. The compiler's build stands on a line of its own; where only it differs
the snapshot counts as the same, with a word.

Exit codes: 0 all snapshots say what the programs need; 1 one differs (or is renamed; with --check
also: is missing, or has no module any more); 2 wrong usage, or an input that could not be read;
3 no HLO found.

Example:
  hlolint snapshot /tmp/dump --dir memory            # once; commit memory/
  hlolint snapshot /tmp/dump --dir memory --check    # in CI
  hlolint snapshot /tmp/dump --dir memory --update   # accept what --check shows")]
pub struct SnapshotArgs {
    #[command(flatten)]
    programs: Programs,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    config: ConfigFile,

    /// Where the snapshots are: NAME.memory.txt for each module; other files are left alone.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,

    /// Compare only; write nothing.
    #[arg(long, conflicts_with = "update")]
    check: bool,

    /// Write what differs, and remove the snapshots of modules that are gone.
    #[arg(long)]
    update: bool,

    /// What sizes may differ by: `1%`, or a size like `16MiB`.
    #[arg(long, value_name = "ALLOWANCE")]
    tolerance: Option<Allowance>,
}

/// Runs the command.
pub fn run(args: &SnapshotArgs) -> Result<Exit, String> {
    let mode = match (args.check, args.update) {
        (true, _) => Mode::Check,
        (_, true) => Mode::Update,
        _ => Mode::Add,
    };
    let settings = args.machine.over(args.config.load()?.file.settings);
    let kept = read(&args.dir)?;
    let dump = args.programs.open()?;
    let progress = progress::bar(dump.programs.len(), "programs");
    let taken = snapshot::take(&dump, &settings, &|| progress.inc(1));
    progress.finish_and_clear();
    output::eprint(&render::text::diagnostics(&taken.diagnostics));
    let exit = Exit::of(&taken.diagnostics, false, taken.modules.len());
    if taken.modules.is_empty() {
        return Ok(exit);
    }
    let texts = taken.modules.iter().map(|snapshot| Taken {
        name: snapshot.summary.name.clone(),
        signature: snapshot.signature.clone(),
        text: render::snapshot::text(snapshot),
    });
    let is_wanted = args.programs.filter()?;
    let mut found = snapshot::compare(kept, texts.collect(), args.tolerance, is_wanted);
    if exit == Exit::Failed {
        // The modules that could not be read may be the ones that seem to be gone.
        found.entries.retain(|entry| entry.state != State::Extra);
    }
    write(&args.dir, &found, mode)?;
    output::print(&render::snapshot::changes(&found, mode));
    let differs = !found.is_accepted(mode);
    Ok(Exit::of(&taken.diagnostics, differs, taken.modules.len()))
}

/// What to do about a file that is no snapshot: it is not overwritten, whatever it is.
const ANEW: &str = "\n  help: remove it, and run with --update to write it anew";

/// The snapshots of a directory, by name; none where there is no directory yet.
fn read(directory: &Path) -> Result<Vec<Kept>, String> {
    let cannot = |path: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let mut kept = Vec::new();
    let entries = fs::read_dir(directory).map_err(|error| cannot(directory, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| cannot(directory, &error))?.path();
        let Some(file) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !file.ends_with(ENDING) {
            continue;
        }
        let size_bytes = fs::metadata(&path).map_err(|error| cannot(&path, &error))?.len();
        if size_bytes > MOST_BYTES {
            return Err(cannot(&path, &format!("no snapshot of hlolint: too large{ANEW}")));
        }
        let text =
            fs::read_to_string(&path).map_err(|error| cannot(&path, &format!("{error}{ANEW}")))?;
        // A checkout may have changed the ends of lines.
        let text = text.replace("\r\n", "\n");
        if text.lines().next() != Some(HEAD) {
            return Err(cannot(
                &path,
                &format!("no snapshot of this version: it begins without \"{HEAD}\"{ANEW}"),
            ));
        }
        kept.push(Kept { file: file.to_owned(), text });
    }
    kept.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(kept)
}

/// Writes what the mode asks for; each file whole or not at all.
fn write(directory: &Path, found: &Comparison, mode: Mode) -> Result<(), String> {
    for entry in &found.entries {
        let is_written = match entry.state {
            State::Same | State::Extra => false,
            State::Missing => mode != Mode::Check,
            State::SameByOtherCompiler(_) | State::Changed(..) | State::Renamed { .. } => {
                mode == Mode::Update
            }
        };
        if let Some(text) = entry.text.as_deref().filter(|_| is_written) {
            fs::create_dir_all(directory)
                .map_err(|error| format!("{}: {error}", directory.display()))?;
            output::write_file(&directory.join(&entry.file), text)?;
        }
    }
    if mode != Mode::Update {
        return Ok(());
    }
    // Only when all is written is anything removed.
    for entry in &found.entries {
        let gone = match &entry.state {
            State::Extra => &entry.file,
            State::Renamed { old_file, .. } => old_file,
            _ => continue,
        };
        let path = directory.join(gone);
        fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
