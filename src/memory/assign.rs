//! One attempt at assigning memory: static allocations, heaps, thread-local ones, in XLA's order
//! before they are combined (facts: tpu-memory sections 4, 6 and 11; XLA `BufferAssigner`).

use super::analysis::Analysis;
use super::draft::{Draft, DraftKind};
use super::edits::Effective;
use super::events;
use super::heap::{self, Algorithm, Item, Ticks};
use super::reuse::ReuseList;
use super::sharing::Sharing;
use super::{BufferId, MemoryError};
use crate::target::tpu::space;
use crate::target::{Attempt, BufferOrder};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Assigns memory once. With `elsewhere`, HBM alone is placed, and as many empty allocations stand
/// at the front for what the first attempt placed elsewhere.
pub(super) fn assign(
    analysis: &Analysis<'_, '_>,
    effective: &Effective,
    attempt: Attempt,
    elsewhere: Option<usize>,
) -> Result<Vec<Draft>, MemoryError> {
    let mut assigner = Assigner {
        analysis,
        effective,
        sharing: Sharing::new(analysis),
        attempt,
        drafts: Vec::new(),
        draft_of: vec![None; analysis.buffers.len()],
        reusable: ReuseList::new(analysis.schedule.end()),
        place_of: Vec::new(),
        scratch: Vec::new(),
        waiting: BTreeMap::new(),
    };
    let is_placed = |space: i64| elsewhere.is_none() || space == 0;
    let (mut scheduled, mut embedded, mut preset) = (Vec::new(), Vec::new(), Vec::new());
    for buffer in analysis.buffers.ids() {
        let facts = &analysis.facts[buffer.0 as usize];
        if effective.is_removed(buffer) || !is_placed(facts.space) {
            continue;
        }
        if facts.is_embedded {
            embedded.push(buffer);
        } else if assigner.is_preset(buffer) {
            preset.push(buffer);
        } else {
            scheduled.push(buffer);
        }
    }
    match elsewhere {
        Some(count) => {
            let empty = Draft::new(DraftKind::Elsewhere, i64::MAX, 0);
            assigner.drafts.resize(count, empty);
        }
        None => assigner.add_presets(&preset)?,
    }
    assigner.assign_static(scheduled);
    assigner.pack_heaps()?;
    assigner.add_thread_local(embedded);
    Ok(assigner.drafts)
}

struct Assigner<'a, 'g, 'm> {
    analysis: &'a Analysis<'g, 'm>,
    effective: &'a Effective,
    sharing: Sharing<'a, 'm>,
    attempt: Attempt,
    drafts: Vec<Draft>,
    /// Per buffer its draft.
    draft_of: Vec<Option<u32>>,
    /// Drafts that other buffers may join: results and donated parameters.
    reusable: ReuseList,
    /// Per draft its place there.
    place_of: Vec<Option<u32>>,
    /// Drafts of scratch in HBM.
    scratch: Vec<u32>,
    /// Buffers that wait for a heap, by memory space.
    waiting: BTreeMap<i64, Vec<BufferId>>,
}

