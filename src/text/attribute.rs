//! Attributes of instructions (facts: grammar sections 4.2, 4.3).

use super::Strictness;
use super::computation::inline_body;
use super::cursor::{Input, Outcome, between, eat, list, peek, problem, space, symbol};
use super::error::Kind;
use super::header::frontend_attributes;
use super::lexeme::{attribute_name, boolean, integer, name, string, string_or_dictionary};
use super::metadata::metadata;
use super::opcode::{COMMON, Names, OpcodeWord, attribute_word, rule};
use super::operand::predecessors;
use super::reader::Reader;
use super::sharding::sharding;
use super::value::{any_value, shape_index};
use crate::hlo::{AliasPair, Attribute, AttributeName, CallRole, ComputationId, Opcode};

/// All attributes of an instruction; they go to the end of
/// [`super::reader::Frame::attributes`]. The names that were there.
#[inline]
pub(super) fn attributes<'a>(
    mut input: Input<'a>,
    opcode: OpcodeWord,
    reader: &mut Reader<'a>,
) -> Outcome<'a, Names> {
    let mut seen = Names::default();
    while let (rest, true) = eat(input, ',') {
        let start = space(rest);
        let (value, found) = attribute_name(start)?;
        let Some(name) = attribute_word(found) else {
            input = unknown_attribute(start, value, found, reader)?.0;
            continue;
        };
        if seen.has(name) {
            return problem(start, Kind::Duplicate("attribute"));
        }
        seen.insert(name);
        let own = match opcode {
            OpcodeWord::Plain(opcode) => opcode,
            OpcodeWord::Start(_) => Opcode::AsyncStart,
            OpcodeWord::Update(_) => Opcode::AsyncUpdate,
            OpcodeWord::Done(_) => Opcode::AsyncDone,
        };
        let rule = rule(own);
        if !(COMMON.has(name) || rule.required.has(name) || rule.optional.has(name)) {
            input = unknown_attribute(start, value, found, reader)?.0;
            continue;
        }
        input = attribute_value(value, name, own, reader)?.0;
    }
    Ok((input, seen))
}

fn unknown_attribute<'a>(
    start: Input<'a>,
    value: Input<'a>,
    name: &'a str,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    if reader.strictness == Strictness::Strict {
        return problem(start, Kind::UnexpectedAttribute("this opcode"));
    }
    reader.warn(start, format!("unknown attribute {name}"));
    let value = space(value);
    let (rest, ()) = any_value(value)?;
    reader.frame.attributes.push(Attribute::Unknown(Box::new((name, between(value, rest)))));
    Ok((rest, ()))
}

/// The value of an attribute, kept as what it is to analyses.
fn attribute_value<'a>(
    input: Input<'a>,
    name: AttributeName,
    opcode: Opcode,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    use AttributeName as Name;
    let input = space(input);
    let (rest, attribute) = match name {
        Name::Metadata => {
            let (rest, metadata) = metadata(input)?;
            (rest, Attribute::Metadata(reader.add_metadata(metadata)))
        }
        Name::BackendConfig => map(string_or_dictionary(input)?, Attribute::BackendConfig),
        Name::Calls => return called(input, CallRole::Body, reader),
        Name::ToApply if opcode == Opcode::Call => return called(input, CallRole::Body, reader),
        Name::ToApply => return called(input, CallRole::Apply, reader),
        Name::Body => return called(input, CallRole::WhileBody, reader),
        Name::Condition => return called(input, CallRole::WhileCondition, reader),
        Name::TrueComputation => return called(input, CallRole::Branch(0), reader),
        Name::FalseComputation => return called(input, CallRole::Branch(1), reader),
        Name::Select => return called(input, CallRole::Select, reader),
        Name::Scatter => return called(input, CallRole::Scatter, reader),
        Name::BranchComputations => return called_list(input, CallRole::Branch, reader),
        Name::CalledComputations => return called_list(input, CallRole::Called, reader),
        Name::ControlPredecessors => return control_predecessors(input, reader),
        Name::Sharding => map(sharding(input, reader)?, Attribute::Sharding),
        Name::FrontendAttributes => {
            let (rest, ()) = frontend_attributes(input, |_, _| ())?;
            (rest, Attribute::FrontendAttributes(between(input, rest)))
        }
        Name::Index => map(integer(input)?, Attribute::Index),
        Name::ChannelId => map(integer(input)?, Attribute::ChannelId),
        Name::CustomCallTarget => map(string(input)?, Attribute::CustomCallTarget),
        Name::AsyncExecutionThread => map(string(input)?, Attribute::AsyncExecutionThread),
        Name::IsHostTransfer => match boolean(input)? {
            (rest, true) => (rest, Attribute::IsHostTransfer),
            (rest, false) => (rest, Attribute::Other(name, "false")),
        },
        Name::OutputToOperandAliasing => return output_to_operand_aliasing(input, reader),
        _ => {
            let (rest, ()) = any_value(input)?;
            (rest, Attribute::Other(name, between(input, rest)))
        }
    };
    reader.frame.attributes.push(attribute);
    Ok((rest, ()))
}

#[inline]
fn map<'a, T>(
    (rest, value): (Input<'a>, T),
    make: impl FnOnce(T) -> Attribute<'a>,
) -> (Input<'a>, Attribute<'a>) {
    (rest, make(value))
}

fn called<'a>(input: Input<'a>, role: CallRole, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let (rest, id) = callee(input, reader)?;
    reader.frame.attributes.push(Attribute::Calls(role, id));
    Ok((rest, ()))
}

/// The name of a computation above, or an inline body.
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

fn called_list<'a>(
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

fn control_predecessors<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let mut found = Vec::new();
    let (rest, ()) = predecessors(input, reader, |id| found.push(id))?;
    reader.frame.attributes.extend(found.into_iter().map(Attribute::ControlPredecessor));
    Ok((rest, ()))
}

/// `{{}: (2, {0}), {1}: (0, {})}`.
fn output_to_operand_aliasing<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let (mut input, ()) = symbol('{')(input)?;
    while peek(input) != b'}' {
        let (rest, output) = shape_index(input)?;
        let (rest, ()) = symbol(':')(rest)?;
        let (rest, ()) = symbol('(')(rest)?;
        let (rest, operand) = integer(rest)?;
        let (rest, ()) = symbol(',')(rest)?;
        let (rest, operand_index) = shape_index(rest)?;
        (input, ()) = symbol(')')(rest)?;
        let pair = Box::new(AliasPair { output, operand, operand_index });
        reader.frame.attributes.push(Attribute::OutputToOperandAlias(pair));
        match eat(input, ',') {
            (rest, true) => input = rest,
            _ => break,
        }
    }
    symbol('}')(input)
}
