//! The buffers of HBM as rules of sizes and patterns look at them: one value that stands for each,
//! how large it is, whether it is there at the peak; equal ones in groups.

use super::{Context, Finding, Kind, Level, Meta};
use crate::config::total_bytes;
use crate::graph::ComputationKind;
use crate::hlo::{ArrayShape, ShapeId};
use crate::memory::{AllocationKind, BufferId, Exactness, Value, ValueId};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A buffer in HBM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The buffer.
    pub(super) buffer: BufferId,
    /// The first of its largest values.
    pub(super) value: ValueId,
    /// The shape of that value, an array.
    pub(super) shape: ShapeId,
    /// Its size, padding included.
    pub(super) size_bytes: u64,
    /// The bytes of data in it.
    pub(super) unpadded_bytes: u64,
    /// Whether it takes part in the peak: alive there, or for the whole program.
    pub(super) at_peak: bool,
}

impl Held {
    /// What padding costs.
    pub(super) fn wasted_bytes(&self) -> u64 {
        self.size_bytes.saturating_sub(self.unpadded_bytes)
    }

    /// The array.
    pub(super) fn array<'c>(&self, context: &'c Context<'_>) -> Option<&'c ArrayShape> {
        context.module.shapes.get(self.shape).array()
    }
}

/// Every buffer of arrays in HBM, of at least so many bytes, in the order of their ids. In a text
/// without a schedule, where nothing is placed, those with tiles: their layouts are decided.
pub(super) fn held<'c>(
    context: &'c Context<'_>,
    min_bytes: u64,
) -> impl Iterator<Item = Held> + 'c {
    let profile = context.profile;
    let is_scheduled = profile.exactness != Exactness::LowerBound;
    profile.buffers.iter().enumerate().filter_map(move |(at, buffer)| {
        if buffer.size_bytes < min_bytes.max(1) {
            return None;
        }
        let values = || buffer.values.iter().map(|&id| (id, profile.value(id)));
        let (id, value) = values().find(|(_, value)| {
            let exists = value.place.is_some() || (!is_scheduled && is_tiled(context, value));
            value.memory_space == 0 && value.size_bytes == buffer.size_bytes && exists
        })?;
        context.module.shapes.get(value.shape).array()?;
        let allocation = value.place.map(|place| profile.allocation(place.allocation));
        if allocation.is_some_and(|of| of.kind == AllocationKind::ThreadLocal) {
            return None;
        }
        let is_whole_program = is_scheduled && allocation.is_some_and(|of| !of.is_temporary());
        Some(Held {
            buffer: BufferId(at as u32),
            value: id,
            shape: value.shape,
            size_bytes: value.size_bytes,
            unpadded_bytes: values().map(|(_, value)| value.unpadded_bytes).max()?,
            at_peak: is_whole_program || values().any(|(_, value)| context.is_alive_at_peak(value)),
        })
    })
}

/// Whether a value of the program proper has a layout with tiles.
fn is_tiled(context: &Context<'_>, value: &Value) -> bool {
    let computation = context.module.instruction(value.instruction).computation;
    let array = context.module.shapes.get(value.shape).array();
    context.graph.kind(computation) == ComputationKind::Control
        && array.and_then(|array| array.layout.as_deref()).is_some_and(|of| !of.tiles.is_empty())
}

/// Buffers that a rule speaks of together.
#[derive(Clone, Debug, Default)]
pub(super) struct Together {
    /// Those that count: at the peak, or where none is, the largest alone.
    pub(super) members: Vec<Held>,
    /// Whether they are at the peak.
    pub(super) at_peak: bool,
}

impl Together {
    /// What counts of some buffers.
    pub(super) fn of(members: Vec<Held>) -> Option<Together> {
        let at_peak: Vec<Held> = members.iter().copied().filter(|held| held.at_peak).collect();
        if !at_peak.is_empty() {
            return Some(Together { members: at_peak, at_peak: true });
        }
        let largest =
            members.into_iter().max_by_key(|held| (held.size_bytes, std::cmp::Reverse(held.value)));
        Some(Together { members: vec![largest?], at_peak: false })
    }

