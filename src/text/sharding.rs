//! Shardings (facts: grammar section 5.1). Each distinct text is read once.

use super::cursor::{
    Input, Outcome, between, eat, expected, list, peek, problem, space, split, symbol,
};
use super::error::Kind;
use super::lexeme::{attribute_name, dictionary, integer, next_word, word};
use super::mesh::{maximal_mesh, named_sharding};
use super::metadata::metadata_list;
use super::reader::Reader;
use crate::hlo::{DeviceList, Sharding, ShardingId, ShardingKind, TileAssignment};

/// A sharding: one leaf, or a tuple of leaves.
pub(super) fn sharding<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ShardingId> {
    let input = space(input);
    // The extent by brackets is a guess (quotes may differ): it only finds texts read before.
    let (rest, raw) = dictionary(input)?;
    if let Some(&id) = reader.sharding_cache.get(raw) {
        return Ok((rest, id));
    }
    let (inside, ()) = symbol('{')(input)?;
    let (rest, value) = match peek(inside) {
        b'{' => sharding_tuple(input, reader)?,
        b'}' => (symbol('}')(inside)?.0, Sharding::Tuple(Vec::new())),
        _ => single_sharding(inside)?,
    };
    Ok((rest, keep(between(input, rest), value, reader)))
}

fn keep<'a>(text: &'a str, value: Sharding<'a>, reader: &mut Reader<'a>) -> ShardingId {
    if let Some(&id) = reader.sharding_cache.get(text) {
        return id;
    }
    let id = ShardingId(reader.shardings.len() as u32);
    reader.shardings.push(value);
    reader.sharding_texts.push(text);
    reader.sharding_cache.insert(text, id);
    id
}

fn sharding_tuple<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, Sharding<'a>> {
    let mut leaves = Vec::new();
    let (rest, ()) = list(input, '{', '}', |input| {
        let start = space(input);
        let (inside, ()) = symbol('{')(start)?;
        let (rest, leaf) = single_sharding(inside)?;
        leaves.push(keep(between(start, rest), leaf, reader));
        Ok((rest, ()))
    })?;
    Ok((rest, Sharding::Tuple(leaves)))
}

/// What the words of a leaf said.
#[derive(Default)]
struct Leaf {
    replicated: bool,
    maximal: bool,
    manual: bool,
    unknown: bool,
    unreduced: bool,
    last_tile_dim_replicate: bool,
    shard_group: bool,
    device: Option<i64>,
    devices: Option<(Vec<i64>, DeviceList)>,
    last_tile_dims: Vec<ShardingKind>,
}

/// A leaf behind its opening brace, up to and with the closing one.
fn single_sharding<'a>(input: Input<'a>) -> Outcome<'a, Sharding<'a>> {
    let start = space(input);
    match next_word(input) {
        "mesh" => return named_sharding(input),
        "maximal_mesh" => return maximal_mesh(input),
        _ => {}
    }
    let mut leaf = Leaf::default();
    let mut input = input;
    while peek(input) != b'}' {
        (input, ()) = sharding_word(input, &mut leaf)?;
    }
    let (rest, ()) = symbol('}')(input)?;
    match leaf.finish() {
        Ok(sharding) => Ok((rest, sharding)),
        Err(why) => problem(start, Kind::Wrong(why)),
    }
}

fn sharding_word<'a>(input: Input<'a>, leaf: &mut Leaf) -> Outcome<'a, ()> {
    let start = space(input);
    if let Ok((rest, name)) = attribute_name(input) {
        return match name {
            "device" => {
                let (rest, device) = integer(rest)?;
                leaf.device = Some(device);
                Ok((rest, ()))
            }
            "devices" => {
                let (rest, devices) = tile_assignment(rest)?;
                leaf.devices = Some(devices);
                Ok((rest, ()))
            }
            "last_tile_dims" => last_tile_dims(rest, leaf),
            "metadata" => metadata_list(rest),
            _ => problem(start, Kind::UnexpectedAttribute("a sharding")),
        };
    }
    let (rest, found) = word(input)?;
    match found {
        "replicated" => leaf.replicated = true,
        "maximal" => leaf.maximal = true,
        "manual" => leaf.manual = true,
        "unknown" => leaf.unknown = true,
        "unreduced" => leaf.unreduced = true,
        "last_tile_dim_replicate" => leaf.last_tile_dim_replicate = true,
        "shard_as" | "shard_like" => {
            leaf.shard_group = true;
            return integer(rest).map(|(rest, _)| (rest, ()));
        }
        _ => return expected(start, "a word of a sharding"),
    }
    Ok((rest, ()))
}

