//! Computations as values of attributes: names of computations above, and inline bodies.

use super::computation::inline_body;
use super::cursor::{Input, Outcome, list, peek, problem, space};
use super::error::Kind;
use super::lexeme::name;
use super::reader::Reader;
use crate::hlo::{Attribute, CallRole, ComputationId};

/// The computation of an attribute.
pub(super) fn called<'a>(
    input: Input<'a>,
    role: CallRole,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    let (rest, id) = callee(input, reader)?;
    reader.frame.attributes.push(Attribute::Calls(role, id));
    Ok((rest, ()))
}

fn callee<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ComputationId> {
    if peek(input) == b'{' {
        return inline_body(input, reader);
    }
    let start = space(input);
    let (rest, name) = name(start)?;
    match reader.computation_names.get(name) {
        Some(&id) => Ok((rest, id)),
        None => problem(start, Kind::UndefinedComputation),
    }
}

/// `{%a, %b}`.
pub(super) fn called_list<'a>(
    input: Input<'a>,
    role: fn(u32) -> CallRole,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    let mut position = 0;
    list(input, '{', '}', |input| {
        let (rest, ()) = called(input, role(position), reader)?;
        position += 1;
        Ok((rest, ()))
    })
}
