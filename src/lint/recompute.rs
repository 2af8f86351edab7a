//! What XLA recomputes by itself, and what `jax.checkpoint` would leave of the values that a forward
//! pass keeps for the backward pass.

use super::{Context, Meta, is_backward};
use crate::hlo::{InstructionId, Opcode};
use crate::memory::{Edit, ValueId};
use crate::target::Backend;
use rustc_hash::FxHashSet;

/// Whether XLA made an instruction to compute a value again. What it only laid out more densely for a
/// while is no such value.
pub(super) fn is_recomputed(context: &Context<'_>, id: InstructionId) -> bool {
    is_of_remat(context, id) && !context.module.instruction(id).name.contains("compressed")
}

/// Whether an instruction is of XLA's own rematerialization (facts: names get `.remat`).
fn is_of_remat(context: &Context<'_>, id: InstructionId) -> bool {
    let moves_data = matches!(
        context.module.opcode(id),
        Opcode::GetTupleElement | Opcode::Bitcast | Opcode::Tuple
    );
    !moves_data && context.module.instruction(id).name.contains(".remat")
}

/// `XLA already recomputes 25 values by itself (names with .remat)`, where it does.
pub(super) fn recomputed_line(context: &Context<'_>) -> Option<String> {
    let count = context.profile.schedule.iter().filter(|&&id| is_of_remat(context, id)).count();
    let plural = if count == 1 { "" } else { "s" };
    (count > 0).then(|| {
        format!("XLA already recomputes {count} value{plural} by itself (names with .remat)")
    })
}

/// The edits that leave so many bytes of some kept values: the largest stand for what is kept
/// anyway (the inputs of the layers), the others are gone.
pub(super) fn keep_only(context: &Context<'_>, values: &[ValueId], keep_bytes: u64) -> Vec<Edit> {
    let mut largest_first: Vec<ValueId> = values.to_vec();
    let size = |id: ValueId| context.profile.value(id).size_bytes;
    largest_first.sort_by_key(|&id| (std::cmp::Reverse(size(id)), id));
    let mut left = keep_bytes;
    let mut seen = FxHashSet::default();
    let mut edits = Vec::with_capacity(largest_first.len());
    for id in largest_first {
        let buffer = context.profile.value(id).buffer;
        if !seen.insert(buffer) {
            continue;
        }
        let bytes = left.min(size(id));
        left -= bytes;
        edits.push(if bytes == 0 { Edit::Remove(buffer) } else { Edit::Shrink { buffer, bytes } });
    }
    edits
}

/// Whether bytes that cost compute to save are worth a word: where the capacity is not known, a
/// quarter of the program.
pub(super) fn is_worth_a_word(context: &Context<'_>, meta: &Meta, bytes: u64) -> bool {
    match context.capacity.capacity_bytes {
        Some(_) => context.exceeded_bytes() > 0 || context.is_material(meta, bytes),
        None => context.policy.backend != Backend::Cpu && bytes >= context.hbm().required_bytes / 4,
    }
}

/// Whether an instruction is named as one of the backward pass.
pub(super) fn is_in_backward(context: &Context<'_>, id: InstructionId) -> bool {
    context.module.metadata(id).is_some_and(|metadata| is_backward(metadata.op_name))
}

/// Whether an instruction only hands data on, so that its users are those of its operand.
pub(super) fn only_moves(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::GetTupleElement
            | Opcode::Tuple
            | Opcode::Bitcast
            | Opcode::Reshape
            | Opcode::Transpose
            | Opcode::Copy
            | Opcode::CopyStart
            | Opcode::CopyDone
            | Opcode::OptBarrier
    )
}
