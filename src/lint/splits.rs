//! Ways to split arrays of the state over a mesh, and what a program needs at most with one of them:
//! groups of arrays in; upper bounds out.
//!
//! Shrinking the arguments alone is no bound: what is split over an axis that splits the batch too is
//! gathered again where it is used. Measured on Adam and momentum steps of one and two large matrices
//! on a mesh 4x2 (libtpu 0.0.52): optimizer state over the batch's axis needed up to one and a half
//! times what the shrunk arguments alone promised, and more than before in one of them.

use super::sharding::{axes_by_dimension, best_split_bytes};
use super::upstream::argument_upstream;
use super::{Argument, Axis, Context, Remedy};
use crate::config::total_bytes;
use crate::graph::Loop;
use crate::hlo::{InstructionId, ShapeId};
use crate::memory::{Edit, Value, ValueId};
use rustc_hash::FxHashSet;

/// A way to split an array: over so many devices, named as the user would.
pub(super) struct Split {
    pub(super) label: String,
    pub(super) ways: u64,
    /// The part of the ways along axes that split the batch.
    batch_ways: u64,
}

/// One split for each axis of the mesh, and one for all together.
pub(super) fn splits(context: &Context<'_>) -> Vec<Split> {
    let of_batch = batch_axes(context);
    let is_of_batch =
        |axis: &Axis| of_batch.as_ref().is_none_or(|names| names.contains(axis.name.as_str()));
    let batch_ways = |axis: &Axis| if is_of_batch(axis) { axis.size } else { 1 };
    let mut splits: Vec<Split> = context
        .axes()
        .map(|axis| Split {
            label: format!("\"{}\"", axis.name),
            ways: axis.size,
            batch_ways: batch_ways(axis),
        })
        .collect();
    let (ways, count) = (context.mesh.devices, splits.len());
    let all_batch_ways = context.axes().map(batch_ways).fold(1_u64, u64::saturating_mul);
    match count {
        0 => splits.push(Split { label: format!("all {ways} devices"), ways, batch_ways: ways }),
        1 => {}
        _ => splits.push(Split {
            label: if count == 2 { "both" } else { "all axes" }.to_owned(),
            ways,
            batch_ways: all_batch_ways,
        }),
    }
    splits
}

/// A split over some axes of the mesh.
pub(super) fn split_over(context: &Context<'_>, names: &[&str]) -> Split {
    let of_batch = batch_axes(context);
    let axes: Vec<&Axis> =
        context.axes().filter(|axis| names.contains(&axis.name.as_str())).collect();
    let ways = |axes: &mut dyn Iterator<Item = &&Axis>| {
        axes.fold(1_u64, |all, axis| all.saturating_mul(axis.size))
    };
    let is_of_batch =
        |axis: &&&Axis| of_batch.as_ref().is_none_or(|names| names.contains(axis.name.as_str()));
    Split {
        label: names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" and "),
        ways: ways(&mut axes.iter()),
        batch_ways: ways(&mut axes.iter().filter(is_of_batch)),
    }
}

/// The axes that split arguments which are no part of the state; `None` where nothing tells.
fn batch_axes<'c>(context: &'c Context<'_>) -> Option<FxHashSet<&'c str>> {
    let before = context.before?;
    let aliases = &context.module.header.input_output_alias;
    let donated: FxHashSet<i64> = aliases.iter().map(|alias| alias.parameter.parameter).collect();
    let pairs = context.arguments.iter().zip(&context.before_parameters);
    let axes: FxHashSet<&str> = pairs
        .filter(|(argument, _)| !argument.is_parameters() && !donated.contains(&argument.number))
        .filter_map(|(_, &id)| axes_by_dimension(before, id))
        .flatten()
        .flatten()
        .collect();
    (!axes.is_empty()).then_some(axes)
}

/// An array of the state.
pub(super) struct Array<'c> {
    pub(super) argument: &'c Argument,
    pub(super) value: ValueId,
    pub(super) size_bytes: u64,
}

impl Array<'_> {
    /// Its bytes when it is split so many ways.
    pub(super) fn split_bytes(&self, context: &Context<'_>, ways: u64) -> u64 {
        best_split_bytes(context, self.value, ways)
    }

    fn shrunk(&self, context: &Context<'_>, ways: u64) -> Edit {
        Edit::Shrink {
            buffer: context.profile.value(self.value).buffer,
            bytes: self.split_bytes(context, ways),
        }
    }

    /// Bytes of it that a device may hold whole while it uses it: all of it, or two slices of a stack
    /// that a loop goes through, one in use and one on its way.
    fn used_bytes(&self, context: &Context<'_>) -> u64 {
        self.layers(context).map_or(self.size_bytes, |n| self.size_bytes / n * 2)
    }

    /// The slices that a loop takes one an iteration, as its shape tells; at least three.
    fn layers(&self, context: &Context<'_>) -> Option<u64> {
        let array = context.module.shape(self.argument.instruction).array()?;
        let first = array.dimensions.first()?.size;
        let mut loops = context.graph.loops().iter();
        let is_taken = |found: &Loop| found.trip_count.is_some_and(|(n, _)| n == first);
        (first > 2 && loops.any(is_taken)).then_some(first)
    }
}

