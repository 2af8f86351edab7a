//! Attributes of instructions (facts: grammar sections 4.2, 4.3).

use super::Strictness;
use super::called::{called, called_list};
use super::collective::{dot_sparsity, pairs, replica_groups};
use super::cursor::{Input, Outcome, between, eat, list, peek, problem, space, symbol};
use super::error::Kind;
use super::header::{boolean_list, frontend_attributes};
use super::lexeme::{attribute_name, boolean, integer, integer32, string, string_or_dictionary};
use super::literal::shaped_literal;
use super::metadata::metadata;
use super::number::{float, padding};
use super::opcode::{
    COMMON, Names, OF_START, OLDER, OpcodeWord, attribute_word, present_name, rule,
};
use super::operand::predecessors;
use super::origin::origin;
use super::reader::Reader;
use super::shape::shape;
use super::sharding::sharding;
use super::value::{alias_number, any_value, integer_list, integer_lists, shape_index};
use super::window::{dimension_labels, slice, sparsity_config, window};
use super::words::{one_of, precisions, words_of};
use crate::hlo::{AliasPair, Attribute, AttributeName, CallRole, Opcode};

/// What the checks of an instruction need to know of its attributes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// The names that were there.
    pub(super) seen: Names,
    /// How many numbers `dimensions` has.
    pub(super) dimensions: Option<usize>,
    /// How many shapes `operand_layout_constraints` has.
    pub(super) layout_constraints: Option<usize>,
    /// `use_global_device_ids=true`.
    pub(super) use_global_device_ids: bool,
    /// How many values `parameter_replication` has.
    pub(super) parameter_replication: Option<usize>,
}

/// All attributes of an instruction; they go to the end of
/// [`super::reader::Frame::attributes`].
#[inline]
pub(super) fn attributes<'a>(
    mut input: Input<'a>,
    opcode: OpcodeWord,
    reader: &mut Reader<'a>,
) -> Outcome<'a, Facts> {
    let mut facts = Facts::default();
    let allowed = allowed(opcode);
    while let (rest, true) = eat(input, ',') {
        let start = space(rest);
        let (value, found) = attribute_name(start)?;
        let Some(name) = attribute_word(found) else {
            input = unknown_attribute(start, value, found, opcode, reader)?.0;
            continue;
        };
        let name = match allowed.has(name) {
            true => Some(name),
            false => older_attribute(start, name, opcode, allowed, reader),
        };
        let Some(name) = name else {
            input = unknown_attribute(start, value, found, opcode, reader)?.0;
            continue;
        };
        if facts.seen.has(name) {
            return problem(start, Kind::Duplicate("attribute"));
        }
        facts.seen.insert(name);
        input = attribute_value(value, name, opcode, &mut facts, reader)?.0;
    }
    Ok((input, facts))
}

/// The attributes that the word of an opcode allows.
#[inline]
fn allowed(opcode: OpcodeWord) -> Names {
    let own = match opcode {
        OpcodeWord::Start(wrapped) => rule(wrapped).allowed().and(OF_START),
        _ => rule(opcode.own()).allowed(),
    };
    own.and(COMMON)
}

/// The present name of an attribute that earlier versions had here, with a warning.
#[cold]
fn older_attribute<'a>(
    start: Input<'a>,
    name: AttributeName,
    opcode: OpcodeWord,
    allowed: Names,
    reader: &mut Reader<'a>,
) -> Option<AttributeName> {
    let renamed = present_name(name).filter(|&name| allowed.has(name));
    let wrapped = match opcode {
        OpcodeWord::Update(wrapped) | OpcodeWord::Done(wrapped) => rule(wrapped).allowed(),
        _ => Names::default(),
    };
    let present = match renamed {
        None if OLDER.has(name) || wrapped.has(name) => Some(name),
        renamed => renamed,
    };
    if present.is_some() {
        reader.warn(start, format!("{} belongs to an earlier version of HLO text", name.as_str()));
    }
    present
}

