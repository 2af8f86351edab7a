//! Named shardings over a mesh: `{mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2, ?}]}` (facts: grammar 5.1).

use super::cursor::{Input, Outcome, eat, expected, list, peek, space, split, symbol};
use super::lexeme::{attribute_name, integer, next_word, string, word};
use super::metadata::metadata_list;
use super::sharding::integers;
use crate::hlo::{MeshAxis, NamedSharding, Sharding, ShardingKind};

/// `mesh['x'=2,'y'=4]` with the list of devices that may follow.
pub(super) fn mesh<'a>(input: Input<'a>) -> Outcome<'a, Vec<MeshAxis<'a>>> {
    let (input, _) = word(input)?;
    let mut axes = Vec::new();
    let (input, ()) = list(input, '[', ']', |input| {
        let (input, name) = string(input)?;
        let (input, ()) = symbol('=')(input)?;
        let (input, size) = integer(input)?;
        axes.push(MeshAxis { name, size });
        Ok((input, ()))
    })?;
    // The comma belongs to the list of devices only if that follows it.
    let (behind, _) = eat(input, ',');
    match attribute_name(behind) {
        Ok((rest, "device_ids")) => Ok((device_ids(rest)?.0, axes)),
        _ => Ok((input, axes)),
    }
}

/// `(0,2,1,3)` or `([4,2]T(1,0))`.
fn device_ids<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let (inside, ()) = symbol('(')(input)?;
    if peek(inside) == b'[' {
        let (inside, _) = super::sharding::iota(inside)?;
        return symbol(')')(inside);
    }
    integers(input, '(', ')', &mut Vec::new())
}

/// An axis: its name or index in quotes, or a part of it: `'y':(1)2`. Returned as written.
fn axis<'a>(input: Input<'a>) -> Outcome<'a, &'a str> {
    let (input, name) = string(input)?;
    let (rest, sub) = eat(input, ':');
    if !sub {
        return Ok((input, name));
    }
    let (rest, ()) = symbol('(')(rest)?;
    let (rest, _) = integer(rest)?;
    let (rest, ()) = symbol(')')(rest)?;
    let (rest, _) = integer(rest)?;
    Ok((rest, name))
}

/// `{'x', 'y':(1)2, ?}`: axes; `?` leaves the dimension open and stands last.
pub(super) fn axes<'a>(input: Input<'a>) -> Outcome<'a, Vec<&'a str>> {
    let mut found = Vec::new();
    let mut open = false;
    let (input, ()) = list(input, '{', '}', |input| {
        if open {
            return expected(space(input), "`}` behind `?`");
        }
        if let (rest, true) = eat(input, '?') {
            open = true;
            return Ok((rest, ()));
        }
        let (input, axis) = axis(input)?;
        found.push(axis);
        Ok((input, ()))
    })?;
    Ok((input, found))
}

/// A named sharding behind its opening brace, up to and with the closing one.
pub(super) fn named_sharding<'a>(input: Input<'a>) -> Outcome<'a, Sharding<'a>> {
    let (mut input, mesh) = mesh(input)?;
    let mut named = NamedSharding { mesh, dimensions: Vec::new(), replicated: Vec::new() };
    let mut kind = None;
    loop {
        (input, _) = eat(input, ',');
        if let (rest, true) = eat(input, '}') {
            let sharding = match kind {
                Some(kind) => Sharding::Kind { kind, device: None },
                None => Sharding::Named(named),
            };
            return Ok((rest, sharding));
        }
        if peek(input) == b'[' {
            (input, ()) = list(input, '[', ']', |input| {
                let (input, dimension) = axes(input)?;
                named.dimensions.push(dimension);
                Ok((input, ()))
            })?;
            continue;
        }
        if let Ok((rest, field)) = attribute_name(input) {
            input = named_field(rest, field, &mut named)?.0;
            continue;
        }
        let (rest, found) = word(input)?;
        kind = Some(match found {
            "replicated" => ShardingKind::Replicated,
            "manual" => ShardingKind::Manual,
            "unreduced" => ShardingKind::Unreduced,
            _ => return expected(space(input), "the axes of a named sharding"),
        });
        input = rest;
    }
}

fn named_field<'a>(
    input: Input<'a>,
    field: &'a str,
    named: &mut NamedSharding<'a>,
) -> Outcome<'a, ()> {
    match field {
        "replicated" => {
            let (input, found) = axes(input)?;
            named.replicated = found;
            Ok((input, ()))
        }
        // Newer versions name the reduction: `unreduced=sum{'x'}`.
        "unreduced" => {
            let word = next_word(input);
            let input = if matches!(word, "sum" | "max" | "min") {
                split(space(input), word.len()).1
            } else {
                input
            };
            axes(input).map(|(input, _)| (input, ()))
        }
        "manual" => axes(input).map(|(input, _)| (input, ())),
        "metadata" => metadata_list(input),
        _ => expected(space(input), "`replicated=`, `unreduced=`, `manual=` or `metadata=`"),
    }
}

/// `maximal_mesh[device_id=3]` and the closing brace.
pub(super) fn maximal_mesh<'a>(input: Input<'a>) -> Outcome<'a, Sharding<'a>> {
    let (input, _) = word(input)?;
    let (input, ()) = symbol('[')(input)?;
    let start = space(input);
    let (input, field) = attribute_name(input)?;
    if field != "device_id" {
        return expected(start, "`device_id=`");
    }
    let (input, device) = integer(input)?;
    let (mut input, ()) = symbol(']')(input)?;
    loop {
        (input, _) = eat(input, ',');
        match attribute_name(input) {
            Ok((rest, "metadata")) => input = metadata_list(rest)?.0,
            _ => break,
        }
    }
    let (input, ()) = symbol('}')(input)?;
    Ok((input, Sharding::Kind { kind: ShardingKind::Maximal, device: Some(device) }))
}
