//! What must hold of an instruction once its operands and attributes are read (facts: grammar 4.3).

use super::attribute::Facts;
use super::cursor::Input;
use super::error::{Kind, Problem};
use super::opcode::{Operands, rule};
use super::reader::Reader;
use crate::hlo::{
    Attribute, AttributeName, CallRole, ElementType, InstructionId, Opcode, Shape, ShapeId,
};

type Checked = Result<(), nom::Err<Problem>>;

fn fail(at: Input<'_>, kind: Kind) -> Checked {
    Err(nom::Err::Error(Problem { remaining: at.len(), kind }))
}

fn operand_count(open: Input<'_>, expected: usize, found: usize) -> Checked {
    if expected == found {
        return Ok(());
    }
    let clamp = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let kind = Kind::Count { what: "operands", expected: clamp(expected), found: clamp(found) };
    fail(open, kind)
}

/// The count of operands that the opcode fixes, at the opening parenthesis.
#[inline]
pub(super) fn check_count(open: Input<'_>, opcode: Opcode, found: u32) -> Checked {
    let expected = match rule(opcode).operands {
        Operands::Exactly(expected) => expected,
        Operands::Even => found.next_multiple_of(2),
        Operands::Odd => found | 1,
        Operands::Any => found,
    };
    operand_count(open, expected as usize, found as usize)
}

/// The places at which checks of an instruction report.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    /// Its opening parenthesis.
    pub(super) open: Input<'a>,
    /// The token behind its closing parenthesis.
    pub(super) closed: Input<'a>,
    /// The token behind its last attribute.
    pub(super) end: Input<'a>,
}