/// An attribute of a name that is not known, or not of this opcode.
#[cold]
fn unknown_attribute<'a>(
    start: Input<'a>,
    value: Input<'a>,
    name: &'a str,
    opcode: OpcodeWord,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    let older = opcode == OpcodeWord::Unknown || (opcode.own() == Opcode::Sort && name == "keys");
    if reader.strictness == Strictness::Strict && !older {
        return problem(start, Kind::UnexpectedAttribute(opcode.own().as_str()));
    }
    reader.warn(start, format!("{} has no attribute {name}", opcode.own().as_str()));
    let value = space(value);
    let (rest, ()) = any_value(value)?;
    reader.frame.attributes.push(Attribute::Unknown(Box::new((name, between(value, rest)))));
    Ok((rest, ()))
}

/// The value of an attribute, kept as what it is to analyses.
fn attribute_value<'a>(
    input: Input<'a>,
    name: AttributeName,
    opcode: OpcodeWord,
    facts: &mut Facts,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    use AttributeName as Name;
    let input = space(input);
    let (rest, attribute) = match name {
        Name::Metadata => {
            let (rest, metadata) = metadata(input)?;
            (rest, Attribute::Metadata(reader.add_metadata(metadata)))
        }
        Name::BackendConfig => keep(string_or_dictionary(input)?, Attribute::BackendConfig),
        Name::Sharding => keep(sharding(input, reader)?, Attribute::Sharding),
        Name::Index => keep(integer(input)?, Attribute::Index),
        Name::ChannelId => keep(integer(input)?, Attribute::ChannelId),
        Name::CustomCallTarget => keep(string(input)?, Attribute::CustomCallTarget),
        Name::AsyncExecutionThread => keep(string(input)?, Attribute::AsyncExecutionThread),
        Name::FrontendAttributes => {
            let (rest, ()) = frontend_attributes(input, |_, _| ())?;
            (rest, Attribute::FrontendAttributes(between(input, rest)))
        }
        Name::IsHostTransfer => match boolean(input)? {
            (rest, true) => (rest, Attribute::IsHostTransfer),
            (rest, false) => (rest, Attribute::Other(name, "false")),
        },
        Name::ControlPredecessors => return control_predecessors(input, reader),
        Name::OutputToOperandAliasing => return output_to_operand_aliasing(input, reader),
        Name::BranchComputations => return called_list(input, CallRole::Branch, reader),
        Name::CalledComputations => return called_list(input, CallRole::Called, reader),
        _ => match call_role(name, opcode) {
            Some(role) => return called(input, role, reader),
            None => {
                let (rest, ()) = other_value(input, name, opcode, facts, reader)?;
                (rest, Attribute::Other(name, between(input, rest)))
            }
        },
    };
    reader.frame.attributes.push(attribute);
    Ok((rest, ()))
}

#[inline]
fn keep<'a, T>(
    (rest, value): (Input<'a>, T),
    make: impl FnOnce(T) -> Attribute<'a>,
) -> (Input<'a>, Attribute<'a>) {
    (rest, make(value))
}

/// What the computation of an attribute is to the instruction.
fn call_role(name: AttributeName, opcode: OpcodeWord) -> Option<CallRole> {
    use AttributeName as Name;
    let is_call =
        matches!(opcode, OpcodeWord::Plain(Opcode::Call) | OpcodeWord::Start(Opcode::Call));
    Some(match name {
        Name::Calls => CallRole::Body,
        Name::ToApply if is_call => CallRole::Body,
        Name::ToApply => CallRole::Apply,
        Name::Body => CallRole::WhileBody,
        Name::Condition => CallRole::WhileCondition,
        Name::TrueComputation => CallRole::Branch(0),
        Name::FalseComputation => CallRole::Branch(1),
        Name::Select => CallRole::Select,
        Name::Scatter => CallRole::Scatter,
        _ => return None,
    })
}