    /// The first, which stands for all.
    pub(super) fn first(&self) -> Option<&Held> {
        self.members.first()
    }

    /// Bytes of all, padding included.
    pub(super) fn size_bytes(&self) -> u64 {
        total_bytes(self.members.iter().map(|held| held.size_bytes))
    }

    /// Bytes of data in all.
    pub(super) fn unpadded_bytes(&self) -> u64 {
        total_bytes(self.members.iter().map(|held| held.unpadded_bytes))
    }

    /// What padding costs in all.
    pub(super) fn wasted_bytes(&self) -> u64 {
        total_bytes(self.members.iter().map(Held::wasted_bytes))
    }

    /// The buffers.
    pub(super) fn buffers(&self) -> Vec<BufferId> {
        self.members.iter().map(|held| held.buffer).collect()
    }

    /// The form of a verb for one or for several.
    pub(super) fn verb<'w>(&self, one: &'w str, several: &'w str) -> &'w str {
        if self.members.len() == 1 { one } else { several }
    }

    /// `2 x ` where there are two; nothing before one.
    pub(super) fn times(&self) -> String {
        match self.members.len() {
            1 => String::new(),
            count => format!("{count} x "),
        }
    }
}

/// The groups that a rule speaks of: buffers of equal key that are at the peak, of enough bytes, those
/// with the most first. Without a schedule nobody knows of the peak, and the largest of a key counts.
pub(super) fn at_peak<K: Eq + Hash>(
    context: &Context<'_>,
    meta: &Meta,
    held: impl Iterator<Item = (K, Held)>,
    bytes: impl Fn(&Together) -> u64,
) -> Vec<Together> {
    let mut groups = grouped(held, &bytes);
    let is_scheduled = context.profile.exactness != Exactness::LowerBound;
    groups.retain(|group| {
        (group.at_peak || !is_scheduled) && is_worth_a_word(context, meta, bytes(group))
    });
    groups
}

/// Buffers of equal key together, those with the most bytes first.
pub(super) fn grouped<K: Eq + Hash>(
    held: impl Iterator<Item = (K, Held)>,
    bytes: impl Fn(&Together) -> u64,
) -> Vec<Together> {
    let mut places: FxHashMap<K, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<Held>> = Vec::new();
    for (key, one) in held {
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let mut groups: Vec<Together> = groups.into_iter().filter_map(Together::of).collect();
    groups.sort_by_key(|group| {
        let first = group.first().map(|held| held.value);
        (!group.at_peak, std::cmp::Reverse(bytes(group)), first)
    });
    groups
}

/// A finding about a group: its first buffer's instruction, line and shape, and the bytes of all. What
/// costs compute to save is a note where it is little of what the program needs.
pub(super) fn finding_about(
    context: &Context<'_>,
    meta: &Meta,
    group: &Together,
) -> Option<Finding> {
    let first = group.first()?;
    let value = context.profile.value(first.value);
    let (origin, source) = context.origin(value);
    let mut finding = context.finding(meta, Some(origin));
    finding.instruction = Some(context.module.instruction(value.instruction).name.to_owned());
    finding.source = source.or_else(|| context.source_near(value.instruction));
    finding.shape = Some(context.shape_text(first.shape));
    finding.bytes = group.size_bytes();
    finding.buffers = group.buffers();
    if meta.kind == Kind::Trade && !is_much(context, finding.bytes) {
        finding.level = Level::Note;
    }
    Some(finding)
}

/// Whether bytes are at least a twentieth of what the program needs.
fn is_much(context: &Context<'_>, bytes: u64) -> bool {
    bytes >= context.hbm().required_bytes / 20
}

/// Whether bytes are a share of the chip's HBM that matters to a rule, or a twentieth of what the
/// program needs: less is not worth a note either.
pub(super) fn is_worth_a_word(context: &Context<'_>, meta: &Meta, bytes: u64) -> bool {
    context.is_material(meta, bytes) || is_much(context, bytes)
}
