//! Why each temporary is alive at the peak: where its data comes from and who keeps it.

use super::Context;
use super::stacked::{Stacked, stacked};
use super::upstream::argument_upstream;
use crate::config::total_bytes;
use crate::hlo::{ArrayShape, Dimension, ElementType, InstructionId};
use crate::memory::{AllocationKind, Value, ValueId};
use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why bytes are alive.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The program's arguments.
    Argument,
    /// The program's results.
    Output,
    /// Constants of the program text.
    Constant,
    /// Slices that a loop keeps, one an iteration, for a later loop.
    Residual,
    /// As large as an argument, computed in the backward pass.
    Gradient,
    /// Arguments in another type or layout.
    ArgumentCopy,
    /// Values with a dimension of the batch.
    Activation,
    /// Anything else.
    Other,
}
/// A temporary alive at the peak and why it is.
pub(super) struct Alive {
    pub(super) value: ValueId,
    pub(super) size_bytes: u64,
    pub(super) cause: Cause,
    pub(super) stacked: Option<Stacked>,
}
/// The temporaries alive at a point, each with its cause.
pub(super) fn alive(context: &Context<'_>, point: u32) -> Vec<Alive> {
    let known = Known::of(context);
    let mut alive: Vec<Alive> = temporaries(context, point)
        .into_iter()
        .map(|(value, size_bytes)| classify(context, &known, value, size_bytes))
        .collect();
    fold(&mut alive, context.hbm().total_bytes);
    alive
}

/// All temporaries in HBM of at least so many bytes, one for each buffer, each with its cause.
pub(super) fn all(context: &Context<'_>, min_bytes: u64) -> Vec<Alive> {
    let known = Known::of(context);
    let is_temporary = |value: &Value| {
        value.memory_space == 0
            && value.place.is_some_and(|place| {
                context.profile.allocation(place.allocation).kind == AllocationKind::Temporary
            })
    };
    let buffers = context.profile.buffers.iter();
    buffers
        .filter(|buffer| buffer.size_bytes >= min_bytes)
        .filter_map(|buffer| {
            let values = buffer.values.iter().copied();
            values.max_by_key(|&id| (context.profile.value(id).size_bytes, std::cmp::Reverse(id)))
        })
        .filter(|&id| is_temporary(context.profile.value(id)))
        .map(|id| classify(context, &known, id, context.profile.value(id).size_bytes))
        .collect()
}

/// Values alive at a point that no other value shares its memory with then: of those that do, the
/// largest. Tuple tables and what was placed before are left out.
fn temporaries(context: &Context<'_>, point: u32) -> Vec<(ValueId, u64)> {
    let mut alive = Vec::new();
    for allocation in &context.profile.allocations {
        if allocation.memory_space != 0 || !allocation.is_temporary() || allocation.is_preset {
            continue;
        }
        let mut placed: Vec<(u64, u64, ValueId)> = allocation
            .values
            .iter()
            .filter_map(|&id| {
                let value = context.profile.value(id);
                let (live, place) = (value.live?, value.place?);
                let is_alive = live.start <= point && point <= live.end;
                let is_array = context.module.shapes.get(value.shape).array().is_some();
                (is_alive && is_array && value.size_bytes > 0).then_some((
                    place.offset_bytes,
                    value.size_bytes,
                    id,
                ))
            })
            .collect();
        placed.sort_by_key(|&(offset, size, id)| (offset, std::cmp::Reverse(size), id));
        let mut end = 0;
        for (offset, size, id) in placed {
            if offset >= end {
                alive.push((id, size));
                end = offset.saturating_add(size);
            }
        }
    }
    alive
}

/// What classification compares with.
#[derive(Default)]
struct Known {
    /// Element types and dimensions of the arguments that are trained.
    shapes: FxHashSet<(ElementType, Vec<Dimension>)>,
    /// Element counts of arguments.
    elements: FxHashSet<Option<u64>>,
    /// First dimensions of arguments that are no part of the state: they count the batch.
    batch: FxHashSet<u64>,
}

impl Known {
    fn of(context: &Context<'_>) -> Known {
        let array = |id: InstructionId| {
            let array = context.module.shape(id).array()?;
            (!array.dimensions.is_empty()).then_some(array)
        };
        let donated: FxHashSet<i64> = context
            .module
            .header
            .input_output_alias
            .iter()
            .map(|alias| alias.parameter.parameter)
            .collect();
        let mut known = Known::default();
        for argument in &context.arguments {
            let Some(array) = array(argument.instruction) else { continue };
            let is_donated = donated.contains(&argument.number);
            // What is neither state nor weights has no gradient that anyone asked for.
            if is_donated || argument.is_parameters() {
                known.shapes.insert((array.element_type, array.dimensions.to_vec()));
            }
            known.elements.insert(array.elements());
            if let Some(first) = array.dimensions.first()
                && first.size > 1
                && !is_donated
            {
                known.batch.insert(first.size);
            }
        }
        known
    }
}

fn classify(context: &Context<'_>, known: &Known, id: ValueId, size_bytes: u64) -> Alive {
    let value = context.profile.value(id);
    let array = context.module.shapes.get(value.shape).array();
    let dimensions = array.map_or(&[][..], |array| &array.dimensions);
    let elements = array.and_then(ArrayShape::elements);
    let stacked = stacked(context, value);
    let (origin, _) = context.origin(value);
    let is_gradient = || {
        array.is_some_and(|array| {
            known.shapes.contains(&(array.element_type, array.dimensions.to_vec()))
        }) && is_backward(context, origin, value)
    };
    let is_copy =
        || known.elements.contains(&elements) && argument_upstream(context, value).is_some();
    let cause = if is_copy() {
        Cause::ArgumentCopy
    } else if is_gradient() {
        let is_small = size_bytes < context.settings.materiality.min_bytes;
        if is_small { Cause::Other } else { Cause::Gradient }
    } else if stacked.is_some() {
        Cause::Residual
    } else if dimensions.iter().any(|dimension| known.batch.contains(&dimension.size)) {
        Cause::Activation
    } else {
        Cause::Other
    };
    Alive { value: id, size_bytes, cause, stacked }
}

/// Small groups of activations tell nobody anything: what loops keep joins the activations, and
/// activations the others, where they are less than a twentieth of all.
fn fold(alive: &mut [Alive], all_bytes: u64) {
    for (from, to) in [(Cause::Residual, Cause::Activation), (Cause::Activation, Cause::Other)] {
        let of_cause = |one: &&mut Alive| one.cause == from;
        let bytes = total_bytes(alive.iter_mut().filter(of_cause).map(|one| one.size_bytes));
        if bytes < all_bytes / 20 {
            alive.iter_mut().filter(of_cause).for_each(|one| one.cause = to);
        }
    }
}

/// Whether a value is computed in the backward pass, as JAX names it.
fn is_backward(context: &Context<'_>, origin: InstructionId, value: &Value) -> bool {
    [origin, value.instruction].into_iter().any(|id| {
        context.module.metadata(id).is_some_and(|metadata| is_backward_name(metadata.op_name))
    })
}

/// Whether an op_name is one of the backward pass.
pub fn is_backward_name(op_name: &str) -> bool {
    op_name.contains("transpose(")
}