/// A value that is checked and kept as written.
fn other_value<'a>(
    input: Input<'a>,
    name: AttributeName,
    opcode: OpcodeWord,
    facts: &mut Facts,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    use AttributeName as Name;
    if let Some(words) = words_of(name, opcode.own()) {
        return one_of(input, words);
    }
    match name {
        Name::Dimensions => {
            let (input, count) = integer_list(input)?;
            facts.dimensions = Some(count);
            Ok((input, ()))
        }
        Name::UseGlobalDeviceIds => {
            let (input, value) = boolean(input)?;
            facts.use_global_device_ids = value;
            Ok((input, ()))
        }
        Name::OperandLayoutConstraints => {
            let mut count = 0;
            let (input, ()) = list(input, '{', '}', |input| {
                count += 1;
                drop_value(shape(input, reader))
            })?;
            facts.layout_constraints = Some(count);
            Ok((input, ()))
        }
        Name::SliceSizes if opcode.own() != Opcode::Gather => integer_lists(input),
        Name::DynamicSliceSizes
        | Name::LhsBatchDims
        | Name::LhsContractingDims
        | Name::LhsRaggedDims
        | Name::RhsBatchDims
        | Name::RhsContractingDims
        | Name::RhsGroupDims
        | Name::OffsetDims
        | Name::CollapsedSliceDims
        | Name::StartIndexMap
        | Name::SliceSizes
        | Name::FftLength
        | Name::OperandBatchingDims
        | Name::StartIndicesBatchingDims
        | Name::UpdateWindowDims
        | Name::InsertedWindowDims
        | Name::ScatterDimsToOperandDims
        | Name::InputBatchingDims
        | Name::ScatterIndicesBatchingDims
        | Name::OuterDimensionPartitions
        | Name::WaitOnOperationQueues => drop_value(integer_list(input)),
        Name::ConstrainLayout
        | Name::IsStable
        | Name::IsReverse
        | Name::IsAssociative
        | Name::IsComposite
        | Name::IsCrossProgramPrefetch
        | Name::Largest
        | Name::LeftSide
        | Name::Lower
        | Name::UnitDiagonal
        | Name::UniqueIndices
        | Name::IndicesAreSorted
        | Name::HasDynamicRoot
        | Name::CustomCallHasSideEffect => drop_value(boolean(input)),
        Name::InfeedConfig | Name::OutfeedConfig | Name::Opaque | Name::Barrier => {
            drop_value(string(input))
        }
        Name::CrossProgramPrefetchIndex => drop_value(integer32(input)),
        Name::Epsilon => float(input),
        Name::Padding => drop_value(padding(input)),
        Name::ReplicaGroups => replica_groups(input),
        Name::SourceTargetPairs => pairs(input),
        Name::Window => window(input),
        Name::DimLabels => dimension_labels(input),
        Name::Slice => slice(input),
        Name::OperandPrecision => precisions(input),
        Name::SparsityConfig => sparsity_config(input),
        Name::Sparsity => dot_sparsity(input),
        Name::ResultAccuracy => super::accuracy::result_accuracy(input),
        Name::Statistics => super::accuracy::statistics(input),
        Name::Domain => super::domain::domain(input, reader),
        Name::Literal => shaped_literal(input, reader),
        Name::OutfeedShape => drop_value(shape(input, reader)),
        Name::Origin => origin(input, reader),
        Name::ParameterReplication => {
            let (input, values) = boolean_list(input)?;
            facts.parameter_replication = Some(values.len());
            Ok((input, ()))
        }
        _ => drop_value(integer(input)),
    }
}

fn drop_value<'a, T>(outcome: Outcome<'a, T>) -> Outcome<'a, ()> {
    outcome.map(|(input, _)| (input, ()))
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
        let (rest, operand) = alias_number(rest)?;
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
