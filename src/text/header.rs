//! The `HloModule` line (facts: grammar section 2.1).

use super::Strictness;
use super::cursor::{Input, Outcome, between, eat, list, peek, problem, space, symbol};
use super::error::Kind;
use super::lexeme::{
    attribute_name, boolean, eat_keyword, integer, keyword, name, string_or_dictionary, word,
};
use super::reader::Reader;
use super::shape::shape;
use super::value::{alias_number, any_value, shape_index};
use crate::hlo::{AliasKind, InputOutputAlias, ParameterIndex, ShapeId};

/// The name of the module and what the rest of its line says. Returns the name.
pub(super) fn header<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, &'a str> {
    let (input, ()) = keyword(input, "HloModule")?;
    let (mut input, module_name) = name(input)?;
    let mut seen: Vec<&'a str> = Vec::new();
    while let (rest, true) = eat(input, ',') {
        let start = space(rest);
        let (value, attribute) = attribute_name(rest)?;
        if seen.contains(&attribute) {
            return problem(start, Kind::Duplicate("header attribute"));
        }
        seen.push(attribute);
        (input, ()) = header_attribute(start, value, attribute, reader)?;
    }
    Ok((input, module_name))
}

/// One attribute of the header, behind its `=`.
fn header_attribute<'a>(
    start: Input<'a>,
    input: Input<'a>,
    attribute: &'a str,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    match attribute {
        "is_scheduled" => keep(boolean(input)?, &mut reader.header.is_scheduled),
        "replica_count" => keep(integer(input)?, &mut reader.header.replica_count),
        "num_partitions" => keep(integer(input)?, &mut reader.header.num_partitions),
        "alias_passthrough_params" => {
            keep(boolean(input)?, &mut reader.header.alias_passthrough_params)
        }
        "input_output_alias" => input_output_alias(input, &mut reader.header.input_output_alias),
        "buffer_donor" => buffer_donor(input, &mut reader.header.buffer_donor),
        "entry_computation_layout" => {
            let (input, layout) = computation_layout(input, reader)?;
            keep((input, Some(layout)), &mut reader.header.entry_computation_layout)
        }
        "allow_spmd_sharding_propagation_to_parameters" => keep(
            boolean_list(input)?,
            &mut reader.header.allow_spmd_sharding_propagation_to_parameters,
        ),
        "allow_spmd_sharding_propagation_to_output" => {
            keep(boolean_list(input)?, &mut reader.header.allow_spmd_sharding_propagation_to_output)
        }
        "frontend_attributes" => {
            let fields = &mut reader.header.frontend_attributes;
            frontend_attributes(input, |key, value| fields.push((key, value)))
        }
        "origin_recovery_table" | "debug_attributes" => {
            let value = space(input);
            let (rest, ()) = if attribute == "debug_attributes" {
                any_value(input)?
            } else {
                super::origin::origin_recovery_table(input, reader)?
            };
            reader.header.other.push((attribute, between(value, rest)));
            Ok((rest, ()))
        }
        _ if reader.strictness == Strictness::Lenient => {
            reader.warn(start, format!("unknown header attribute {attribute}"));
            let value = space(input);
            let (rest, ()) = any_value(input)?;
            reader.header.other.push((attribute, between(value, rest)));
            Ok((rest, ()))
        }
        _ => problem(start, Kind::UnexpectedAttribute("the header")),
    }
}

fn keep<'a, T>((input, value): (Input<'a>, T), place: &mut T) -> Outcome<'a, ()> {
    *place = value;
    Ok((input, ()))
}

/// A list in braces in which a comma may stand behind the last item.
fn open_list<'a>(
    input: Input<'a>,
    mut item: impl FnMut(Input<'a>) -> Outcome<'a, ()>,
) -> Outcome<'a, ()> {
    let (mut input, ()) = symbol('{')(input)?;
    while peek(input) != b'}' {
        (input, ()) = item(input)?;
        match eat(input, ',') {
            (rest, true) => input = rest,
            _ => break,
        }
    }
    symbol('}')(input)
}

