//! An allocation while it is being filled, and whether a buffer may join it.

use super::analysis::Analysis;
use super::edits::Effective;
use super::sharing::Sharing;
use super::{AllocationKind, BufferId, LiveRange, ValueId};
use crate::hlo::Opcode;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;

/// An allocation before its number is known.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) kind: DraftKind,
    pub(super) lives_out: bool,
    pub(super) space: i64,
    pub(super) bytes: u64,
    /// Its values with their offsets.
    pub(super) members: SmallVec<[(ValueId, u64); 1]>,
    /// For temporaries: which members share one place.
    pub(super) groups: SmallVec<[Group; 1]>,
    /// When its values are alive, by start; only for allocations that others may join.
    busy: BTreeSet<(LiveRange, ValueId)>,
    /// Whether values overlap in it all the same (scratch): then `busy` is searched in full.
    overlaps: bool,
    holds_transferred: bool,
}

/// Members of a draft that take one place, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) bytes: u64,
    /// Positions in [`Draft::members`].
    pub(super) members: std::ops::Range<u32>,
}

/// Why a draft exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DraftKind {
    /// Placed before buffer assignment.
    Preset,
    Constant,
    /// An entry parameter that no result takes.
    ReadOnlyParameter(ValueId),
    /// A donated one.
    DonatedParameter(ValueId),
    ThreadLocal,
    TupleTable,
    /// A result, or scratch.
    Array,
    /// A heap.
    Heap,
    /// Stands for an allocation of another memory space while HBM alone is placed again.
    Elsewhere,
}

impl Draft {
    pub(super) fn new(kind: DraftKind, space: i64, bytes: u64) -> Draft {
        Draft {
            kind,
            lives_out: false,
            space,
            bytes,
            members: SmallVec::new(),
            groups: SmallVec::new(),
            busy: BTreeSet::new(),
            overlaps: false,
            holds_transferred: false,
        }
    }

    pub(super) fn is_temporary(&self) -> bool {
        !self.lives_out
            && matches!(
                self.kind,
                DraftKind::Preset
                    | DraftKind::TupleTable
                    | DraftKind::Array
                    | DraftKind::Heap
                    | DraftKind::Elsewhere
            )
    }

    /// The kind as the profile tells it.
    pub(super) fn allocation_kind(&self, analysis: &Analysis<'_, '_>) -> AllocationKind {
        match self.kind {
            DraftKind::Constant => AllocationKind::Constant,
            DraftKind::ThreadLocal => AllocationKind::ThreadLocal,
            DraftKind::ReadOnlyParameter(value) | DraftKind::DonatedParameter(value) => {
                let module = analysis.graph.module();
                let definition = analysis.values.definition(value);
                let shape = module.instruction(definition.instruction).shape;
                AllocationKind::Parameter {
                    number: module.parameter_number(definition.instruction).unwrap_or(0),
                    index: analysis.trees.index(&module.shapes, shape, definition.offset),
                }
            }
            _ => AllocationKind::Temporary,
        }
    }

    /// Adds all values of a buffer at offset 0.
    pub(super) fn add(
        &mut self,
        analysis: &Analysis<'_, '_>,
        effective: &Effective,
        buffer: BufferId,
    ) {
        let facts = &analysis.facts[buffer.0 as usize];
        let values = analysis.buffers.values(buffer);
        if self.kind == DraftKind::Array && !self.overlaps {
            self.add_group(effective.buffer_bytes(buffer), values, 0);
        } else {
            self.members.extend(values.iter().map(|&value| (value, 0)));
        }
        if self.overlaps {
            self.groups =
                smallvec![Group { bytes: self.bytes, members: 0..self.members.len() as u32 }];
        }
        for &value in values {
            if matches!(self.kind, DraftKind::Array | DraftKind::DonatedParameter(_))
                && let Some(range) = effective.range(value)
            {
                self.busy.insert((range, value));
            }
        }
        self.lives_out |= facts.lives_out;
        self.holds_transferred |= facts.must_not_live_out;
    }

    /// Adds members that take one place.
    pub(super) fn add_group(&mut self, bytes: u64, values: &[ValueId], offset: u64) {
        let from = self.members.len() as u32;
        self.members.extend(values.iter().map(|&value| (value, offset)));
        self.groups.push(Group { bytes, members: from..self.members.len() as u32 });
    }

    /// From now on values may overlap; they count as one.
    pub(super) fn allow_overlap(&mut self) {
        self.overlaps = true;
    }

    /// Whether a buffer may take a place in this allocation (XLA `BufferAssigner::MaybeAssignBuffer`).
    pub(super) fn admits(
        &self,
        analysis: &Analysis<'_, '_>,
        effective: &Effective,
        sharing: &mut Sharing<'_, '_>,
        buffer: BufferId,
    ) -> bool {
        let facts = &analysis.facts[buffer.0 as usize];
        let bytes = effective.buffer_bytes(buffer);
        matches!(self.kind, DraftKind::Array | DraftKind::DonatedParameter(_))
            && self.space == facts.space
            && bytes <= self.bytes
            && (!facts.lives_out || bytes == self.bytes)
            && !(facts.must_not_live_out && self.lives_out)
            && !(facts.lives_out && self.holds_transferred)
            && self.is_free_for(analysis, effective, sharing, analysis.buffers.values(buffer))
    }

    fn is_free_for(
        &self,
        analysis: &Analysis<'_, '_>,
        effective: &Effective,
        sharing: &mut Sharing<'_, '_>,
        values: &[ValueId],
    ) -> bool {
        for &new in values {
            let Some(range) = effective.range(new) else { return false };
            let last = (LiveRange { start: range.end, end: u32::MAX }, ValueId(u32::MAX));
            for &(present_range, present) in self.busy.range(..=last).rev() {
                if present_range.end < range.start {
                    if self.overlaps {
                        continue;
                    }
                    // Values here follow each other: all others end earlier still.
                    break;
                }
                if interferes(analysis, sharing, (new, range), (present, present_range)) {
                    return false;
                }
            }
        }
        true
    }
}

/// Whether two values whose ranges meet are in each other's way: not if the later one may take over
/// the place of the earlier one just when that ends.
fn interferes(
    analysis: &Analysis<'_, '_>,
    sharing: &mut Sharing<'_, '_>,
    (left, left_range): (ValueId, LiveRange),
    (right, right_range): (ValueId, LiveRange),
) -> bool {
    if left_range.start > right_range.end || right_range.start > left_range.end {
        return false;
    }
    let mut takes_over = |earlier: ValueId, later: ValueId| {
        let definition = analysis.values.definition(later);
        let last = analysis.ranges.last[earlier.0 as usize];
        analysis.graph.module().opcode(definition.instruction) != Opcode::Copy
            && sharing.can_share(last, definition.instruction, definition.offset)
    };
    // Where both touch, only the first side is asked.
    if left_range.end == right_range.start {
        !takes_over(left, right)
    } else {
        right_range.end != left_range.start || !takes_over(right, left)
    }
}