impl Assigner<'_, '_, '_> {
    /// Whether a buffer was placed before buffer assignment: by memory space assignment, or as
    /// scratch of an async-update outside HBM.
    fn is_preset(&self, buffer: BufferId) -> bool {
        let facts = &self.analysis.facts[buffer.0 as usize];
        self.analysis.policy.is_preset(facts.space)
            || (facts.is_scratch && space::holds_placed_scratch(facts.space))
    }

    /// One allocation a memory space. Offsets of VMEM are not in the text: packing them by fast
    /// merge gives an estimate.
    fn add_presets(&mut self, preset: &[BufferId]) -> Result<(), MemoryError> {
        let mut by_space: BTreeMap<i64, Vec<BufferId>> =
            self.analysis.policy.preset_spaces().iter().map(|&space| (space, Vec::new())).collect();
        for &buffer in preset {
            let space = self.analysis.facts[buffer.0 as usize].space;
            by_space.entry(space).or_default().push(buffer);
        }
        for (memory_space, buffers) in by_space {
            let mut draft = Draft::new(DraftKind::Preset, memory_space, 0);
            if space::holds_placed_scratch(memory_space) {
                draft.bytes =
                    buffers.iter().map(|&id| self.effective.buffer_bytes(id)).max().unwrap_or(0);
                for &id in &buffers {
                    let bytes = self.effective.buffer_bytes(id);
                    draft.add_group(bytes, self.analysis.buffers.values(id), 0);
                }
            } else {
                self.estimate_preset(&mut draft, &buffers)?;
            }
            self.place(draft, &buffers);
        }
        Ok(())
    }

    fn estimate_preset(&self, draft: &mut Draft, buffers: &[BufferId]) -> Result<(), MemoryError> {
        let mut items = Vec::new();
        for &buffer in buffers {
            let mut members = smallvec::SmallVec::new();
            for &value in self.analysis.buffers.values(buffer) {
                if let Some(range) = self.effective.range(value) {
                    // A value ends before the next one starts, also at one program point.
                    let (start, end) = (u64::from(range.start) * 2, u64::from(range.end) * 2 + 1);
                    let tick = |point: u64| u32::try_from(point).unwrap_or(u32::MAX);
                    members.push(Ticks { start: tick(start), end: tick(end) });
                }
            }
            let bytes = self.effective.buffer_bytes(buffer);
            items.push(Item { own_bytes: bytes, bytes, members, id: buffer.0 });
        }
        let alignment = self.analysis.policy.alignment_bytes(draft.space);
        let packing =
            heap::pack(&items, Algorithm::FastMerge, alignment).ok_or(MemoryError::TooLarge)?;
        draft.bytes = packing.bytes;
        for ((&buffer, &offset), item) in buffers.iter().zip(&packing.offsets).zip(&items) {
            draft.add_group(item.bytes, self.analysis.buffers.values(buffer), offset);
        }
        Ok(())
    }

    /// Adds a finished draft for some buffers.
    fn place(&mut self, draft: Draft, buffers: &[BufferId]) -> u32 {
        let at = self.drafts.len() as u32;
        for buffer in buffers {
            self.draft_of[buffer.0 as usize] = Some(at);
        }
        self.drafts.push(draft);
        at
    }

    fn assign_static(&mut self, mut buffers: Vec<BufferId>) {
        self.sort(&mut buffers, self.attempt.order);
        for buffer in buffers {
            self.assign_one(buffer);
        }
    }

    fn sort(&self, buffers: &mut [BufferId], order: BufferOrder) {
        buffers.sort_by_cached_key(|&buffer| {
            let facts = &self.analysis.facts[buffer.0 as usize];
            let start = match order {
                BufferOrder::BySize => None,
                BufferOrder::ByStart => self
                    .analysis
                    .buffers
                    .values(buffer)
                    .iter()
                    .filter_map(|&value| self.effective.range(value))
                    .map(|range| range.start)
                    .min(),
            };
            // Buffers are numbered by their smallest value.
            let bytes = Reverse(self.effective.buffer_bytes(buffer));
            (start, bytes, !facts.lives_out, facts.rank, buffer)
        });
    }

    fn assign_one(&mut self, buffer: BufferId) {
        let facts = self.analysis.facts[buffer.0 as usize];
        let bytes = self.effective.buffer_bytes(buffer);
        if facts.has_constant {
            self.place_new(DraftKind::Constant, buffer);
            return;
        }
        if self.effective.is_donated(buffer) {
            // Placed with the parameter whose memory it takes.
            return;
        }
        if let Some(parameter) = facts.parameter {
            let donated: Vec<BufferId> = self.effective.donated(buffer).collect();
            if facts.lives_out || !donated.is_empty() {
                let at = self.place_new(DraftKind::DonatedParameter(parameter), buffer);
                self.offer(at);
                for output in donated {
                    let bytes = self.effective.buffer_bytes(output);
                    let draft = &mut self.drafts[at as usize];
                    draft.bytes = draft.bytes.max(bytes);
                    self.join(at, output);
                }
            } else {
                self.place_new(DraftKind::ReadOnlyParameter(parameter), buffer);
            }
            return;
        }
        if facts.is_table {
            self.place_new(DraftKind::TupleTable, buffer);
            return;
        }
        if facts.is_scratch && facts.space == 0 && bytes > 0 {
            self.place_scratch(buffer);
            return;
        }
        if self.join_operand(buffer) || self.join_reusable(buffer) {
            return;
        }
        if facts.lives_out {
            let at = self.place_new(DraftKind::Array, buffer);
            self.offer(at);
        } else {
            self.waiting.entry(facts.space).or_default().push(buffer);
        }
    }

    fn place_new(&mut self, kind: DraftKind, buffer: BufferId) -> u32 {
        let facts = &self.analysis.facts[buffer.0 as usize];
        let mut draft = Draft::new(kind, facts.space, self.effective.buffer_bytes(buffer));
        draft.add(self.analysis, self.effective, buffer);
        self.place(draft, &[buffer])
    }

    /// Scratch in HBM goes into an earlier scratch allocation that is large enough, else gets one
    /// of its own (facts: section 11.6).
    fn place_scratch(&mut self, buffer: BufferId) {
        let bytes = self.effective.buffer_bytes(buffer);
        let ranges_matter = self.attempt.order == BufferOrder::BySize;
        let found = self.scratch.iter().copied().find(|&at| {
            let draft = &self.drafts[at as usize];
            bytes <= draft.bytes
                && (!ranges_matter
                    || draft.admits(self.analysis, self.effective, &mut self.sharing, buffer))
        });
        match found {
            Some(at) => {
                self.drafts[at as usize].allow_overlap();
                self.join(at, buffer);
            }
            None => {
                let at = self.place_new(DraftKind::Array, buffer);
                self.scratch.push(at);
                self.offer(at);
            }
        }
    }

    fn join(&mut self, at: u32, buffer: BufferId) {
        self.drafts[at as usize].add(self.analysis, self.effective, buffer);
        self.draft_of[buffer.0 as usize] = Some(at);
        if let Some(&Some(place)) = self.place_of.get(at as usize) {
            for &value in self.analysis.buffers.values(buffer) {
                if let Some(range) = self.effective.range(value) {
                    self.reusable.occupy(place as usize, range);
                }
            }
        }
    }

    /// From now on other buffers may join an allocation.
    fn offer(&mut self, at: u32) {
        let place = self.reusable.push(at);
        self.place_of.resize(self.drafts.len(), None);
        self.place_of[at as usize] = Some(place as u32);
        for &(value, _) in &self.drafts[at as usize].members {
            if let Some(range) = self.effective.range(value) {
                self.reusable.occupy(place, range);
            }
        }
    }

    fn try_join(&mut self, at: u32, buffer: BufferId) -> bool {
        let draft = &self.drafts[at as usize];
        let admitted = draft.admits(self.analysis, self.effective, &mut self.sharing, buffer);
        if admitted {
            self.join(at, buffer);
        }
        admitted
    }

    /// An array that an instruction defines as its whole result joins an operand's allocation.
    fn join_operand(&mut self, buffer: BufferId) -> bool {
        let analysis = self.analysis;
        for &value in analysis.buffers.values(buffer) {
            let definition = analysis.values.definition(value);
            if definition.offset != 0 {
                continue;
            }
            for &operand in analysis.graph.module().operands(definition.instruction) {
                let draft = analysis.values.at(operand, 0).and_then(|held| {
                    self.draft_of[analysis.buffers.of[held.0 as usize].0 as usize]
                });
                if draft.is_some_and(|at| self.try_join(at, buffer)) {
                    return true;
                }
            }
        }
        false
    }

    /// A buffer joins the memory of a result, a donated parameter or scratch, the latest first. In the
    /// order by start a temporary joins scratch only.
    fn join_reusable(&mut self, buffer: BufferId) -> bool {
        let lives_out = self.analysis.facts[buffer.0 as usize].lives_out;
        if self.attempt.order == BufferOrder::ByStart && !lives_out {
            return (0..self.scratch.len()).rev().any(|at| self.try_join(self.scratch[at], buffer));
        }
        let values = self.analysis.buffers.values(buffer);
        let ranges = values.iter().filter_map(|&value| self.effective.range(value));
        let wanted = self.reusable.wanted(ranges);
        let mut before = usize::MAX;
        while let Some(place) = self.reusable.last_open(before, &wanted) {
            if self.try_join(self.reusable.draft(place), buffer) {
                return true;
            }
            before = place;
        }
        false
    }

    /// One heap a memory space, ascending.
    fn pack_heaps(&mut self) -> Result<(), MemoryError> {
        let mut memory = events::Memory::new(self.analysis);
        for (memory_space, buffers) in std::mem::take(&mut self.waiting) {
            let events = events::replay(
                self.analysis,
                self.effective,
                &mut self.sharing,
                &mut memory,
                &buffers,
            )?;
            let algorithm = if self.attempt.fast_merge.serves(memory_space) {
                Algorithm::FastMerge
            } else {
                Algorithm::BestOfSpatialAndTemporal
            };
            let alignment = self.analysis.policy.alignment_bytes(memory_space);
            let packing =
                heap::pack(&events.items, algorithm, alignment).ok_or(MemoryError::TooLarge)?;
            let mut draft = Draft::new(DraftKind::Heap, memory_space, packing.bytes);
            let placed = events.values.iter().zip(&events.items).zip(&packing.offsets);
            for ((values, item), &offset) in placed {
                draft.add_group(item.bytes, values, offset);
            }
            let without_bytes = buffers.iter().flat_map(|&id| self.analysis.buffers.values(id));
            let without_bytes =
                without_bytes.filter(|&&value| self.effective.value_bytes(value) == 0);
            draft.members.extend(without_bytes.map(|&value| (value, 0)));
            self.place(draft, &buffers);
        }
        Ok(())
    }

    /// Values of computations that are applied to elements: an allocation a buffer, in the old order.
    fn add_thread_local(&mut self, mut buffers: Vec<BufferId>) {
        self.sort(&mut buffers, BufferOrder::BySize);
        for buffer in buffers {
            let facts = &self.analysis.facts[buffer.0 as usize];
            let kind =
                if facts.has_constant { DraftKind::Constant } else { DraftKind::ThreadLocal };
            self.place_new(kind, buffer);
        }
    }
}