/// `{ {0}: (0, {}, may-alias), ... }`.
pub(super) fn input_output_alias<'a>(
    input: Input<'a>,
    aliases: &mut Vec<InputOutputAlias>,
) -> Outcome<'a, ()> {
    open_list(input, |input| {
        let (input, output) = shape_index(input)?;
        let (input, ()) = symbol(':')(input)?;
        let (input, ()) = symbol('(')(input)?;
        let (input, parameter) = alias_number(input)?;
        let (input, ()) = symbol(',')(input)?;
        let (input, index) = shape_index(input)?;
        let (input, more) = eat(input, ',');
        let (input, kind) = if more { alias_kind(input)? } else { (input, AliasKind::May) };
        let (input, ()) = symbol(')')(input)?;
        let parameter = ParameterIndex { parameter, index };
        aliases.push(InputOutputAlias { output, parameter, kind });
        Ok((input, ()))
    })
}

fn alias_kind<'a>(input: Input<'a>) -> Outcome<'a, AliasKind> {
    let start = space(input);
    let (input, found) = word(input)?;
    match found {
        "may-alias" => Ok((input, AliasKind::May)),
        "must-alias" => Ok((input, AliasKind::Must)),
        _ => super::cursor::expected(start, "`may-alias` or `must-alias`"),
    }
}

/// `{ (0, {}), (1, {0}) }`.
pub(super) fn buffer_donor<'a>(
    input: Input<'a>,
    donors: &mut Vec<ParameterIndex>,
) -> Outcome<'a, ()> {
    open_list(input, |input| {
        let (input, ()) = symbol('(')(input)?;
        let (input, parameter) = integer(input)?;
        let (input, ()) = symbol(',')(input)?;
        let (input, index) = shape_index(input)?;
        let (input, ()) = symbol(')')(input)?;
        donors.push(ParameterIndex { parameter, index });
        Ok((input, ()))
    })
}

/// `{(shape, shape)->shape}`.
pub(super) fn computation_layout<'a>(
    input: Input<'a>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, (Vec<ShapeId>, ShapeId)> {
    let mut parameters = Vec::new();
    let (input, ()) = symbol('{')(input)?;
    let (mut input, ()) = symbol('(')(input)?;
    while peek(input) != b')' {
        let parameter;
        (input, parameter) = shape(input, reader)?;
        parameters.push(parameter);
        match eat(input, ',') {
            (rest, true) => input = rest,
            _ => break,
        }
    }
    let (input, ()) = symbol(')')(input)?;
    let (input, ()) = super::cursor::arrow(input)?;
    let (input, result) = shape(input, reader)?;
    let (input, ()) = symbol('}')(input)?;
    Ok((input, (parameters, result)))
}

/// `{true,false}` or a bare `true`.
pub(super) fn boolean_list<'a>(input: Input<'a>) -> Outcome<'a, Vec<bool>> {
    let mut values = Vec::new();
    if peek(input) != b'{' {
        let (input, value) = boolean(input)?;
        return Ok((input, vec![value]));
    }
    let (input, ()) = list(input, '{', '}', |input| {
        let (input, value) = boolean(input)?;
        values.push(value);
        Ok((input, ()))
    })?;
    Ok((input, values))
}

/// `{key="value",key={...}}`.
pub(super) fn frontend_attributes<'a>(
    input: Input<'a>,
    mut field: impl FnMut(&'a str, &'a str),
) -> Outcome<'a, ()> {
    list(input, '{', '}', |input| {
        let (input, key) = attribute_name(input)?;
        let (input, value) = string_or_dictionary(input)?;
        field(key, value);
        Ok((input, ()))
    })
}

/// Whether the text starts with `HloModule`.
pub(super) fn starts_module(input: Input<'_>) -> bool {
    eat_keyword(input, "HloModule").1
}
