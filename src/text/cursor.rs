//! The input of the parser functions, white space and comments, punctuation, lists.
//!
//! Input is the rest of the text. Every parser function skips the white space before its first
//! token, none the white space behind its last, so that a span ends with the token that ends it.

use super::error::{Kind, Problem};
use nom::IResult;

/// The rest of the text.
pub(super) type Input<'a> = &'a str;

/// What a parser function returns.
pub(super) type Outcome<'a, O> = IResult<Input<'a>, O, Problem>;

/// A problem at the start of `input`.
#[cold]
pub(super) fn problem<'a, O>(input: Input<'a>, kind: Kind) -> Outcome<'a, O> {
    Err(nom::Err::Error(Problem { remaining: input.len(), kind }))
}

/// The problem that something else should stand at the start of `input`.
#[cold]
pub(super) fn expected<'a, O>(input: Input<'a>, what: &'static str) -> Outcome<'a, O> {
    problem(input, Kind::Expected(what))
}

/// The first `length` bytes and the rest. `length` must end a character; all callers stop at ASCII.
#[inline]
pub(super) fn split(input: Input<'_>, length: usize) -> (&str, &str) {
    input.split_at_checked(length).unwrap_or((input, ""))
}

/// The text between two inputs, the later of which is a rest of the earlier.
#[inline]
pub(super) fn between<'a>(from: Input<'a>, to: Input<'a>) -> &'a str {
    split(from, from.len().saturating_sub(to.len())).0
}

/// Skips white space and comments. A comment without an end is left for the next token to stumble
/// over.
#[inline]
pub(super) fn space(input: Input<'_>) -> Input<'_> {
    let bytes = input.as_bytes();
    match bytes {
        [b' ', next, ..] if *next > b' ' && *next != b'/' => split(input, 1).1,
        [byte, ..] if *byte > b' ' && *byte != b'/' => input,
        _ => space_slow(input),
    }
}

fn space_slow(mut input: Input<'_>) -> Input<'_> {
    loop {
        let bytes = input.as_bytes();
        let blank =
            bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        input = split(input, blank).1;
        let bytes = input.as_bytes();
        let length = match bytes {
            [b'/', b'*', inside @ ..] => {
                memchr::memmem::find(inside, b"*/").map(|length| length + 4)
            }
            [b'/', b'/', inside @ ..] => {
                Some(memchr::memchr2(b'\n', b'\r', inside).map_or(bytes.len(), |end| end + 2))
            }
            _ => None,
        };
        match length {
            Some(length) => input = split(input, length).1,
            None => return input,
        }
    }
}

/// The next byte that is neither white space nor in a comment; 0 at the end.
#[inline]
pub(super) fn peek(input: Input<'_>) -> u8 {
    space(input).as_bytes().first().copied().unwrap_or(0)
}

/// One punctuation character.
#[inline]
pub(super) fn symbol<'a>(symbol: char) -> impl Fn(Input<'a>) -> Outcome<'a, ()> {
    move |input| {
        let input = space(input);
        match input.as_bytes().first() {
            Some(&byte) if byte == symbol as u8 => Ok((split(input, 1).1, ())),
            _ => expected(input, spelled(symbol)),
        }
    }
}

/// A punctuation character as a message names it.
fn spelled(symbol: char) -> &'static str {
    match symbol {
        '=' => "`=`",
        ',' => "`,`",
        ':' => "`:`",
        '(' => "`(`",
        ')' => "`)`",
        '[' => "`[`",
        ']' => "`]`",
        '{' => "`{`",
        '}' => "`}`",
        _ => "punctuation",
    }
}

/// Takes the character if it comes next, and says whether it did.
#[inline]
pub(super) fn eat(input: Input<'_>, symbol: char) -> (Input<'_>, bool) {
    let next = space(input);
    match next.as_bytes().first() {
        Some(&byte) if byte == symbol as u8 => (split(next, 1).1, true),
        _ => (input, false),
    }
}

/// `open (item (',' item)*)? close`: the item parser keeps what it reads itself.
#[inline]
pub(super) fn list<'a>(
    input: Input<'a>,
    open: char,
    close: char,
    mut item: impl FnMut(Input<'a>) -> Outcome<'a, ()>,
) -> Outcome<'a, ()> {
    let (input, ()) = symbol(open)(input)?;
    let (mut input, empty) = eat(input, close);
    if empty {
        return Ok((input, ()));
    }
    loop {
        (input, ()) = item(input)?;
        match peek(input) {
            b',' => (input, ()) = symbol(',')(input)?,
            byte if byte == close as u8 => return symbol(close)(input),
            _ => return expected(space(input), either(close)),
        }
    }
}

fn either(close: char) -> &'static str {
    match close {
        ')' => "`,` or `)`",
        ']' => "`,` or `]`",
        _ => "`,` or `}`",
    }
}

/// `->`.
pub(super) fn arrow<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let input = space(input);
    match input.strip_prefix("->") {
        Some(rest) => Ok((rest, ())),
        None => expected(input, "`->`"),
    }
}
