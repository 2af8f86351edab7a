//! What a smaller batch would leave: every array with a dimension of the batch, cut and padded again.

use super::upstream::argument_upstream;
use super::{Context, Remedy};
use crate::config::total_bytes;
use crate::hlo::{ArrayShape, Dimension};
use crate::memory::{AllocationKind, BufferId, Edit, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The batch of a program, as far as it can be told.
pub struct Batch {
    size: u64,
    /// The buffers with a dimension of the batch, which one.
    buffers: Vec<(BufferId, ArrayShape, usize)>,
}

impl Batch {
    /// The first dimension of an argument that is neither updated nor a weight, the one that most
    /// bytes of the peak have. `None` where there is none, or only one row.
    pub fn of(context: &Context<'_>) -> Option<Batch> {
        let sizes = input_sizes(context);
        let mut bytes: FxHashMap<u64, u64> = FxHashMap::default();
        for one in &context.alive {
            let shape = context.profile.value(one.value).shape;
            let dimensions = context.module.shapes.get(shape).array().map(|a| &a.dimensions);
            let of_batch: FxHashSet<u64> = dimensions
                .into_iter()
                .flatten()
                .map(|dimension| dimension.size)
                .filter(|size| sizes.contains(size))
                .collect();
            for size in of_batch {
                let held = bytes.entry(size).or_default();
                *held = held.saturating_add(one.size_bytes);
            }
        }
        let (size, held) = bytes.into_iter().max_by_key(|&(size, bytes)| (bytes, size))?;
        if held == 0 {
            return None;
        }
        let batch = Batch { size, buffers: buffers(context, size) };
        (batch.inputs_bytes(context) <= context.hbm().required_bytes / 4).then_some(batch)
    }

    /// Bytes of the arguments that are cut. Where they are much of the program, they may as well be
    /// weights.
    fn inputs_bytes(&self, context: &Context<'_>) -> u64 {
        let of_batch: FxHashSet<BufferId> =
            self.buffers.iter().map(|(buffer, ..)| *buffer).collect();
        let inputs = context.profile.allocations.iter().filter(|allocation| {
            let mut values = allocation.values.iter().map(|&id| context.profile.value(id));
            matches!(allocation.kind, AllocationKind::Parameter { .. })
                && values.any(|value| of_batch.contains(&value.buffer))
        });
        total_bytes(inputs.map(|allocation| allocation.size_bytes))
    }

    /// How many rows there are.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What becomes of the buffers with fewer rows, on top of other edits: what those shrink is smaller
    /// by as much.
    pub fn cut_to(&self, context: &Context<'_>, rows: u64, others: &[Edit]) -> Vec<Edit> {
        let of_batch: FxHashSet<BufferId> =
            self.buffers.iter().map(|(buffer, ..)| *buffer).collect();
        let part = |bytes: u64| bytes / self.size.max(1) * rows;
        let others = others.iter().cloned().map(|edit| match edit {
            Edit::Shrink { buffer, bytes } if of_batch.contains(&buffer) => {
                Edit::Shrink { buffer, bytes: part(bytes) }
            }
            edit => edit,
        });
        let cut = self.buffers.iter().filter_map(|(buffer, array, at)| {
            let mut part = array.clone();
            part.dimensions.get_mut(*at)?.size = rows;
            let bytes = context.policy.array_bytes(&part)?;
            Some(Edit::Shrink { buffer: *buffer, bytes })
        });
        others.chain(cut).collect()
    }

    /// The remedy of fewer rows. What else shrinks, as values whose rows are those of batch and
    /// sequence together, is not counted.
    pub fn remedy(&self, rows: u64) -> Remedy {
        Remedy::new(format!("a batch of {rows} instead of {}", self.size))
    }
}

/// The sizes that may be the batch.
fn input_sizes(context: &Context<'_>) -> FxHashSet<u64> {
    let aliases = &context.module.header.input_output_alias;
    let donated: FxHashSet<i64> = aliases.iter().map(|alias| alias.parameter.parameter).collect();
    let inputs = context
        .arguments
        .iter()
        .filter(|argument| !donated.contains(&argument.number) && !argument.is_parameters());
    inputs
        .filter_map(|argument| context.module.shape(argument.instruction).array())
        .filter_map(|array| array.dimensions.first().map(|first| first.size))
        .filter(|&size| size > 1)
        .collect()
}

/// The buffers that hold an array with a dimension of the batch, apart from state, its gradients and
/// its copies.
fn buffers(context: &Context<'_>, size: u64) -> Vec<(BufferId, ArrayShape, usize)> {
    let state: FxHashSet<&[Dimension]> = context
        .arguments
        .iter()
        .filter(|argument| argument.is_parameters())
        .filter_map(|argument| context.module.shape(argument.instruction).array())
        .map(|array| array.dimensions.as_slice())
        .collect();
    let mut found = Vec::new();
    for (at, buffer) in context.profile.buffers.iter().enumerate() {
        let values = buffer.values.iter().map(|&id| context.profile.value(id));
        let Some(largest) = values.max_by_key(|value| value.size_bytes) else { continue };
        let array = context.module.shapes.get(largest.shape).array();
        let place = dimension(context, largest, size);
        let (Some(array), Some(place)) = (array, place) else { continue };
        let is_input = context.module.parameter_number(largest.instruction).is_some()
            && context.module.instruction(largest.instruction).computation == context.module.entry;
        let is_state = state.contains(array.dimensions.as_slice())
            || !is_input && argument_upstream(context, largest).is_some();
        if largest.memory_space == 0 && !is_state {
            found.push((BufferId(at as u32), array.clone(), place));
        }
    }
    found
}

/// The first dimension of a value that is as large as the batch.
fn dimension(context: &Context<'_>, value: &Value, size: u64) -> Option<usize> {
    let array = context.module.shapes.get(value.shape).array()?;
    array.dimensions.iter().position(|dimension| dimension.size == size)
}
