//! Arrays that collectives put together whole on each device: a program in; its all-gathers in HBM,
//! with who reads them, out.

use super::Context;
use crate::config::total_bytes;
use crate::hlo::{InstructionId, Opcode, ShapeIndex};
use crate::memory::{BufferId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most steps that are followed from a result to what makes it, or to who reads it.
const STEPS: usize = 64;

/// The most elements and bitcasts of one value that are followed to its readers.
const ELEMENTS: usize = 1024;

/// An array in HBM that an all-gather makes.
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    /// The all-gather; it may stand inside a fusion.
    pub(super) instruction: InstructionId,
    /// The first value that holds it.
    pub(super) value: ValueId,
    /// The buffer.
    pub(super) buffer: BufferId,
    /// Its size, padding included.
    pub(super) size_bytes: u64,
}

/// The gathered arrays in HBM of at least so many bytes, by buffer.
pub(super) fn gathered(context: &Context<'_>, min_bytes: u64) -> Vec<Gathered> {
    if context.mesh.devices <= 1 {
        return Vec::new();
    }
    let buffers = context.profile.buffers.iter().enumerate();
    buffers
        .filter(|(_, buffer)| buffer.size_bytes >= min_bytes)
        .filter_map(|(at, buffer)| {
            buffer.values.iter().find_map(|&id| {
                let value = context.profile.value(id);
                let is_in_hbm = value.memory_space == 0 && value.size_bytes >= min_bytes;
                let instruction = (is_in_hbm && !value.is_phi)
                    .then(|| all_gather(context, value.instruction, &value.index))??;
                let buffer = BufferId(at as u32);
                Some(Gathered { instruction, value: id, buffer, size_bytes: value.size_bytes })
            })
        })
        .collect()
}

/// The all-gather that makes what stands at an index of an instruction's result.
fn all_gather(context: &Context<'_>, id: InstructionId, index: &[u32]) -> Option<InstructionId> {
    let module = context.module;
    let (mut at, mut index) = (id, ShapeIndex::from_slice(index));
    for _ in 0..STEPS {
        let operands = module.operands(at);
        match module.opcode(at) {
            Opcode::AllGather => return Some(at),
            // Both are tuples of what goes in and what comes out.
            Opcode::AllGatherStart => return (index.first() == Some(&1)).then_some(at),
            Opcode::CustomCall if module.custom_call_target(at)? == "AsyncCollectiveStart" => {
                at = *operands.first().filter(|_| index.first() == Some(&1))?;
                index.clear();
            }
            Opcode::AsyncStart => {
                if index.first() != Some(&1) {
                    return None;
                }
                index.remove(0);
                at = called_root(context, at)?;
            }
            Opcode::Fusion => at = called_root(context, at)?,
            Opcode::Tuple => {
                let element = (!index.is_empty()).then(|| index.remove(0))?;
                at = *operands.get(element as usize)?;
            }
            Opcode::Bitcast => at = *operands.first()?,
            _ => return None,
        }
    }
    None
}

fn called_root(context: &Context<'_>, id: InstructionId) -> Option<InstructionId> {
    let (_, callee) = context.module.calls(id).next()?;
    Some(context.module.computations.get(callee.index())?.root)
}

/// When a buffer is read by an instruction that does not write to it itself: program points, in
/// order.
pub(super) fn reads(
    context: &Context<'_>,
    points: &FxHashMap<InstructionId, u32>,
    buffer: BufferId,
) -> Vec<u32> {
    let values = &context.profile.buffer(buffer).values;
    let own = |&id: &ValueId| context.profile.value(id).instruction;
    let writers: FxHashSet<InstructionId> = values.iter().map(own).collect();
    let mut read = Vec::new();
    for &id in values {
        let value = context.profile.value(id);
        let mut open = vec![(value.instruction, value.index.clone())];
        let mut steps = 0;
        while let Some((at, index)) = open.pop() {
            steps += 1;
            if steps > ELEMENTS {
                break;
            }
            for (user, _) in context.graph.users(at) {
                match (context.module.opcode(user), index.split_first()) {
                    (Opcode::GetTupleElement, Some((&first, rest))) => {
                        if context.module.tuple_index(user) == Some(i64::from(first)) {
                            open.push((user, ShapeIndex::from_slice(rest)));
                        }
                    }
                    (Opcode::Bitcast, None) => open.push((user, index.clone())),
                    _ if writers.contains(&user) => {}
                    _ => read.extend(points.get(&user)),
                }
            }
        }
    }
    read.sort_unstable();
    read.dedup();
    read
}

/// The program point of each scheduled instruction.
pub(super) fn points(context: &Context<'_>) -> FxHashMap<InstructionId, u32> {
    let schedule = context.profile.schedule.iter().enumerate();
    schedule.map(|(point, &id)| (id, point as u32)).collect()
}

