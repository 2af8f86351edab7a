//! Values of attributes that several of them share: lists, indices, and values of unknown names.

use super::cursor::{Input, Outcome, eat, expected, list, peek, problem, space, split, symbol};
use super::error::Kind;
use super::lexeme::{integer, string};
use crate::hlo::ShapeIndex;

/// `{1,0}`: an index into nested tuples. A comma may stand behind the last number.
pub(super) fn shape_index<'a>(input: Input<'a>) -> Outcome<'a, ShapeIndex> {
    let (mut input, ()) = symbol('{')(input)?;
    let mut index = ShapeIndex::new();
    while peek(input) != b'}' {
        let start = space(input);
        let number;
        (input, number) = integer(input)?;
        match u32::try_from(number) {
            Ok(number) => index.push(number),
            Err(_) => return problem(start, Kind::Wrong("no shape has this index")),
        }
        match eat(input, ',') {
            (rest, true) => input = rest,
            _ => break,
        }
    }
    let (input, ()) = symbol('}')(input)?;
    Ok((input, index))
}

/// An integer. XLA's reader takes nothing at all for one where a comma follows: it is -1 then.
pub(super) fn alias_number<'a>(input: Input<'a>) -> Outcome<'a, i64> {
    if peek(input) == b',' { Ok((input, -1)) } else { integer(input) }
}

/// `{1,2,3}`: a list of integers; the number of them.
pub(super) fn integer_list<'a>(input: Input<'a>) -> Outcome<'a, usize> {
    let mut count = 0;
    let (input, ()) = list(input, '{', '}', |input| {
        count += 1;
        integer(input).map(|(input, _)| (input, ()))
    })?;
    Ok((input, count))
}

/// `{{1,2},{3,4}}`: lists of integers.
pub(super) fn integer_lists<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    list(input, '{', '}', |input| integer_list(input).map(|(input, _)| (input, ())))
}

/// A value of any form: up to a comma, a closing bracket or the end of the line outside of
/// brackets and strings.
pub(super) fn any_value<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let mut input = start;
    loop {
        match input.as_bytes().first() {
            None | Some(b'}' | b')' | b']' | b',' | b'\n' | b'\r') => break,
            Some(b'{' | b'(' | b'[') => input = brackets(input)?.0,
            Some(b'"') => input = string(input)?.0,
            Some(_) => input = after_character(input),
        }
    }
    if input.len() == start.len() {
        return expected(start, "a value");
    }
    Ok((input, ()))
}

/// A pair of brackets with whatever is in it; strings and nested brackets are followed.
pub(super) fn brackets<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let mut input = start;
    let mut open: Vec<u8> = Vec::new();
    loop {
        let Some(&byte) = input.as_bytes().first() else {
            return problem(start, Kind::Unterminated("a value"));
        };
        match byte {
            b'"' => {
                input = string(input)?.0;
                continue;
            }
            b'{' | b'(' | b'[' => open.push(byte),
            b'}' | b')' | b']' => match (open.pop(), byte) {
                (Some(b'{'), b'}') | (Some(b'('), b')') | (Some(b'['), b']') => {}
                _ => return expected(input, "a closing bracket that fits"),
            },
            _ => {}
        }
        input = after_character(input);
        if open.is_empty() {
            return Ok((input, ()));
        }
    }
}

fn after_character(input: Input<'_>) -> Input<'_> {
    split(input, input.chars().next().map_or(0, char::len_utf8)).1
}
