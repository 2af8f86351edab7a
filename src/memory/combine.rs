//! The final list of allocations: temporaries to the back, those of one memory space joined (facts:
//! tpu-memory section 7; XLA `BufferAssignment::CombineTempAllocations`).

use super::MemoryError;
use super::draft::{Draft, DraftKind, Group};
use crate::target::Policy;
use std::collections::BTreeMap;

/// Partitions the list in place and joins temporaries.
pub(super) fn combine(mut drafts: Vec<Draft>, policy: &Policy) -> Result<Vec<Draft>, MemoryError> {
    let first_temporary = partition(&mut drafts);
    let temporaries = drafts.split_off(first_temporary);
    let mut of_space: BTreeMap<i64, usize> = BTreeMap::new();
    for mut draft in temporaries {
        if draft.kind == DraftKind::Elsewhere {
            continue;
        }
        match of_space.get(&draft.space) {
            None => {
                of_space.insert(draft.space, drafts.len());
                drafts.push(draft);
            }
            Some(&at) => {
                let into = &mut drafts[at];
                let base = into
                    .bytes
                    .checked_next_multiple_of(policy.alignment_bytes(into.space))
                    .ok_or(MemoryError::TooLarge)?;
                into.bytes = base.checked_add(draft.bytes).ok_or(MemoryError::TooLarge)?;
                let first = into.members.len() as u32;
                into.groups.extend(draft.groups.drain(..).map(|group| Group {
                    bytes: group.bytes,
                    members: group.members.start + first..group.members.end + first,
                }));
                let moved = draft.members.drain(..);
                into.members.extend(moved.map(|(value, offset)| (value, base + offset)));
                if into.kind != DraftKind::Preset {
                    into.kind = DraftKind::Heap;
                }
            }
        }
    }
    Ok(drafts)
}

/// Non-temporaries to the front by two fingers: the first temporary and the last non-temporary swap
/// places until the fingers meet. Returns where the temporaries start.
fn partition(drafts: &mut [Draft]) -> usize {
    let (mut front, mut back) = (0, drafts.len());
    loop {
        while front < back && !drafts[front].is_temporary() {
            front += 1;
        }
        while front < back && drafts[back - 1].is_temporary() {
            back -= 1;
        }
        if front >= back {
            return front;
        }
        drafts.swap(front, back - 1);
        front += 1;
        back -= 1;
    }
}
