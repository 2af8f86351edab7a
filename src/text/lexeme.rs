//! Words, names, numbers, strings, dictionaries: the tokens (facts: grammar section 1).

use super::cursor::{Input, Outcome, expected, peek, problem, space, split};
use super::error::Kind;
use crate::hlo::ElementType;

/// Bytes that a word continues with: letters, digits, `_`, `.`, `-`.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        table[byte] =
            ascii.is_ascii_alphanumeric() || ascii == b'_' || ascii == b'.' || ascii == b'-';
        byte += 1;
    }
    table
};

/// How many bytes of a word stand at the start, whatever it starts with.
#[inline]
pub(super) fn word_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| !WORD[usize::from(byte)]).unwrap_or(bytes.len())
}

/// Whether a byte may start a word.
#[inline]
pub(super) fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// The word here as a message shows it: not more than 80 bytes of it.
pub(super) fn shown(input: &str) -> &str {
    let sigil = usize::from(input.starts_with('%'));
    let length = word_length(split(input, sigil).1.as_bytes()).min(80);
    if length == 0 { "" } else { split(input, sigil + length).0 }
}

/// The word that comes next, empty if none does; not consumed.
#[inline]
pub(super) fn next_word(input: Input<'_>) -> &str {
    let input = space(input);
    match input.as_bytes().first() {
        Some(&byte) if starts_word(byte) => split(input, word_length(input.as_bytes())).0,
        _ => "",
    }
}

/// A word of any kind.
#[inline]
pub(super) fn word<'a>(input: Input<'a>) -> Outcome<'a, &'a str> {
    let input = space(input);
    match input.as_bytes().first() {
        Some(&byte) if starts_word(byte) => {
            let (word, rest) = split(input, word_length(input.as_bytes()));
            Ok((rest, word))
        }
        _ => expected(input, "a word"),
    }
}

/// Words that cannot be bare names.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "true"
            | "false"
            | "inf"
            | "nan"
            | "HloModule"
            | "ENTRY"
            | "ROOT"
            | "FileNames"
            | "FunctionNames"
            | "FileLocations"
            | "StackFrames"
            | "maximal"
            | "replicated"
            | "manual"
            | "last_tile_dim_replicate"
            | "shard_as"
            | "shard_like"
            | "unknown"
            | "unreduced"
    )
}

/// The name of a module, computation or instruction, without `%`.
#[inline]
pub(super) fn name<'a>(input: Input<'a>) -> Outcome<'a, &'a str> {
    let input = space(input);
    match input.as_bytes() {
        [b'%', byte, ..] if starts_word(*byte) => {
            let inside = split(input, 1).1;
            let (name, rest) = split(inside, word_length(inside.as_bytes()));
            Ok((rest, name))
        }
        [byte, ..] if starts_word(*byte) => bare_name(input),
        _ => expected(input, "a name"),
    }
}

/// A name without `%`: the colon behind it belongs to it.
fn bare_name<'a>(input: Input<'a>) -> Outcome<'a, &'a str> {
    let (name, rest) = split(input, word_length(input.as_bytes()));
    match rest.as_bytes().first() {
        Some(b':') => return Ok((split(rest, 1).1, name)),
        Some(b'=') => return expected(input, "a name (with a space before its `=`)"),
        Some(b'>') if name.ends_with('-') => return expected(input, "a name"),
        _ => {}
    }
    if is_keyword(name) || ElementType::from_text(name).is_some() {
        return expected(input, "a name, which no keyword or element type is");
    }
    Ok((rest, name))
}

/// A keyword that is not glued to `:` or `=`.
#[inline]
pub(super) fn keyword<'a>(input: Input<'a>, keyword: &'static str) -> Outcome<'a, ()> {
    let input = space(input);
    let (found, rest) = match input.as_bytes().first() {
        Some(&byte) if starts_word(byte) => split(input, word_length(input.as_bytes())),
        _ => return expected(input, keyword),
    };
    match rest.as_bytes().first() {
        Some(b':' | b'=') => expected(input, keyword),
        _ if found == keyword => Ok((rest, ())),
        _ => expected(input, keyword),
    }
}

/// Takes the keyword if it comes next, and says whether it did.
#[inline]
pub(super) fn eat_keyword<'a>(input: Input<'a>, wanted: &'static str) -> (Input<'a>, bool) {
    if peek(input) != wanted.as_bytes().first().copied().unwrap_or(0) {
        return (input, false);
    }
    match keyword(input, wanted) {
        Ok((rest, ())) => (rest, true),
        Err(_) => (input, false),
    }
}

/// The word of an attribute or field, with the `=` glued to it.
#[inline]
pub(super) fn attribute_name<'a>(input: Input<'a>) -> Outcome<'a, &'a str> {
    let input = space(input);
    let (name, rest) = match input.as_bytes().first() {
        Some(&byte) if starts_word(byte) => split(input, word_length(input.as_bytes())),
        _ => return expected(input, "the name of an attribute"),
    };
    match rest.as_bytes().first() {
        Some(b'=') => Ok((split(rest, 1).1, name)),
        _ => expected(input, "the name of an attribute with `=` right behind it"),
    }
}

