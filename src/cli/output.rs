//! The process's streams. Colours are dropped where they do not belong (pipes, NO_COLOR); a closed
//! pipe is no error.

use super::exit::Exit;
use crate::render;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use supports_hyperlinks::Stream;

/// Writes to the output stream. Where it cannot be written (a full disk) the process ends as failed:
/// half an answer must not pass for a whole one.
pub fn print(text: &str) {
    let mut stream = anstream::stdout().lock();
    let written = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    // A reader that closed the pipe has seen enough.
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        eprint(&format!("error: the output cannot be written: {error}\n"));
        #[allow(clippy::exit, reason = "nothing more can be said")]
        std::process::exit(Exit::Failed as i32);
    }
}

/// Writes a report as JSON to the output stream.
///
/// # Errors
/// Why it cannot be written as JSON.
pub fn print_json<T: Serialize>(report: &T) -> Result<(), String> {
    let text = render::json::pretty(report).map_err(|error| error.to_string())?;
    print(&text);
    Ok(())
}

/// Writes a file whole or not at all: what stood there before stays until all is written.
///
/// # Errors
/// Why it cannot be written.
pub fn write_file(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    // A link stays one: what it leads to is replaced.
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if place.metadata().is_ok_and(|found| !found.is_file()) {
        // A device or a pipe cannot be replaced.
        return std::fs::write(&place, text).map_err(failed);
    }
    let directory = place.parent().filter(|directory| !directory.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(directory.unwrap_or(Path::new("."))).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(&place).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Writes a page to a file, or to the output stream where none is named; opens it where that is
/// wanted, then also from a temporary file.
///
/// # Errors
/// Why it cannot be written or opened.
pub fn page(page: &str, file: Option<&Path>, open: bool) -> Result<(), String> {
    let place = match file {
        Some(file) => file.to_owned(),
        None if !open => {
            print(page);
            return Ok(());
        }
        None => {
            let file = tempfile::Builder::new().prefix("hlolint-").suffix(".html").tempfile();
            let (_, place) = file
                .map_err(|error| error.to_string())
                .and_then(|file| file.keep().map_err(|error| error.to_string()))?;
            place
        }
    };
    write_file(&place, page)?;
    if open {
        eprint(&format!("opening {}\n", place.display()));
        let failed = |error| format!("{} cannot be opened: {error}", place.display());
        open::that_detached(&place).map_err(failed)?;
    }
    Ok(())
}

/// Whether the output stream is a terminal that follows links.
pub fn takes_links() -> bool {
    let is_coloured = anstream::stdout().current_choice() != anstream::ColorChoice::Never;
    is_coloured && std::io::stdout().is_terminal() && supports_hyperlinks::on(Stream::Stdout)
}

/// Writes to the error stream.
pub fn eprint(text: &str) {
    let mut stream = anstream::stderr().lock();
    _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// The columns of the terminal; 100 where the output is none.
pub fn width() -> usize {
    const NARROWEST: usize = 40;
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    terminal
        .map_or(crate::render::text::WIDTH, |(columns, _)| usize::from(columns.0).max(NARROWEST))
}
