//! `X-start(..)`: an async-start of a computation that holds just X (facts: grammar sections 4.7, 10).

use super::cursor::{Input, Outcome, problem};
use super::error::Kind;
use super::opcode::{COMMON, OF_START};
use super::reader::{Parts, Reader};
use crate::hlo::{Attribute, AttributeName, CallRole, Opcode, ShapeId, Span};
use smallvec::SmallVec;

/// Makes the hidden computation of an X-start whose operands and attributes stand at the end of the
/// frame's: one parameter for each operand, then X. The call of it becomes an attribute.
pub(super) fn hide<'a>(
    at: Input<'a>,
    wrapped: Opcode,
    shape: ShapeId,
    operands_from: usize,
    attributes_from: usize,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    let Some(result) = result_of(shape, reader) else {
        let why = "the shape of an async-start is ((operands), result, ...)";
        return problem(at, Kind::Wrong(why));
    };
    let operands: SmallVec<[ShapeId; 4]> = reader.frame.operands[operands_from..]
        .iter()
        .map(|&operand| reader.own(operand).map_or(result, |operand| operand.shape))
        .collect();
    let attributes: Vec<Attribute<'a>> = reader.frame.attributes.drain(attributes_from..).collect();
    reader.open(true);
    for (number, shape) in operands.into_iter().enumerate() {
        reader.frame.attributes.push(Attribute::ParameterNumber(number as i64));
        let id = add_implied(Opcode::Parameter, shape, reader);
        reader.frame.operands.push(id);
    }
    reader.frame.attributes.extend(attributes.iter().filter(|of| belongs_to_wrapped(of)).cloned());
    add_implied(wrapped, result, reader);
    let Some(body) = reader.close("", None) else {
        return problem(at, Kind::Wrong("an async-start of nothing"));
    };
    reader.frame.attributes.push(Attribute::Calls(CallRole::Body, body));
    reader.frame.attributes.extend(attributes.into_iter().filter(belongs_to_start));
    Ok((at, ()))
}

fn result_of(shape: ShapeId, reader: &Reader<'_>) -> Option<ShapeId> {
    let elements = reader.shapes.get(shape).elements()?;
    reader.shapes.get(*elements.first()?).elements()?;
    elements.get(1).copied()
}

/// An instruction that the text does not have: all operands and attributes of the frame are its own.
fn add_implied<'a>(
    opcode: Opcode,
    shape: ShapeId,
    reader: &mut Reader<'a>,
) -> crate::hlo::InstructionId {
    let operands_from = match opcode {
        Opcode::Parameter => reader.frame.operands.len(),
        _ => 0,
    };
    reader.add(Parts {
        name: "",
        span: Span::default(),
        shape,
        opcode,
        operands_from,
        attributes_from: 0,
    })
}

/// The name of an attribute.
pub(super) fn name_of(attribute: &Attribute<'_>) -> Option<AttributeName> {
    use AttributeName as Name;
    Some(match attribute {
        Attribute::Calls(role, _) => match role {
            CallRole::Body => Name::Calls,
            CallRole::Apply => Name::ToApply,
            CallRole::WhileBody => Name::Body,
            CallRole::WhileCondition => Name::Condition,
            CallRole::Branch(_) => Name::BranchComputations,
            CallRole::Select => Name::Select,
            CallRole::Scatter => Name::Scatter,
            CallRole::Called(_) => Name::CalledComputations,
        },
        Attribute::ControlPredecessor(_) => Name::ControlPredecessors,
        Attribute::ParameterNumber(_) | Attribute::Unknown(_) => return None,
        Attribute::Index(_) => Name::Index,
        Attribute::Literal(_) => Name::Literal,
        Attribute::CustomCallTarget(_) => Name::CustomCallTarget,
        Attribute::OutputToOperandAlias(_) => Name::OutputToOperandAliasing,
        Attribute::IsHostTransfer => Name::IsHostTransfer,
        Attribute::ChannelId(_) => Name::ChannelId,
        Attribute::Sharding(_) => Name::Sharding,
        Attribute::Metadata(_) => Name::Metadata,
        Attribute::FrontendAttributes(_) => Name::FrontendAttributes,
        Attribute::BackendConfig(_) => Name::BackendConfig,
        Attribute::AsyncExecutionThread(_) => Name::AsyncExecutionThread,
        Attribute::Other(name, _) => *name,
    })
}

/// Attributes of every instruction belong to both, those of async-start to the start alone.
pub(super) fn belongs_to_start(attribute: &Attribute<'_>) -> bool {
    name_of(attribute).is_none_or(|name| COMMON.and(OF_START).has(name))
}

fn belongs_to_wrapped(attribute: &Attribute<'_>) -> bool {
    match name_of(attribute) {
        Some(AttributeName::ControlPredecessors) | None => false,
        Some(name) => !OF_START.has(name),
    }
}
