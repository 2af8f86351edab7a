//! Instructions (facts: grammar section 4).

use super::Strictness;
use super::asynchronous::hide;
use super::attribute::{Facts, attributes};
use super::check::{Places, check_count, check_instruction};
use super::cursor::{Input, Outcome, between, expected, problem, space, symbol};
use super::error::{Kind, Problem};
use super::infer::infer;
use super::lexeme::{eat_keyword, integer, name, shown, word};
use super::literal::literal;
use super::opcode::{OpcodeWord, ResultShape, opcode_word, rule};
use super::operand::operands;
use super::reader::{Parts, Reader};
use super::shape::{shape, starts_shape};
use crate::hlo::{Attribute, AttributeName, ElementType, InstructionId, Opcode, ShapeId};

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
    let (input, id) = rhs(start, input, name, reader)?;
    if !reader.name(name, id) {
        return problem(name_at, Kind::Duplicate("instruction"));
    }
    if is_root {
        reader.set_root(id);
    }
    Ok((input, ()))
}

/// A text that is one instruction, perhaps without a name.
pub(super) fn single_instruction<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let end = if starts_shape(start) {
        rhs(start, start, "", reader)?.0
    } else {
        instruction(start, reader)?.0
    };
    let last = reader.last_own();
    reader.set_root(last);
    if !space(end).is_empty() {
        return expected(space(end), "the end of the text");
    }
    reader.close("", None);
    Ok((end, ()))
}

/// Names that no instruction may have: element types, and `__` but for `__xla_`.
#[inline]
fn is_reserved(name: &str) -> bool {
    let short = name.len() <= 13 && ElementType::from_text(name).is_some();
    short || (name.starts_with("__") && !name.starts_with("__xla_"))
}

/// `shape? opcode(..), attributes`.
#[inline]
fn rhs<'a>(
    start: Input<'a>,
    input: Input<'a>,
    name: &'a str,
    reader: &mut Reader<'a>,
) -> Outcome<'a, InstructionId> {
    let (input, shape) = if starts_shape(input) {
        let (input, shape) = shape(input, reader)?;
        (input, Some(shape))
    } else {
        (input, None)
    };
    operation(input, Left { start, name, shape, nested: false }, reader)
}

/// An operand that is itself an instruction, without a name or attributes.
pub(super) fn nested_instruction<'a>(
    start: Input<'a>,
    input: Input<'a>,
    shape: Option<ShapeId>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, InstructionId> {
    operation(input, Left { start, name: "", shape, nested: true }, reader)
}

/// What stands before the opcode.
struct Left<'a> {
    start: Input<'a>,
    name: &'a str,
    shape: Option<ShapeId>,
    nested: bool,
}

/// The opcode, its operands and attributes.
#[inline]
fn operation<'a>(
    input: Input<'a>,
    left: Left<'a>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, InstructionId> {
    let opcode_at = space(input);
    let (input, word) = opcode(opcode_at, reader)?;
    let own = word.own();
    if left.shape.is_none() && rule(own).shape == ResultShape::Written {
        return expected(opcode_at, "the shape of the result");
    }
    let operands_from = reader.frame.operands.len();
    let attributes_from = reader.frame.attributes.len();
    let open = space(input);
    let (input, count) = match own {
        Opcode::Parameter => parameter_number(input, reader)?,
        Opcode::Constant => constant_literal(input, left.shape, reader)?,
        _ => operands(input, reader)?,
    };
    let wrapped = match word {
        OpcodeWord::Start(wrapped) => wrapped,
        _ => own,
    };
    if word != OpcodeWord::Unknown {
        check_count(open, wrapped, count)?;
    }
    let closed = input;
    let (input, facts) =
        if left.nested { (input, Facts::default()) } else { attributes(input, word, reader)? };
    check_required(closed, word, &facts, reader)?;
    let at = Places { open, closed: space(closed), end: space(input) };
    check_instruction(at, wrapped, operands_from, left.shape, &facts, reader)?;
    let shape = match left.shape {
        Some(shape) => shape,
        None => match infer(own, operands_from, attributes_from, reader) {
            Some(shape) => shape,
            None => return expected(opcode_at, "the shape of the result"),
        },
    };
    match word {
        OpcodeWord::Start(wrapped) => {
            hide(at.end, wrapped, shape, operands_from, attributes_from, reader)?;
        }
        OpcodeWord::OlderCompare(direction) => {
            let direction = Attribute::Other(AttributeName::Direction, direction);
            reader.frame.attributes.push(direction);
        }
        OpcodeWord::Unknown => {
            let found = shown(opcode_at);
            reader.frame.attributes.push(Attribute::Unknown(Box::new(("opcode", found))));
        }
        _ => {}
    }
    let span = reader.span(left.start, input);
    let (name, opcode) = (left.name, own);
    let parts = Parts { name, span, shape, opcode, operands_from, attributes_from };
    Ok((input, reader.add(parts)))
}

/// The word of an opcode. One that is not known is kept by the lenient reader.
#[inline]
fn opcode<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, OpcodeWord> {
    let (rest, found) = match word(input) {
        Ok(found) => found,
        Err(_) => return expected(input, "an opcode"),
    };
    match opcode_word(found) {
        Some(opcode @ (OpcodeWord::Older(_) | OpcodeWord::OlderCompare(_))) => {
            reader.warn(input, format!("{found} is an opcode of an earlier version"));
            Ok((rest, opcode))
        }
        Some(OpcodeWord::Unknown) => {
            reader.warn(input, format!("{found} is an opcode of an earlier version"));
            Ok((rest, OpcodeWord::Unknown))
        }
        Some(opcode) => Ok((rest, opcode)),
        None if reader.strictness == Strictness::Lenient && rest.starts_with('(') => {
            reader.warn(input, format!("unknown opcode {found}: taken for a custom call"));
            Ok((rest, OpcodeWord::Unknown))
        }
        None => problem(input, Kind::UnknownOpcode),
    }
}

/// Attributes that must be there.
#[inline]
fn check_required<'a>(
    closed: Input<'a>,
    word: OpcodeWord,
    facts: &Facts,
    reader: &mut Reader<'a>,
) -> Result<(), nom::Err<Problem>> {
    let required = match word {
        OpcodeWord::Start(wrapped) => rule(wrapped).required,
        OpcodeWord::OlderCompare(_) | OpcodeWord::Unknown => return Ok(()),
        _ => rule(word.own()).required,
    };
    let Some(missing) = required.first_missing(facts.seen) else {
        return Ok(());
    };
    let at = space(closed);
    if word.own() == Opcode::Sort && missing == AttributeName::ToApply {
        reader.warn(at, "a sort without to_apply belongs to an earlier version".to_owned());
        return Ok(());
    }
    let kind = Kind::MissingAttribute(missing.as_str());
    Err(nom::Err::Error(Problem { remaining: at.len(), kind }))
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
    shape: Option<ShapeId>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, u32> {
    let (inside, ()) = symbol('(')(input)?;
    let start = space(inside);
    let Some(shape) = shape else {
        return expected(input, "the shape of the constant before it");
    };
    let (rest, ()) = literal(start, shape, reader)?;
    reader.frame.attributes.push(Attribute::Literal(between(start, rest)));
    let (rest, ()) = symbol(')')(rest)?;
    Ok((rest, 0))
}
