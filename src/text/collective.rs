//! Attributes of collectives: replica groups of three versions, pairs (facts: grammar section 5.2).

use super::cursor::{Input, Outcome, expected, list, peek, problem, space, split};
use super::error::Kind;
use super::lexeme::{integer, next_word};
use super::mesh::{axes, mesh};
use super::sharding::{integers, iota};
use super::value::{integer_list, integer_lists};

/// `{{0,1},{2,3}}`, `[2,4]<=[8]` or `mesh['x'=2] {'x'}`.
pub(super) fn replica_groups<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    match peek(input) {
        b'{' => integer_lists(input),
        b'[' => {
            let mut dimensions = Vec::new();
            let (input, ()) = integers(input, '[', ']', &mut dimensions)?;
            if dimensions.len() != 2 {
                return problem(start, Kind::Wrong("replica groups have two dimensions"));
            }
            let arrow = space(input);
            match arrow.strip_prefix("<=") {
                Some(rest) => iota(rest).map(|(input, _)| (input, ())),
                None => expected(arrow, "`<=`"),
            }
        }
        _ if next_word(input) == "mesh" => {
            let (input, _) = mesh(input)?;
            let (input, _) = super::cursor::eat(input, ',');
            axes(input).map(|(input, _)| (input, ()))
        }
        _ => expected(start, "replica groups"),
    }
}

/// `{{0,1},{1,2}}`.
pub(super) fn pairs<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    list(input, '{', '}', |input| {
        let start = space(input);
        let (input, count) = integer_list(input)?;
        if count != 2 {
            return problem(start, Kind::Wrong("a pair has two numbers"));
        }
        Ok((input, ()))
    })
}

/// `L.1@2:4_R.0@2:4`: the sparsity of a dot in texts of 2024 and 2025.
pub(super) fn dot_sparsity<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let length = start
        .bytes()
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'@' | b':' | b'_')
        })
        .count();
    match length {
        0 => expected(start, "a sparsity like `L.1@2:4`"),
        _ => Ok((split(start, length).1, ())),
    }
}

/// An integer of which nothing is kept.
pub(super) fn any_integer<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    integer(input).map(|(input, _)| (input, ()))
}
