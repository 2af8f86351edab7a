//! `origin=` and the header's `origin_recovery_table=` (facts: grammar sections 2.1, 5.7).

use super::cursor::{Input, Outcome, eat, expected, list, peek, space, symbol};
use super::lexeme::{string, word};
use super::reader::Reader;
use super::value::shape_index;

/// `{TREE}`.
pub(super) fn origin<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let (input, ()) = symbol('{')(input)?;
    if let (inside, true) = eat(input, '[') {
        let start = space(inside);
        let (inside, found) = word(inside)?;
        if found != "synthetic_call" {
            return expected(start, "`synthetic_call`");
        }
        let (input, ()) = symbol(']')(inside)?;
        return symbol('}')(input);
    }
    if let (input, true) = eat(input, '}') {
        return Ok((input, ()));
    }
    let (input, ()) = origin_tree(input, reader)?;
    symbol('}')(input)
}

/// `{"instruction" {0}}`, `{}`, or a tuple of trees.
fn origin_tree<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    match peek(input) {
        b'(' => reader.nested(input, |input, reader| {
            list(input, '(', ')', |input| origin_tree(input, reader))
        }),
        b'{' => original_array(input),
        // Nothing at all stands for no original value.
        b',' | b')' => Ok((input, ())),
        _ => expected(space(input), "the original value"),
    }
}

/// `{"instruction" {0}}` or `{}`.
fn original_array<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let (input, ()) = symbol('{')(input)?;
    if let (input, true) = eat(input, '}') {
        return Ok((input, ()));
    }
    let (input, _) = string(input)?;
    let input = if peek(input) == b'{' { shape_index(input)?.0 } else { input };
    symbol('}')(input)
}

/// `{ {"a" {0}} : {"b"} , "<a module>" ... }`: entries have spaces between them.
pub(super) fn origin_recovery_table<'a>(
    input: Input<'a>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    let (mut input, ()) = symbol('{')(input)?;
    while peek(input) != b'}' {
        let (rest, ()) = original_array(input)?;
        let (rest, ()) = symbol(':')(rest)?;
        (input, ()) = original_array(rest)?;
        if let (rest, true) = eat(input, ',') {
            let start = space(rest);
            let (rest, module) = string(rest)?;
            if !recovers(module, reader) {
                return expected(start, "a module as a string");
            }
            input = rest;
        }
    }
    symbol('}')(input)
}

/// Whether the text of a recovery module can be read; it may not hold such a table itself.
fn recovers(module: &str, reader: &Reader<'_>) -> bool {
    let module = unescaped(module);
    !module.contains("origin_recovery_table")
        && super::parse_with(&module, reader.strictness).is_ok()
}

/// The escapes that printers write, undone.
fn unescaped(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'").into()
}