/// Checks that depend on attributes and on shapes of operands.
pub(super) fn check_instruction<'a>(
    at: Places<'a>,
    opcode: Opcode,
    operands_from: usize,
    shape: Option<ShapeId>,
    facts: &Facts,
    reader: &Reader<'a>,
) -> Checked {
    let operands = reader.frame.operands.get(operands_from..).unwrap_or(&[]);
    let count = operands.len();
    match opcode {
        Opcode::Broadcast if !facts.seen.has(AttributeName::Dimensions) => {
            match operands.first().map(|&operand| rank(operand, reader)) {
                Some(Some(0)) => Ok(()),
                _ => fail(at.closed, Kind::MissingAttribute("dimensions")),
            }
        }
        Opcode::Concatenate | Opcode::Sort | Opcode::Scan => one_dimension(at, facts),
        Opcode::AllToAll | Opcode::RaggedAllToAll if facts.dimensions.is_some() => {
            one_dimension(at, facts)
        }
        Opcode::AllGather
        | Opcode::AllGatherStart
        | Opcode::ReduceScatter
        | Opcode::GetDimensionSize
        | Opcode::SetDimensionSize
            if facts.dimensions == Some(0) =>
        {
            one_dimension(at, facts)
        }
        Opcode::AllReduce | Opcode::AllReduceStart | Opcode::ReduceScatter
            if facts.use_global_device_ids
                && !facts.seen.has(AttributeName::ChannelId)
                && !facts.seen.has(AttributeName::Mode) =>
        {
            fail(at.end, Kind::Wrong("use_global_device_ids needs a channel_id"))
        }
        Opcode::Tuple => match shape.map(|shape| reader.shapes.get(shape)) {
            Some(Shape::Tuple(elements)) => operand_count(at.open, elements.len(), count),
            Some(_) => fail(at.open, Kind::Wrong("the shape of a tuple is a tuple")),
            None => Ok(()),
        },
        Opcode::Infeed => match shape.map(|shape| reader.shapes.get(shape)) {
            Some(Shape::Tuple(elements)) if !elements.is_empty() => Ok(()),
            _ => fail(at.open, Kind::Wrong("the shape of an infeed is a tuple that is not empty")),
        },
        Opcode::DynamicReshape if count == 0 => operand_count(at.open, 1, 0),
        Opcode::DynamicSlice => index_operands(at, 1, operands, reader),
        Opcode::DynamicUpdateSlice => index_operands(at, 2, operands, reader),
        Opcode::CollectivePermute | Opcode::CollectivePermuteStart
            if facts.seen.has(AttributeName::SliceSizes) =>
        {
            operand_count(at.open, 4, count)
        }
        Opcode::CollectivePermute | Opcode::CollectivePermuteStart if count == 0 => {
            operand_count(at.open, 1, 0)
        }
        Opcode::Convolution => operand_count(at.open, count.max(2), count),
        Opcode::Dot => operand_count(at.open, count.max(2), count),
        Opcode::RngBitGenerator => operand_count(at.open, count.max(1), count),
        Opcode::AsyncUpdate => operand_count(at.open, count.max(1), count),
        Opcode::Conditional => conditional(at, operands, facts, reader),
        Opcode::CustomCall => match facts.layout_constraints {
            Some(shapes) if shapes != count => fail(
                at.end,
                Kind::Count {
                    what: "shapes in operand_layout_constraints",
                    expected: count as u32,
                    found: shapes as u32,
                },
            ),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// `dimensions` of exactly one number.
fn one_dimension(at: Places<'_>, facts: &Facts) -> Checked {
    let found = facts.dimensions.unwrap_or(0);
    if found == 1 {
        return Ok(());
    }
    fail(at.end, Kind::Count { what: "number in dimensions", expected: 1, found: found as u32 })
}

/// The rank of an operand that is an array.
fn rank(operand: InstructionId, reader: &Reader<'_>) -> Option<usize> {
    Some(reader.shape_of(operand)?.array()?.dimensions.len())
}

/// Indices behind `fixed` operands: one scalar for each dimension, or one array.
fn index_operands<'a>(
    at: Places<'a>,
    fixed: usize,
    operands: &[InstructionId],
    reader: &Reader<'a>,
) -> Checked {
    let Some(&first) = operands.first() else {
        return operand_count(at.open, fixed + 1, 0);
    };
    if operands.get(fixed).is_some_and(|&index| rank(index, reader) == Some(1)) {
        return operand_count(at.open, fixed + 1, operands.len());
    }
    let rank = rank(first, reader).unwrap_or(0);
    operand_count(at.open, fixed + rank, operands.len())
}

/// The style of the branches follows from the type of the first operand.
fn conditional<'a>(
    at: Places<'a>,
    operands: &[InstructionId],
    facts: &Facts,
    reader: &Reader<'a>,
) -> Checked {
    use AttributeName::{BranchComputations, FalseComputation, TrueComputation};
    let Some(&selector) = operands.first() else {
        return operand_count(at.open, 1, 0);
    };
    let is_pred = reader
        .shape_of(selector)
        .and_then(Shape::array)
        .is_some_and(|array| array.element_type == ElementType::Pred);
    let (wanted, other): (&[AttributeName], &[AttributeName]) = if is_pred {
        (&[TrueComputation, FalseComputation], &[BranchComputations])
    } else {
        (&[BranchComputations], &[TrueComputation, FalseComputation])
    };
    if other.iter().any(|&name| facts.seen.has(name)) {
        let kind = "the branches do not fit the type of the first operand";
        return fail(at.closed, Kind::Wrong(kind));
    }
    if let Some(missing) = wanted.iter().find(|&&name| !facts.seen.has(name)) {
        return fail(at.closed, Kind::MissingAttribute(missing.as_str()));
    }
    let branches = reader
        .frame
        .attributes
        .iter()
        .filter(|attribute| matches!(attribute, Attribute::Calls(CallRole::Branch(_), _)))
        .count();
    if branches == 0 {
        return fail(at.end, Kind::Wrong("a conditional has at least one branch"));
    }
    operand_count(at.open, branches + 1, operands.len())
}
