//! The process's streams. Colours are dropped where they do not belong (pipes, NO_COLOR); a closed
//! pipe is no error.

use super::exit::Exit;
use crate::render;
use serde::Serialize;
use std::io::{ErrorKind, Write};

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
