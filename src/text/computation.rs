//! Computations, and inline bodies (facts: grammar sections 2, 4.2).

use super::cursor::{Input, Outcome, arrow, eat, expected, list, peek, problem, space, symbol};
use super::error::Kind;
use super::instruction::instruction;
use super::lexeme::{attribute_name, eat_keyword, name, string};
use super::reader::Reader;
use super::shape::shape;
use crate::hlo::{ComputationId, ShapeId};

/// A computation with its name.
pub(super) fn computation<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let (input, is_entry) = eat_keyword(start, "ENTRY");
    if is_entry && reader.entry.is_some() {
        return problem(start, Kind::Wrong("only one computation is the entry"));
    }
    let name_at = space(input);
    let (input, computation_name) = name(input)?;
    reader.inside = computation_name;
    reader.open(false);
    let (input, result) = if peek(input) == b'(' {
        let (input, result) = signature(input, reader)?;
        (input, Some(result))
    } else {
        (input, None)
    };
    let (input, ()) = body(input, reader)?;
    let Some(id) = reader.close(computation_name, result) else {
        return expected(input, "an instruction");
    };
    if reader.computation_names.insert(computation_name, id).is_some() {
        return problem(name_at, Kind::Duplicate("computation"));
    }
    if is_entry {
        reader.entry = Some(id);
    }
    execution_thread(input, reader)
}

/// `(p: f32[2], q: s32[]) -> f32[2]`: of this only the result is kept.
pub(super) fn signature<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ShapeId> {
    let (input, ()) = list(input, '(', ')', |input| {
        let (input, _) = name(input)?;
        shape(input, reader).map(|(input, _)| (input, ()))
    })?;
    let (input, ()) = arrow(input)?;
    shape(input, reader)
}

/// The instructions in their braces.
fn body<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let (mut input, ()) = symbol('{')(input)?;
    loop {
        (input, ()) = instruction(input, reader)?;
        if let (rest, true) = eat(input, '}') {
            if !reader.parameters_are_complete() {
                return problem(
                    space(input),
                    Kind::Wrong("the numbers of the parameters are not 0, 1, 2 and so on"),
                );
            }
            return Ok((rest, ()));
        }
    }
}

/// An inline body, as the value of an attribute.
pub(super) fn inline_body<'a>(
    input: Input<'a>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ComputationId> {
    reader.nested(input, |input, reader| {
        reader.open(true);
        let (input, ()) = body(input, reader)?;
        match reader.close("", None) {
            Some(id) => Ok((input, id)),
            None => expected(input, "an instruction"),
        }
    })
}

/// `, execution_thread="..."` behind the closing brace.
fn execution_thread<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let (input, more) = eat(input, ',');
    if !more {
        return Ok((input, ()));
    }
    let start = space(input);
    let (input, attribute) = attribute_name(input)?;
    if attribute != "execution_thread" {
        return problem(start, Kind::UnexpectedAttribute("a computation"));
    }
    let (input, thread) = string(input)?;
    if let Some(computation) = reader.computations.last_mut() {
        computation.execution_thread = thread;
    }
    Ok((input, ()))
}
