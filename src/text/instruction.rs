//! Instructions (facts: grammar section 4).

use super::attribute::attributes;
use super::cursor::{Input, Outcome, between, expected, problem, space, symbol};
use super::error::Kind;
use super::lexeme::{eat_keyword, integer, name, word};
use super::opcode::{OpcodeWord, Operands, ResultShape, opcode_word, rule};
use super::operand::operands;
use super::reader::{Parts, Reader};
use super::shape::{shape, starts_shape};
use crate::hlo::{Attribute, ElementType, InstructionId, Opcode, Shape, ShapeId};

/// `ROOT? name = rhs`.
#[inline]
pub(super) fn instruction<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let (input, is_root) = eat_keyword(start, "ROOT");
    if is_root && reader.has_root() {
        return problem(start, Kind::Wrong("a computation has one ROOT only"));
    }
    let name_at = space(input);
    let (input, name) = name(name_at)?;
    if is_reserved(name) {
        return problem(name_at, Kind::Wrong("this name is reserved, no instruction has it"));
    }
    let (input, ()) = symbol('=')(input)?;
    let (input, written) = if starts_shape(input) {
        let (input, shape) = shape(input, reader)?;
        (input, Some(shape))
    } else {
        (input, None)
    };
    let (input, id) = operation(start, input, name, written, true, reader)?;
    if !reader.name(name, id) {
        return problem(name_at, Kind::Duplicate("instruction"));
    }
    if is_root {
        reader.set_root(id);
    }
    Ok((input, ()))
}

/// Names that no instruction may have: element types, and `__` but for `__xla_`.
#[inline]
fn is_reserved(name: &str) -> bool {
    let short = name.len() <= 13 && ElementType::from_text(name).is_some();
    short || (name.starts_with("__") && !name.starts_with("__xla_"))
}

/// An operand that is itself an instruction, without a name or attributes.
pub(super) fn nested_instruction<'a>(
    start: Input<'a>,
    input: Input<'a>,
    written: Option<ShapeId>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, InstructionId> {
    operation(start, input, "", written, false, reader)
}

/// What an instruction is, as far as it is read.
struct Operation<'a> {
    start: Input<'a>,
    name: &'a str,
    shape: Option<ShapeId>,
    operands_from: usize,
    attributes_from: usize,
}

/// The opcode, its operands and attributes.
#[inline]
fn operation<'a>(
    start: Input<'a>,
    input: Input<'a>,
    name: &'a str,
    written: Option<ShapeId>,
    with_attributes: bool,
    reader: &mut Reader<'a>,
) -> Outcome<'a, InstructionId> {
    let opcode_at = space(input);
    let (input, found) = word(opcode_at)?;
    let Some(opcode) = opcode_word(found) else {
        return problem(opcode_at, Kind::UnknownOpcode);
    };
    let operation = Operation {
        start,
        name,
        shape: written,
        operands_from: reader.frame.operands.len(),
        attributes_from: reader.frame.attributes.len(),
    };
    let own = match opcode {
        OpcodeWord::Plain(opcode) => opcode,
        OpcodeWord::Start(_) => Opcode::AsyncStart,
        OpcodeWord::Update(_) => Opcode::AsyncUpdate,
        OpcodeWord::Done(_) => Opcode::AsyncDone,
    };
    if written.is_none() && rule(own).shape == ResultShape::Written {
        return expected(opcode_at, "the shape of the result");
    }
    let open = space(input);
    let (input, count) = match own {
        Opcode::Parameter => parameter_number(input, reader)?,
        Opcode::Constant => constant_literal(input, written, reader)?,
        _ => operands(input, reader)?,
    };
    check_count(open, own, count)?;
    let (input, seen) = if with_attributes {
        attributes(input, opcode, reader)?
    } else {
        (input, Default::default())
    };
    if let Some(missing) = rule(own).required.first_missing(seen) {
        return problem(space(input), Kind::MissingAttribute(missing.as_str()));
    }
    finish(input, own, operation, reader)
}

fn finish<'a>(
    input: Input<'a>,
    opcode: Opcode,
    operation: Operation<'a>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, InstructionId> {
    let shape = match operation.shape {
        Some(shape) => shape,
        None => reader.shapes.intern(Shape::Tuple(Box::new([]))),
    };
    let id = reader.add(Parts {
        name: operation.name,
        span: reader.span(operation.start, input),
        shape,
        opcode,
        operands_from: operation.operands_from,
        attributes_from: operation.attributes_from,
    });
    Ok((input, id))
}

fn check_count<'a>(
    open: Input<'a>,
    opcode: Opcode,
    found: u32,
) -> Result<(), nom::Err<super::error::Problem>> {
    let expected = match rule(opcode).operands {
        Operands::Exactly(expected) if found != expected => expected,
        Operands::Even if !found.is_multiple_of(2) => found + 1,
        Operands::Odd if found.is_multiple_of(2) => found + 1,
        _ => return Ok(()),
    };
    problem::<()>(open, Kind::Count { what: "operands", expected, found }).map(|_| ())
}

/// `(0)`.
fn parameter_number<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, u32> {
    let (input, ()) = symbol('(')(input)?;
    let at = space(input);
    let (input, number) = integer(input)?;
    if number < 0 {
        return problem(at, Kind::Wrong("a parameter has no negative number"));
    }
    if !reader.add_parameter(number) {
        return problem(space(input), Kind::Wrong("another parameter has this number"));
    }
    let (input, ()) = symbol(')')(input)?;
    reader.frame.attributes.push(Attribute::ParameterNumber(number));
    Ok((input, 0))
}

/// `(literal)`.
fn constant_literal<'a>(
    input: Input<'a>,
    _shape: Option<ShapeId>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, u32> {
    let (inside, ()) = symbol('(')(input)?;
    let start = space(inside);
    let (rest, ()) = super::literal::any_literal(inside)?;
    reader.frame.attributes.push(Attribute::Literal(between(start, rest)));
    let (rest, ()) = symbol(')')(rest)?;
    Ok((rest, 0))
}
