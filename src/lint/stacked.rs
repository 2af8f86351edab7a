//! Buffers that a loop fills one slice an iteration: what `lax.scan` keeps.

use super::cause::is_backward_name;
use super::{Context, Source};
use crate::hlo::{ArrayShape, ComputationId, InstructionId, Module, Opcode};
use crate::memory::Value;
use smallvec::SmallVec;

/// A buffer that a loop fills one slice an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Stacked {
    /// The loop that fills it.
    pub filled_by: InstructionId,
    /// How many slices it has.
    pub iterations: u64,
    /// Whether a later loop of the backward pass reads it.
    pub for_backward: bool,
    /// The line of the loop.
    pub source: Option<Source>,
}

/// The most steps that are followed from a loop's result to the update that makes it.
const STEPS: usize = 32;

/// How a value is filled, where its buffer is filled one slice an iteration.
pub(super) fn stacked(context: &Context<'_>, value: &Value) -> Option<Stacked> {
    let module = context.module;
    let buffer = context.profile.buffer(value.buffer);
    let mut found: Option<(InstructionId, u64)> = None;
    let mut loops: SmallVec<[InstructionId; 4]> = SmallVec::new();
    for &id in &buffer.values {
        let member = context.profile.value(id);
        let computation = module.instruction(member.instruction).computation;
        let Some(around) = context.graph.loop_of(computation).filter(|l| l.body == computation)
        else {
            continue;
        };
        loops.push(around.instruction);
        if found.is_none()
            && let Some(iterations) = slices(module, member.instruction, &member.index)
        {
            found = Some((around.instruction, iterations));
        }
    }
    let (filled_by, iterations) = found?;
    let is_backward = |id: InstructionId| {
        module.metadata(id).is_some_and(|metadata| is_backward_name(metadata.op_name))
    };
    // A loop that reads it shares its memory, unless a copy stands between.
    let for_backward = loops.iter().any(|&id| id != filled_by && is_backward(id))
        || !is_backward(filled_by) && context.backward_loops.iter().any(|&id| id != filled_by);
    Some(Stacked { filled_by, iterations, for_backward, source: context.source(filled_by) })
}

/// How many slices a value has, where its instruction writes one of them into its operand.
fn slices(module: &Module<'_>, instruction: InstructionId, index: &[u32]) -> Option<u64> {
    let (mut at, mut element) = (instruction, index.first().copied());
    for _ in 0..STEPS {
        let operands = module.operands(at);
        match module.opcode(at) {
            Opcode::Fusion => at = module.computation(called(module, at)?).root,
            Opcode::Tuple => at = *operands.get(usize::try_from(element.take()?).ok()?)?,
            Opcode::Bitcast | Opcode::Copy => at = *operands.first()?,
            Opcode::DynamicUpdateSlice => {
                let whole = module.shape(at).array()?;
                let slice = module.shape(*operands.get(1)?).array()?;
                return slice_count(whole, slice);
            }
            _ => return None,
        }
    }
    None
}

fn called(module: &Module<'_>, id: InstructionId) -> Option<ComputationId> {
    module.calls(id).next().map(|(_, computation)| computation)
}

/// The size of the one dimension in which a slice is 1 and the whole is not.
fn slice_count(whole: &ArrayShape, slice: &ArrayShape) -> Option<u64> {
    if whole.dimensions.len() != slice.dimensions.len() {
        return None;
    }
    let mut cut = whole
        .dimensions
        .iter()
        .zip(&slice.dimensions)
        .filter(|(whole, slice)| whole.size != slice.size);
    let (dimension, part) = cut.next()?;
    (part.size == 1 && cut.next().is_none()).then_some(dimension.size)
}
