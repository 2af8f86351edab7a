//! Equal values of unrolled layers in; what the layers hand to each other, out.

use super::Context;
use super::recompute::{is_in_backward, only_moves};
use super::upstream::argument_upstream;
use crate::hlo::{ComputationId, InstructionId, Opcode};
use crate::memory::ValueId;
use rustc_hash::FxHashMap;

/// A value of the forward pass: where it is defined, where the forward pass uses it last.
struct Span {
    start: u32,
    end: u32,
    size_bytes: u64,
}

/// Bytes that a checkpoint around each layer keeps: between each two of the values, which are one of
/// each layer, the least that the forward pass carries across a program point. What is used by all
/// layers is carried anyway and not counted.
pub(super) fn inputs_bytes(context: &Context<'_>, values: &[ValueId]) -> u64 {
    let mut points: Vec<u32> =
        values.iter().filter_map(|&id| Some(context.profile.value(id).live?.start)).collect();
    points.sort_unstable();
    let Some(first) = values.first().map(|&id| context.profile.value(id).instruction) else {
        return 0;
    };
    let (Some(&from), Some(&to)) = (points.first(), points.last()) else { return 0 };
    let spans = spans(context, context.module.instruction(first).computation);
    let crossing = crossing(&spans, from, to);
    let narrowest = |(from_layer, to_layer): (u32, u32)| {
        let range = (from_layer - from) as usize..(to_layer - from) as usize;
        crossing.get(range).and_then(|between| between.iter().min()).copied().unwrap_or(0)
    };
    let pairs = points.iter().copied().zip(points.iter().copied().skip(1));
    pairs.map(narrowest).fold(0, u64::saturating_add)
}

/// Bytes carried across each program point of a stretch.
fn crossing(spans: &[Span], from: u32, to: u32) -> Vec<u64> {
    let length = (to - from) as usize;
    let mut changes = vec![0_i128; length + 1];
    for span in spans {
        let is_inside = span.end > from && span.start < to;
        let is_for_all = span.start < from && span.end >= to;
        if !is_inside || is_for_all {
            continue;
        }
        let at = |point: u32| (point.clamp(from, to) - from) as usize;
        for (place, bytes) in [(at(span.start), 1), (at(span.end), -1)] {
            if let Some(change) = changes.get_mut(place) {
                *change += bytes * i128::from(span.size_bytes);
            }
        }
    }
    let mut sum = 0;
    changes
        .iter()
        .take(length)
        .map(|change| {
            sum += change;
            u64::try_from(sum).unwrap_or(0)
        })
        .collect()
}

/// The values of the forward pass in a computation.
fn spans(context: &Context<'_>, computation: ComputationId) -> Vec<Span> {
    let module = context.module;
    let in_order: Vec<(u32, InstructionId)> = context
        .profile
        .schedule
        .iter()
        .enumerate()
        .filter(|(_, id)| module.instruction(**id).computation == computation)
        .map(|(point, &id)| (point as u32, id))
        .collect();
    let point_of: FxHashMap<InstructionId, u32> =
        in_order.iter().map(|&(point, id)| (id, point)).collect();
    // From the last to the first: users are known before what they use.
    let mut last_use: FxHashMap<InstructionId, u32> = FxHashMap::default();
    let mut spans = Vec::new();
    for &(start, id) in in_order.iter().rev() {
        let uses = context.graph.users(id).filter_map(|(user, _)| {
            if only_moves(module.opcode(user)) {
                return last_use.get(&user).copied();
            }
            point_of.get(&user).copied().filter(|_| !is_in_backward(context, user))
        });
        let Some(end) = uses.max() else { continue };
        last_use.insert(id, end);
        if is_computed(context, id) && !is_in_backward(context, id) {
            spans.push(Span { start, end, size_bytes: context.natural_bytes(id) });
        }
    }
    spans
}

/// Whether an instruction computes an array of the forward pass: no argument in another form, nothing
/// that is only moved but the element of a tuple that is computed.
fn is_computed(context: &Context<'_>, id: InstructionId) -> bool {
    let module = context.module;
    let opcode = module.opcode(id);
    let is_element = opcode == Opcode::GetTupleElement
        && module.operands(id).first().is_some_and(|&of| !only_moves(module.opcode(of)));
    if matches!(opcode, Opcode::Parameter | Opcode::Constant) || only_moves(opcode) && !is_element {
        return false;
    }
    let value = context.value_at(id).map(|value| context.profile.value(value));
    value.is_some_and(|value| argument_upstream(context, value).is_none())
}