/// `{manual, replicated}`.
fn last_tile_dims<'a>(input: Input<'a>, leaf: &mut Leaf) -> Outcome<'a, ()> {
    list(input, '{', '}', |input| {
        let (rest, found) = word(input)?;
        leaf.last_tile_dims.push(match found {
            "manual" => ShardingKind::Manual,
            "replicated" => ShardingKind::Replicated,
            "maximal" => ShardingKind::Maximal,
            "unreduced" => ShardingKind::Unreduced,
            _ => return expected(space(input), "`manual`, `replicated`, `maximal` or `unreduced`"),
        });
        Ok((rest, ()))
    })
}

/// `[2,1,4]<=[8]` or `[2,2]0,1,2,3`.
pub(super) fn tile_assignment<'a>(input: Input<'a>) -> Outcome<'a, (Vec<i64>, DeviceList)> {
    let mut dimensions = Vec::new();
    let (input, ()) = integers(input, '[', ']', &mut dimensions)?;
    let (input, devices) = device_list(input)?;
    Ok((input, (dimensions, devices)))
}

/// `<=[4,2]T(1,0)` or `0,1,2,3`.
pub(super) fn device_list<'a>(input: Input<'a>) -> Outcome<'a, DeviceList> {
    let input = space(input);
    if input.starts_with("<=") {
        return iota(split(input, 2).1);
    }
    let mut devices = Vec::new();
    let mut input = input;
    loop {
        let device;
        (input, device) = integer(input)?;
        devices.push(device);
        match eat(input, ',') {
            (rest, true) => input = rest,
            _ => return Ok((input, DeviceList::Explicit(devices))),
        }
    }
}

/// `[4,2]T(1,0)`: the transpose is there exactly if the reshape has more than one dimension.
pub(super) fn iota<'a>(input: Input<'a>) -> Outcome<'a, DeviceList> {
    let mut reshape = Vec::new();
    let mut transpose = Vec::new();
    let (mut input, ()) = integers(input, '[', ']', &mut reshape)?;
    let start = space(input);
    if reshape.len() > 1 {
        let (rest, found) = word(input)?;
        if found != "T" {
            return expected(start, "`T(..)`, the order of the dimensions");
        }
        (input, ()) = integers(rest, '(', ')', &mut transpose)?;
        if transpose.len() != reshape.len() {
            return problem(
                start,
                Kind::Count {
                    what: "dimensions in the transpose",
                    expected: reshape.len() as u32,
                    found: transpose.len() as u32,
                },
            );
        }
    }
    Ok((input, DeviceList::Iota { reshape, transpose }))
}

/// A list of integers.
pub(super) fn integers<'a>(
    input: Input<'a>,
    open: char,
    close: char,
    numbers: &mut Vec<i64>,
) -> Outcome<'a, ()> {
    list(input, open, close, |input| {
        let (input, number) = integer(input)?;
        numbers.push(number);
        Ok((input, ()))
    })
}

impl Leaf {
    fn finish(self) -> Result<Sharding<'static>, &'static str> {
        use ShardingKind::{Manual, Maximal, Replicated, Unknown, Unreduced};
        let kind = [
            (self.replicated, Replicated),
            (self.maximal, Maximal),
            (self.manual, Manual),
            (self.unknown, Unknown),
            (self.unreduced, Unreduced),
        ]
        .into_iter()
        .find_map(|(said, kind)| said.then_some(kind));
        match (kind, self.devices) {
            (Some(_), Some(_)) => Err("this sharding takes no devices"),
            (Some(Maximal), None) if self.device.is_none() => {
                Err("a maximal sharding needs `device=`")
            }
            (Some(kind), None) if kind != Maximal && self.device.is_some() => {
                let _ = kind;
                Err("only a maximal sharding has `device=`")
            }
            (Some(kind), None) => Ok(Sharding::Kind { kind, device: self.device }),
            (None, Some((dimensions, devices))) => {
                if dimensions.is_empty() {
                    return Err("a sharding over devices needs dimensions");
                }
                if matches!(&devices, DeviceList::Explicit(devices) if devices.len() < 2) {
                    return Err("a sharding over devices needs two devices or more");
                }
                let mut subgroups = self.last_tile_dims;
                if self.last_tile_dim_replicate {
                    subgroups.push(Replicated);
                }
                Ok(Sharding::Tiled(TileAssignment { dimensions, devices, subgroups }))
            }
            (None, None) if self.shard_group => Err("a shard group needs a sharding before it"),
            (None, None) => Err("a sharding needs `replicated`, `maximal`, `manual` or `devices=`"),
        }
    }
}
