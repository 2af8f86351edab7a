//! `metadata={op_name="..." stack_frame_id=7}` (facts: grammar section 5.4).

use super::cursor::{Input, Outcome, between, eat, list, peek, problem, space, symbol};
use super::error::Kind;
use super::lexeme::{attribute_name, integer, integer32, string};
use crate::hlo::Metadata;

/// The fields, in the order of the bits of the set of those seen.
const FIELDS: [&str; 13] = [
    "op_type",
    "op_name",
    "source_file",
    "source_line",
    "source_end_line",
    "source_column",
    "source_end_column",
    "profile_type",
    "deduplicated_name",
    "scheduling_name",
    "stack_frame_id",
    "metadata_payload",
    "preserve_layout",
];

/// Metadata, with its braces.
#[inline]
pub(super) fn metadata<'a>(input: Input<'a>) -> Outcome<'a, Metadata<'a>> {
    let start = space(input);
    let (mut input, ()) = symbol('{')(start)?;
    let mut metadata = Metadata::default();
    let mut seen = 0_u32;
    loop {
        if let (rest, true) = eat(input, '}') {
            metadata.text = between(start, rest);
            return Ok((rest, metadata));
        }
        // A comma may stand before a field, not behind the last.
        (input, _) = eat(input, ',');
        (input, ()) = metadata_field(input, &mut metadata, &mut seen)?;
    }
}

fn metadata_field<'a>(
    input: Input<'a>,
    metadata: &mut Metadata<'a>,
    seen: &mut u32,
) -> Outcome<'a, ()> {
    let start = space(input);
    let (input, field) = attribute_name(input)?;
    let Some(at) = FIELDS.iter().position(|&known| known == field) else {
        return problem(start, Kind::UnexpectedAttribute("metadata"));
    };
    if *seen & (1 << at) != 0 {
        return problem(start, Kind::Duplicate("field"));
    }
    *seen |= 1 << at;
    match field {
        "op_type" => keep(string(input)?, &mut metadata.op_type),
        "op_name" => keep(string(input)?, &mut metadata.op_name),
        "source_file" => keep(string(input)?, &mut metadata.source_file),
        "deduplicated_name" | "scheduling_name" | "metadata_payload" => {
            keep(string(input)?, &mut "")
        }
        "source_line" => keep(integer32(input)?, &mut metadata.source_line),
        "stack_frame_id" => keep(integer32(input)?, &mut metadata.stack_frame_id),
        "profile_type" => list(input, '{', '}', profile_type),
        "preserve_layout" => super::lexeme::boolean(input).map(|(input, _)| (input, ())),
        _ => keep(integer32(input)?, &mut 0),
    }
}

#[inline]
fn keep<'a, T>((input, value): (Input<'a>, T), place: &mut T) -> Outcome<'a, ()> {
    *place = value;
    Ok((input, ()))
}

fn profile_type<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let (input, kind) = integer(input)?;
    if !(0..=3).contains(&kind) {
        return problem(start, Kind::Wrong("a profile type is between 0 and 3"));
    }
    Ok((input, ()))
}

/// `metadata=` of a sharding: one, or several in braces.
pub(super) fn metadata_list<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let (inside, ()) = symbol('{')(input)?;
    if peek(inside) == b'{' {
        return list(input, '{', '}', |input| metadata(input).map(|(input, _)| (input, ())));
    }
    metadata(input).map(|(input, _)| (input, ()))
}
