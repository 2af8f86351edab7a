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