/// An integer of 64 bits: above 2^63 - 1 as its bit pattern.
#[inline]
pub(super) fn integer<'a>(input: Input<'a>) -> Outcome<'a, i64> {
    let input = space(input);
    let bytes = input.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let mut at = usize::from(negative);
    let start = at;
    let mut value: u64 = 0;
    let mut fits = true;
    while let Some(&byte) = bytes.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        match value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit))) {
            Some(next) => value = next,
            None => fits = false,
        }
        at += 1;
    }
    if at == start || continues_number(bytes.get(at..).unwrap_or(&[])) {
        return expected(input, "an integer");
    }
    let value = if negative { 0_i64.checked_sub_unsigned(value) } else { Some(value as i64) };
    match value {
        Some(value) if fits => Ok((split(input, at).1, value)),
        _ => problem(input, Kind::Wrong("the integer does not fit 64 bits")),
    }
}

/// Whether what follows digits makes them another token than an integer.
#[inline]
fn continues_number(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [b'.', ..]
            | [b'e' | b'E', b'0'..=b'9', ..]
            | [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..]
            | [b'x', b'0'..=b'9', ..]
            | [b'_', b'0'..=b'9', ..]
            | [b'_', b'-', b'0'..=b'9', ..]
    )
}

/// An integer of 32 bits.
#[inline]
pub(super) fn integer32<'a>(input: Input<'a>) -> Outcome<'a, i32> {
    let input = space(input);
    let (rest, value) = integer(input)?;
    match i32::try_from(value) {
        Ok(value) => Ok((rest, value)),
        Err(_) => problem(input, Kind::Wrong("the integer does not fit 32 bits")),
    }
}

/// `true` or `false`.
pub(super) fn boolean<'a>(input: Input<'a>) -> Outcome<'a, bool> {
    let input = space(input);
    if let (rest, true) = eat_keyword(input, "true") {
        return Ok((rest, true));
    }
    match eat_keyword(input, "false") {
        (rest, true) => Ok((rest, false)),
        _ => expected(input, "`true` or `false`"),
    }
}

/// A string, without its quotes and with its escapes, which are checked.
#[inline]
pub(super) fn string<'a>(input: Input<'a>) -> Outcome<'a, &'a str> {
    let input = space(input);
    let quote = match input.as_bytes().first() {
        Some(&quote @ (b'"' | b'\'')) => quote,
        _ => return expected(input, "a string"),
    };
    let inside = split(input, 1).1;
    let bytes = inside.as_bytes();
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or(&[]);
        let Some(found) = memchr::memchr2(quote, b'\\', rest) else {
            return problem(input, Kind::Unterminated("a string"));
        };
        at += found;
        if bytes.get(at) == Some(&quote) {
            let (string, rest) = split(inside, at);
            return Ok((split(rest, 1).1, string));
        }
        match escape_length(bytes.get(at + 1..).unwrap_or(&[])) {
            Some(length) => at += 1 + length,
            None if at + 1 >= bytes.len() => {
                return problem(input, Kind::Unterminated("a string"));
            }
            None => {
                return problem(split(inside, at).1, Kind::Wrong("this is no escape of a string"));
            }
        }
    }
}

/// The length of an escape behind its backslash; `None` if it is none.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    let hex = |from: usize, most: usize| {
        bytes.iter().skip(from).take(most).take_while(|byte| byte.is_ascii_hexdigit()).count()
    };
    let value = |from: usize, length: usize, radix: u32| {
        let digits = bytes.get(from..from + length)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
    };
    match bytes.first()? {
        b'n' | b't' | b'r' | b'a' | b'b' | b'f' | b'v' | b'\\' | b'\'' | b'"' | b'?' => Some(1),
        b'0'..=b'7' => {
            let digits =
                bytes.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            (value(0, digits, 8)? <= 0xff).then_some(digits)
        }
        b'x' => {
            let digits = hex(1, usize::MAX);
            let significant = bytes.iter().skip(1).take(digits).skip_while(|&&byte| byte == b'0');
            (digits > 0 && significant.count() <= 2).then_some(1 + digits)
        }
        kind @ (b'u' | b'U') => {
            let digits = if *kind == b'u' { 4 } else { 8 };
            char::from_u32(value(1, digits, 16).filter(|_| hex(1, digits) == digits)?)?;
            Some(1 + digits)
        }
        _ => None,
    }
}

/// A raw dictionary, braces included (facts: grammar section 1.5).
#[inline]
pub(super) fn dictionary<'a>(input: Input<'a>) -> Outcome<'a, &'a str> {
    let input = space(input);
    let bytes = input.as_bytes();
    if bytes.first() != Some(&b'{') {
        return expected(input, "`{`");
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    let (dictionary, rest) = split(input, at + 1);
                    return Ok((rest, dictionary));
                }
            }
            b'"' => match quoted_end(bytes, at) {
                Some(end) => at = end,
                None => break,
            },
            _ => {}
        }
        at += 1;
    }
    problem(input, Kind::Unterminated("a dictionary"))
}

/// Where the double-quoted string that starts at `at` has its closing quote.
#[inline]
fn quoted_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// A string without its quotes, or a dictionary with its braces.
#[inline]
pub(super) fn string_or_dictionary<'a>(input: Input<'a>) -> Outcome<'a, &'a str> {
    match peek(input) {
        b'{' => dictionary(input),
        b'"' | b'\'' => string(input),
        _ => expected(space(input), "a string or a dictionary"),
    }
}