/// A gathered array of which only slices are used.
#[derive(Clone, Debug)]
pub(super) struct Sliced {
    /// What is gathered.
    pub(super) gathered: Gathered,
    /// The buffers that hold it: as it was gathered, and in other layouts on the way.
    pub(super) buffers: Vec<BufferId>,
    /// Elements of the whole over elements of all slices; at least 2.
    pub(super) ratio: u64,
}

/// The gathered arrays in HBM of which only slices are used, at most half of all elements.
pub(super) fn sliced(context: &Context<'_>, min_bytes: u64) -> Vec<Sliced> {
    let all = gathered(context, min_bytes);
    all.into_iter().filter_map(|gathered| only_sliced(context, gathered)).collect()
}

fn only_sliced(context: &Context<'_>, gathered: Gathered) -> Option<Sliced> {
    let module = context.module;
    let elements = |id: InstructionId| module.shape(id).array()?.elements();
    let value = context.profile.value(gathered.value);
    let whole = module.shapes.get(value.shape).array()?.elements()?;
    let mut buffers = vec![gathered.buffer];
    let mut kept: u64 = 0;
    let mut seen = FxHashSet::default();
    let mut open = vec![(value.instruction, value.index.clone())];
    while let Some((at, index)) = open.pop() {
        if !seen.insert((at, index.clone())) {
            continue;
        }
        if seen.len() > STEPS {
            return None;
        }
        if module.is_root(at) {
            // Out of a fusion as it went in: another layout of the whole.
            let computation = module.instruction(at).computation;
            let [caller] = context.graph.callers(computation) else { return None };
            if computation == module.entry || module.opcode(caller.instruction) != Opcode::Fusion {
                return None;
            }
            push_buffer(context, caller.instruction, &mut buffers);
            open.push((caller.instruction, index.clone()));
        }
        for (user, operand) in context.graph.users(at) {
            match module.opcode(user) {
                Opcode::GetTupleElement => {
                    let (&first, rest) = index.split_first()?;
                    if module.tuple_index(user) == Some(i64::from(first)) {
                        open.push((user, ShapeIndex::from_slice(rest)));
                    }
                }
                Opcode::AllGatherDone | Opcode::AsyncDone | Opcode::CopyDone => {
                    open.push((user, ShapeIndex::new()));
                }
                Opcode::Bitcast | Opcode::Reshape | Opcode::Copy | Opcode::Transpose => {
                    push_buffer(context, user, &mut buffers);
                    open.push((user, ShapeIndex::new()));
                }
                Opcode::Slice | Opcode::DynamicSlice if operand == 0 => {
                    kept = kept.checked_add(elements(user)?)?;
                }
                Opcode::Fusion => {
                    let (_, body) = module.calls(user).next()?;
                    let inside = *context.graph.parameters(body).get(operand as usize)?;
                    open.push((inside, index.clone()));
                }
                _ => return None,
            }
        }
    }
    let ratio = whole.checked_div(kept)?;
    (ratio >= 2).then_some(Sliced { gathered, buffers, ratio })
}

fn push_buffer(context: &Context<'_>, id: InstructionId, buffers: &mut Vec<BufferId>) {
    if let Some(value) = context.value_at(id) {
        let buffer = context.profile.value(value).buffer;
        if !buffers.contains(&buffer) {
            buffers.push(buffer);
        }
    }
}

/// Whether a value's data comes out of a gather, from devices or by indices.
fn is_of_gather(context: &Context<'_>, id: ValueId) -> bool {
    let value = context.profile.value(id);
    let origin = crate::memory::origin(context.graph, value).instruction;
    matches!(context.module.opcode(origin), Opcode::Gather | Opcode::AllGather)
        || all_gather(context, value.instruction, &value.index).is_some()
}

/// Gathers that alone or together need more than a share of what there is: the values alive at the
/// peak, the largest first; empty where they do not. One value for each buffer.
pub(super) fn over_capacity(context: &Context<'_>, share: f64) -> Vec<ValueId> {
    let Some(available) = context.capacity.available_bytes else { return Vec::new() };
    let limit_bytes = (available as f64 * share) as u64;
    // What is much smaller than the limit is no part of the story.
    let min_bytes = limit_bytes / 64;
    let mut values: Vec<ValueId> = Vec::new();
    for buffer in &context.profile.buffers {
        let found = buffer.values.iter().copied().find(|&id| {
            let value = context.profile.value(id);
            value.memory_space == 0
                && value.size_bytes > min_bytes
                && context.is_alive_at_peak(value)
                && is_of_gather(context, id)
        });
        values.extend(found);
    }
    let size = |&id: &ValueId| context.profile.value(id).size_bytes;
    values.sort_by_key(|id| (std::cmp::Reverse(size(id)), *id));
    if total_bytes(values.iter().map(size)) > limit_bytes { values } else { Vec::new() }
}
