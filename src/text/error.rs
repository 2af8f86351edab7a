//! Errors of the reader: what was expected, and at which byte. Lines and columns are worked out
//! when an error is shown, never before.

use super::cursor::Input;

/// What went wrong at a place in the text. Small, so that results of the parser functions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Bytes that were left when it was found: the offset is the text's length less this.
    pub(super) remaining: usize,
    /// What it is.
    pub(super) kind: Kind,
}

/// What a problem is. Names that a message needs are read from the text at the problem's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something else should stand here.
    Expected(&'static str),
    /// What stands here is wrong, in the words of the message.
    Wrong(&'static str),
    /// The name here is defined nowhere above in this computation.
    UndefinedInstruction,
    /// The name here is that of no computation above.
    UndefinedComputation,
    /// The name here is taken.
    Duplicate(&'static str),
    /// The word here is no opcode.
    UnknownOpcode,
    /// The attribute here is not one of this opcode, or of none.
    UnexpectedAttribute(&'static str),
    /// An attribute is missing.
    MissingAttribute(&'static str),
    /// Another number of something than the one it must be.
    Count {
        /// What is counted.
        what: &'static str,
        /// The number that it must be.
        expected: u32,
        /// The number that it is.
        found: u32,
    },
    /// A quoted string, dictionary or the like has no end.
    Unterminated(&'static str),
    /// Nested more deeply than the reader follows.
    TooDeep,
}

impl<'a> nom::error::ParseError<Input<'a>> for Problem {
    fn from_error_kind(input: Input<'a>, _kind: nom::error::ErrorKind) -> Self {
        Problem { remaining: input.len(), kind: Kind::Expected("another token") }
    }

    fn append(_input: Input<'a>, _kind: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// Offset of the byte at which reading stopped.
    pub offset: usize,
    /// What was expected or is wrong; lower case, without a full stop.
    pub message: String,
}

/// A place in a text as people and editors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
}

/// The line and column of a byte offset.
pub fn location(text: &[u8], offset: usize) -> Location {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = memchr::memchr_iter(b'\n', before).count();
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let clamp = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Location {
        line: clamp(line.saturating_add(1)),
        column: clamp((before.len() - start).saturating_add(1)),
    }
}

impl ParseError {
    /// The line and column of the error in the text it came from.
    pub fn location(&self, text: &[u8]) -> Location {
        location(text, self.offset)
    }
}

impl Problem {
    /// The error to hand out. `inside` names what the text was in the middle of.
    pub(super) fn into_error(self, text: &str, inside: &str) -> ParseError {
        let offset = text.len().saturating_sub(self.remaining);
        let here = text.get(offset..).unwrap_or("");
        let word = super::lexeme::shown(here);
        let message = match self.kind {
            Kind::Unterminated(what) => {
                format!("the file ends inside {what}: was the compiler killed while writing?")
            }
            _ if at_end(here) => {
                format!("the file ends inside {inside}: was the compiler killed while writing?")
            }
            Kind::Expected(what) => format!("expected {what}, found {}", found(here)),
            Kind::Wrong(what) => what.to_owned(),
            Kind::UndefinedInstruction => {
                format!("instruction {word} is not defined above in this computation")
            }
            Kind::UndefinedComputation => format!("computation {word} is not defined above"),
            Kind::Duplicate(what) => format!("{what} {word} is defined twice"),
            Kind::UnknownOpcode => format!("unknown opcode {word}"),
            Kind::UnexpectedAttribute(whose) => format!("{whose} has no attribute {word}"),
            Kind::MissingAttribute(name) => format!("attribute {name} is missing"),
            Kind::Count { what, expected, found } => {
                format!("expected {expected} {what}, found {found}")
            }
            Kind::TooDeep => {
                format!("nested more than {} levels deep", super::reader::MAX_DEPTH)
            }
        };
        ParseError { offset, message }
    }
}

/// Whether nothing but the rest of one word stands at the problem's place.
fn at_end(here: &str) -> bool {
    let here = super::cursor::space(here);
    let here = here.strip_prefix('%').unwrap_or(here);
    super::lexeme::word_length(here.as_bytes()) == here.len()
}

fn found(here: &str) -> String {
    let here = super::cursor::space(here);
    let word = super::lexeme::shown(here);
    if !word.is_empty() {
        return format!("`{word}`");
    }
    here.chars().next().map_or_else(|| "the end of the file".to_owned(), |c| format!("{c:?}"))
}
