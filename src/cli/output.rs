//! The process's streams. Colours are dropped where they do not belong (pipes, NO_COLOR); a closed
//! pipe is no error.

use std::io::Write;

/// Writes to the output stream.
pub fn print(text: &str) {
    let mut stream = anstream::stdout().lock();
    // A reader that closed the pipe has seen enough.
    _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
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
