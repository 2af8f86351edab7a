//! Literals (facts: grammar section 4.4). They are checked and never materialised.

use super::cursor::{Input, Outcome, problem, space, split};
use super::error::Kind;

/// A literal of any type: up to the parenthesis that closes the constant.
pub(super) fn any_literal<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let mut depth = 0_usize;
    for (at, byte) in start.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return Ok((split(start, at).1, ())),
            b')' => depth -= 1,
            _ => {}
        }
    }
    problem(start, Kind::Unterminated("a literal"))
}
