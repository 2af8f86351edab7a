//! The attempts of a compiler release, and which one is kept; the profile made of it (facts:
//! tpu-memory sections 6 "Fallback rule", 11.5 and 12).

use super::analysis::{Analysis, is_scheduled};
use super::assign::assign;
use super::combine::combine;
use super::draft::{Draft, DraftKind};
use super::edits::{Edit, Effective};
use super::unscheduled::lower_bound;
use super::usage::usage;
use super::{
    Allocation, AllocationId, Buffer, Exactness, MemoryError, MemoryProfile, Slice, Value, ValueId,
};
use crate::target::{Otherwise, Rules};

impl Analysis<'_, '_> {
    /// Assigns memory, after edits, and sums up.
    ///
    /// # Errors
    /// Sizes that overflow.
    pub fn profile(&self, edits: &[Edit]) -> Result<MemoryProfile, MemoryError> {
        let effective = Effective::new(self, edits);
        if !is_scheduled(self.graph) {
            return Ok(lower_bound(self, &effective));
        }
        let drafts = best_attempt(self, &effective)?;
        Ok(profile(self, &effective, &drafts))
    }
}

/// Makes one attempt after the other until one stays below the limit less the margin.
fn best_attempt(
    analysis: &Analysis<'_, '_>,
    effective: &Effective,
) -> Result<Vec<Draft>, MemoryError> {
    let policy = &analysis.policy;
    let bound = policy.limit_bytes.map(|limit| limit.saturating_sub(Rules::MARGIN_BYTES));
    let mut best: Option<(u64, Vec<Draft>)> = None;
    let mut elsewhere: Option<(usize, Vec<Draft>)> = None;
    for &attempt in policy.rules.attempts {
        let drafts = if attempt.hbm_only {
            let (count, others) = elsewhere.get_or_insert_with(|| split_off_hbm(&best));
            let hbm = combine(assign(analysis, effective, attempt, Some(*count))?, policy)?;
            others.iter().cloned().chain(hbm).collect()
        } else {
            combine(assign(analysis, effective, attempt, None)?, policy)?
        };
        let total = hbm_total(&drafts)?;
        let is_below = bound.is_none_or(|bound| total <= bound);
        let is_better = match (&best, policy.rules.otherwise) {
            (None, _) | (_, Otherwise::Last) => true,
            (Some((smallest, _)), Otherwise::Smallest) => is_below || total < *smallest,
        };
        if is_better {
            best = Some((total, drafts));
        }
        if is_below {
            break;
        }
    }
    Ok(best.map(|(_, drafts)| drafts).unwrap_or_default())
}

/// What the first attempt placed outside HBM, and how many of it are temporary.
fn split_off_hbm(first: &Option<(u64, Vec<Draft>)>) -> (usize, Vec<Draft>) {
    let drafts = first.iter().flat_map(|(_, drafts)| drafts);
    let others: Vec<Draft> = drafts.filter(|draft| draft.space != 0).cloned().collect();
    (others.iter().filter(|draft| draft.is_temporary()).count(), others)
}

/// HBM of all allocations but thread-local ones.
fn hbm_total(drafts: &[Draft]) -> Result<u64, MemoryError> {
    drafts
        .iter()
        .filter(|draft| draft.space == 0 && draft.kind != DraftKind::ThreadLocal)
        .try_fold(0_u64, |sum, draft| sum.checked_add(draft.bytes))
        .ok_or(MemoryError::TooLarge)
}

fn profile(analysis: &Analysis<'_, '_>, effective: &Effective, drafts: &[Draft]) -> MemoryProfile {
    let mut profile = unplaced(analysis, effective);
    profile.spaces = usage(analysis, effective, drafts);
    for (at, draft) in drafts.iter().enumerate() {
        let allocation = AllocationId(at as u32);
        let mut values: Vec<ValueId> = Vec::with_capacity(draft.members.len());
        for &(value, offset_bytes) in &draft.members {
            profile.values[value.0 as usize].place = Some(Slice { allocation, offset_bytes });
            values.push(value);
        }
        values.sort_unstable();
        profile.allocations.push(Allocation {
            kind: draft.allocation_kind(analysis),
            maybe_live_out: draft.lives_out,
            is_tuple: draft.kind == DraftKind::TupleTable,
            is_preset: draft.kind == DraftKind::Preset,
            memory_space: draft.space,
            size_bytes: draft.bytes,
            values,
        });
    }
    profile
}

/// A profile whose values have no place yet.
pub(super) fn unplaced(analysis: &Analysis<'_, '_>, effective: &Effective) -> MemoryProfile {
    let module = analysis.graph.module();
    let is_scheduled = is_scheduled(analysis.graph);
    let value = |at: usize| {
        let id = ValueId(at as u32);
        let definition = analysis.values.definition(id);
        let shape = analysis.shape_of(id);
        let whole = module.instruction(definition.instruction).shape;
        Value {
            instruction: definition.instruction,
            index: analysis.trees.index(&module.shapes, whole, definition.offset),
            is_phi: definition.is_phi,
            shape,
            size_bytes: effective.value_bytes(id),
            unpadded_bytes: analysis.sizes.unpadded[shape.index()],
            memory_space: analysis.sizes.space[at],
            live: effective.range(id).filter(|_| is_scheduled),
            buffer: analysis.buffers.of[at],
            place: None,
        }
    };
    let buffer = |id| Buffer {
        values: analysis.buffers.values(id).into(),
        size_bytes: effective.buffer_bytes(id),
    };
    let caveats = analysis.policy.caveats.clone();
    MemoryProfile {
        exactness: if caveats.is_empty() { Exactness::Exact } else { Exactness::Estimate },
        caveats,
        schedule: if is_scheduled { analysis.schedule.order.clone() } else { Vec::new() },
        values: (0..analysis.values.len()).map(value).collect(),
        buffers: analysis.buffers.ids().map(buffer).collect(),
        allocations: Vec::new(),
        spaces: Vec::new(),
    }
}