/// What is split: parameters, which are needed whole where they are used, and optimizer state, which
/// the update needs and nothing else.
#[derive(Default)]
pub(super) struct State<'s, 'c> {
    /// Parameters that are split.
    pub(super) parameters: Vec<&'s Array<'c>>,
    /// Optimizer state that is split.
    pub(super) optimizer: Vec<&'s Array<'c>>,
    /// Parameters that stay as they are while the optimizer state is split.
    pub(super) kept: Vec<&'s Array<'c>>,
    /// Whether every device holds the whole of those.
    pub(super) are_kept_whole: bool,
}

/// The size from which copies of arguments are looked for.
const COPY_BYTES: u64 = 1 << 20;

/// A remedy with what the program needs at most, where that can be told; `None` where it may save
/// nothing.
pub(super) fn priced(
    context: &Context<'_>,
    state: &State<'_, '_>,
    split: &Split,
    action: String,
) -> Option<Remedy> {
    let arrays = || state.parameters.iter().chain(&state.optimizer);
    let edits = arrays()
        .map(|array| array.shrunk(context, split.ways))
        .chain(shrunk_copies(context, arrays().map(|array| array.argument), split.ways))
        .collect();
    let mut remedy = context.priced(action, edits, true)?;
    let Some(packed) = remedy.required_bytes_after else { return Some(remedy) };
    let bound = if split.batch_ways > 1 {
        let gathered = state.parameters.iter().map(|array| array.used_bytes(context));
        let gathered = total_bytes(gathered) / (split.ways / split.batch_ways).max(1);
        let saved = arrays()
            .map(|array| array.size_bytes.saturating_sub(array.split_bytes(context, split.ways)));
        let update = update_bytes(context, state, total_bytes(saved));
        packed
            .saturating_add(gathered)
            .saturating_add(early_update_bytes(context, state))
            .max(update)
    } else {
        packed
    };
    // Packing is another one: tensor-parallel heads needed 0.03% more than their shrunk arguments.
    let bound = bound.saturating_add(bound / 512);
    remedy.required_bytes_after = Some(bound);
    (bound < context.hbm().required_bytes).then_some(remedy)
}

/// Copies of whole arguments (in another type or layout, for a later step) that are split with them.
fn shrunk_copies<'c>(
    context: &Context<'_>,
    arguments: impl Iterator<Item = &'c Argument>,
    ways: u64,
) -> Vec<Edit> {
    let split: FxHashSet<InstructionId> = arguments.map(|argument| argument.instruction).collect();
    let elements = |shape: ShapeId| context.module.shapes.get(shape).array()?.elements();
    let is_copy = |value: &Value| {
        let of = argument_upstream(context, value).filter(|of| split.contains(of));
        let whole = of.and_then(|of| elements(context.module.instruction(of).shape));
        whole.is_some() && whole == elements(value.shape) && !split.contains(&value.instruction)
    };
    let values = (0..).map(ValueId).zip(&context.profile.values);
    values
        .filter(|(_, value)| value.memory_space == 0 && value.size_bytes >= COPY_BYTES)
        .filter(|(_, value)| is_copy(value))
        .map(|(id, value)| Edit::Shrink {
            buffer: value.buffer,
            bytes: best_split_bytes(context, id, ways),
        })
        .collect()
}

/// What whole parameters add to the peak when their optimizer state is split: those that no
/// axis splits are copied, as the update reads slices of their old values late (measured on a scan of eight layers, libtpu
/// 0.0.52), and their gradients and new values may lie there, as far as a device uses them at a time,
/// while the backward pass runs.
fn early_update_bytes(context: &Context<'_>, state: &State<'_, '_>) -> u64 {
    let used = state.kept.iter().map(|array| array.used_bytes(context));
    let copied = if state.are_kept_whole {
        total_bytes(state.kept.iter().map(|array| array.size_bytes))
    } else {
        0
    };
    total_bytes(used).saturating_mul(2).saturating_add(copied)
}

/// What the update of parameters that stay whole may need when the optimizer state is split:
/// arguments, results and constants, the gradients, and the new values gathered.
fn update_bytes(context: &Context<'_>, state: &State<'_, '_>, saved_bytes: u64) -> u64 {
    if state.kept.is_empty() {
        return 0;
    }
    let hbm = context.hbm();
    let whole = total_bytes([hbm.parameters_bytes, hbm.outputs_bytes, hbm.constants_bytes]);
    let kept = total_bytes(state.kept.iter().map(|array| array.size_bytes));
    let all = whole.saturating_sub(saved_bytes).saturating_add(kept.saturating_mul(2));
    // Packing and small temporaries: up to 0.1% in what was measured.
    all.saturating_add(all / 64)
}
