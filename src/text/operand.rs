//! Operands: names, names with shapes, nested instructions (facts: grammar section 4.1).

use super::cursor::{Input, Outcome, eat, expected, list, peek, problem, space};
use super::error::Kind;
use super::instruction::nested_instruction;
use super::lexeme::name;
use super::reader::Reader;
use super::shape::{shape, starts_shape};
use crate::hlo::InstructionId;

/// The operands in their parentheses; they go to the end of [`super::reader::Frame::operands`].
/// The number of them.
#[inline]
pub(super) fn operands<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, u32> {
    let mut count = 0;
    let (input, ()) = list(input, '(', ')', |input| {
        let (input, id) = operand(input, reader)?;
        reader.frame.operands.push(id);
        count += 1;
        Ok((input, ()))
    })?;
    Ok((input, count))
}

#[inline]
fn operand<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, InstructionId> {
    let input = space(input);
    if input.as_bytes().first() == Some(&b'%') {
        return named_operand(input, reader);
    }
    let start = input;
    let (input, written) = if starts_shape(input) {
        let (input, shape) = shape(input, reader)?;
        (input, Some(shape))
    } else {
        (input, None)
    };
    match name(input) {
        Ok((rest, _)) if matches!(peek(rest), b',' | b')') => named_operand(input, reader),
        Ok(_) => {
            reader.nested(input, |input, reader| nested_instruction(start, input, written, reader))
        }
        Err(_) => expected(space(input), "an operand"),
    }
}

#[inline]
fn named_operand<'a>(input: Input<'a>, reader: &Reader<'a>) -> Outcome<'a, InstructionId> {
    let start = space(input);
    let (input, name) = name(start)?;
    match reader.named(name) {
        Some(id) => Ok((input, id)),
        None => problem(start, Kind::UndefinedInstruction),
    }
}

/// `{%a, %b}`: at least one instruction above in this computation.
pub(super) fn predecessors<'a>(
    input: Input<'a>,
    reader: &Reader<'a>,
    mut found: impl FnMut(InstructionId),
) -> Outcome<'a, ()> {
    let (inside, opened) = eat(input, '{');
    if opened && peek(inside) == b'}' {
        return expected(space(inside), "an instruction");
    }
    list(input, '{', '}', |input| {
        let (input, id) = named_operand(input, reader)?;
        found(id);
        Ok((input, ()))
    })
}
