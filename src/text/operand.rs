//! Operands: names, names with shapes, nested instructions (facts: grammar section 4.1).

use super::cursor::{Input, Outcome, eat, expected, list, peek, problem, space};
use super::error::Kind;
use super::instruction::nested_instruction;
use super::lexeme::{integer, name};
use super::reader::{Parts, Reader};
use super::shape::{shape, starts_shape};
use crate::hlo::{Attribute, Form, InstructionId, Opcode, Shape, ShapeId};

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
    let start = space(input);
    if start.as_bytes().first() == Some(&b'%') && reader.form != Form::SingleInstruction {
        let (rest, id) = named_operand(start, reader)?;
        return if peek(rest) == b'#' { elements(start, rest, id, reader) } else { Ok((rest, id)) };
    }
    let (input, written) = if starts_shape(start) {
        let (input, shape) = shape(start, reader)?;
        (input, Some(shape))
    } else {
        (start, None)
    };
    let Ok((rest, name)) = name(input) else {
        return match written {
            Some(shape) if reader.makes_parameters() => {
                Ok((input, missing_operand(start, input, "", shape, reader)))
            }
            _ => expected(space(input), "an operand"),
        };
    };
    match (peek(rest), written) {
        (b',' | b')', Some(shape)) if reader.makes_parameters() && reader.named(name).is_none() => {
            Ok((rest, missing_operand(start, rest, name, shape, reader)))
        }
        (b',' | b')', _) => named_operand(input, reader),
        (b'#', _) => {
            let (rest, id) = named_operand(input, reader)?;
            elements(start, rest, id, reader)
        }
        _ => {
            reader.nested(input, |input, reader| nested_instruction(start, input, written, reader))
        }
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

/// An operand that a text of a single instruction does not define: it becomes a parameter.
fn missing_operand<'a>(
    start: Input<'a>,
    end: Input<'a>,
    name: &'a str,
    shape: ShapeId,
    reader: &mut Reader<'a>,
) -> InstructionId {
    let number = reader.own_parameters() as i64;
    let operands_from = reader.frame.operands.len();
    let attributes_from = reader.frame.attributes.len();
    reader.add_parameter(number);
    reader.frame.attributes.push(Attribute::ParameterNumber(number));
    let span = reader.span(start, end);
    let opcode = Opcode::Parameter;
    let id = reader.add(Parts { name, span, shape, opcode, operands_from, attributes_from });
    if !name.is_empty() {
        reader.name(name, id);
    }
    id
}

/// `#0#1` behind a name: elements of a tuple without a get-tuple-element of their own (since
/// July 2026).
fn elements<'a>(
    start: Input<'a>,
    mut input: Input<'a>,
    mut id: InstructionId,
    reader: &mut Reader<'a>,
) -> Outcome<'a, InstructionId> {
    while let (rest, true) = eat(input, '#') {
        let at = space(rest);
        let (rest, index) = integer(rest)?;
        let shape = reader.own(id).and_then(|tuple| match reader.shapes.get(tuple.shape) {
            Shape::Tuple(elements) => elements.get(usize::try_from(index).ok()?).copied(),
            _ => Some(tuple.shape),
        });
        let Some(shape) = shape else {
            return problem(at, Kind::Wrong("the operand has no such element"));
        };
        let operands_from = reader.frame.operands.len();
        let attributes_from = reader.frame.attributes.len();
        reader.frame.operands.push(id);
        reader.frame.attributes.push(Attribute::Index(index));
        let span = reader.span(start, rest);
        let (name, opcode) = ("", Opcode::GetTupleElement);
        id = reader.add(Parts { name, span, shape, opcode, operands_from, attributes_from });
        input = rest;
    }
    Ok((input, id))
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
