//! What is no failure of memory: crashes, other errors, signs that a text is a log at all.

use super::line::{has_prefix, line_at};
use super::{Category, Form, Incident};
use memchr::memmem;

/// Words of errors; the line that has one is quoted.
const SIGNS: [&str; 10] = [
    "XlaRuntimeError: ",
    "JaxRuntimeError: ",
    "RuntimeError: ",
    "TypeError: ",
    "ValueError: ",
    "INVALID_ARGUMENT: ",
    "FAILED_PRECONDITION: ",
    "RESOURCE_EXHAUSTED: ",
    "INTERNAL: ",
    "Error: ",
];

/// `Check failed: condition`.
pub fn crash(log: &[u8], offset: usize) -> Incident {
    let mut incident = Incident::new(Category::Crash, Form::Other, offset);
    incident.reason = Some(shortened(super::line::without_prefix(&line_at(log, offset)).trim()));
    incident
}

/// The last line that says an error of any kind: of a traceback the last one counts.
pub fn error(log: &[u8]) -> Option<String> {
    SIGNS
        .iter()
        .filter_map(|sign| memmem::rfind(log, sign.as_bytes()))
        .max()
        .map(|at| shortened(line_at(log, at).trim()))
}

/// Whether a text has lines of the compiler's log.
pub fn is_compiler_log(log: &[u8]) -> bool {
    const LOOK_AT: usize = 10_000;
    log.split(|&byte| byte == b'\n')
        .take(LOOK_AT)
        .any(|line| has_prefix(&String::from_utf8_lossy(&line[..line.len().min(200)])))
        || memmem::find(log, b"XLA::TPU").is_some()
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 400;
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
