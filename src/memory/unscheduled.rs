//! Modules without a schedule: what they need at least. Shapes there are those of the whole program,
//! before the partitioner, and mostly without tiles.

use super::analysis::Analysis;
use super::attempts::unplaced;
use super::edits::Effective;
use super::{BufferId, Exactness, MemoryProfile, SpaceUsage, ValueId};
use crate::hlo::{ArrayShape, InstructionId, Opcode, ShapeId, ShapeIndex, Sharding, ShardingKind};
use crate::target::tpu::{Chip, default_layout};
use crate::target::{Backend, natural_bytes};
use rustc_hash::FxHashMap;

/// Parameters and results of one device, less aliases, and the largest single value that no fusion can
/// avoid and VMEM does not hold. No peak: nothing says what is alive when.
pub(super) fn lower_bound(analysis: &Analysis<'_, '_>, effective: &Effective) -> MemoryProfile {
    let mut usage = SpaceUsage::default();
    let mut largest = 0_u64;
    let mut profile = unplaced(analysis, effective);
    let results = Results::of(analysis);
    let vmem_bytes = analysis.policy.chip.map_or(0, Chip::vmem_bytes);
    for buffer in analysis.buffers.ids() {
        let facts = &analysis.facts[buffer.0 as usize];
        if effective.is_removed(buffer) || facts.is_embedded || facts.is_table || facts.space != 0 {
            continue;
        }
        let bytes = buffer_bytes(analysis, &results, effective, &mut profile, buffer);
        if is_elsewhere(analysis, &results, buffer) {
            continue;
        }
        let add = |sum: &mut u64| *sum = sum.saturating_add(bytes);
        if effective.is_donated(buffer) {
            continue;
        } else if facts.parameter.is_some() {
            add(&mut usage.parameters_bytes);
            if facts.lives_out || effective.donated(buffer).next().is_some() {
                add(&mut usage.aliased_bytes);
            }
        } else if facts.lives_out && !facts.has_constant {
            add(&mut usage.outputs_bytes);
        } else if is_unavoidable(analysis, buffer) && bytes > vmem_bytes {
            largest = largest.max(bytes);
        }
    }
    // Donated parameters that the partitioner has still to pair with results.
    let shared = donor_bytes(analysis, &profile).min(usage.outputs_bytes);
    usage.outputs_bytes -= shared;
    usage.aliased_bytes = usage.aliased_bytes.saturating_add(shared);
    usage.temporaries_live_bytes = largest;
    usage.total_bytes =
        usage.parameters_bytes.saturating_add(usage.outputs_bytes).saturating_add(largest);
    usage.required_bytes = usage.total_bytes;
    usage.peak_live_bytes = usage.total_bytes;
    profile.exactness = Exactness::LowerBound;
    profile.caveats.push(
        "not scheduled: parameters, results and the largest value that must exist".to_owned(),
    );
    profile.spaces = vec![usage];
    profile
}

/// Where the values of the program's result stand in its shape.
struct Results(FxHashMap<ValueId, u32>);

impl Results {
    fn of(analysis: &Analysis<'_, '_>) -> Results {
        let held = analysis.values.all(analysis.graph.module().entry().root);
        let mut offsets = FxHashMap::default();
        for (offset, &value) in held.iter().enumerate() {
            offsets.entry(value).or_insert(offset as u32);
        }
        Results(offsets)
    }

    /// The offset of the first place that holds a value.
    fn offset(&self, value: ValueId) -> Option<u32> {
        self.0.get(&value).copied()
    }
}

/// Whether the header puts a parameter or result into another memory space than HBM.
fn is_elsewhere(analysis: &Analysis<'_, '_>, results: &Results, buffer: BufferId) -> bool {
    let shapes = &analysis.graph.module().shapes;
    let is_elsewhere =
        |shape| shapes.get(shape).array().is_some_and(|array| array.memory_space() != 0);
    let values = analysis.buffers.values(buffer).iter();
    values.filter_map(|&value| stated_shape(analysis, results, value)).any(is_elsewhere)
}

/// Bytes of the parameters that `buffer_donor` names.
fn donor_bytes(analysis: &Analysis<'_, '_>, profile: &MemoryProfile) -> u64 {
    let module = analysis.graph.module();
    let bytes = module.header.buffer_donor.iter().filter_map(|donor| {
        let parameters = analysis.graph.parameters(module.entry);
        let &parameter = parameters.get(usize::try_from(donor.parameter).ok()?)?;
        let shape = module.instruction(parameter).shape;
        let offset = analysis.trees.offset(&module.shapes, shape, &donor.index)?;
        let value = analysis.values.at(parameter, offset)?;
        Some(profile.value(value).size_bytes)
    });
    bytes.fold(0, u64::saturating_add)
}

/// The size of a buffer on one device; the profile learns it, too.
fn buffer_bytes(
    analysis: &Analysis<'_, '_>,
    results: &Results,
    effective: &Effective,
    profile: &mut MemoryProfile,
    buffer: BufferId,
) -> u64 {
    let mut largest = 0;
    for &value in analysis.buffers.values(buffer) {
        // An edit that shrinks counts in full.
        let is_edited = effective.value_bytes(value) < analysis.sizes.bytes[value.0 as usize];
        let bytes = match is_edited {
            true => effective.value_bytes(value),
            false => device_bytes(analysis, results, value),
        };
        profile.values[value.0 as usize].size_bytes = bytes;
        largest = bytes.max(largest);
    }
    profile.buffers[buffer.0 as usize].size_bytes = largest;
    largest
}

/// The size of a value's part on one device, in the layout that it will get.
fn device_bytes(analysis: &Analysis<'_, '_>, results: &Results, value: ValueId) -> u64 {
    let module = analysis.graph.module();
    let definition = analysis.values.definition(value);
    let stated = stated_shape(analysis, results, value);
    let shape = stated.unwrap_or_else(|| analysis.shape_of(value));
    let Some(array) = module.shapes.get(shape).array() else { return 0 };
    let mut array = array.clone();
    let partitions = u64::try_from(module.header.num_partitions).unwrap_or(1).max(1);
    let whole = match definition.is_phi {
        true => None,
        false => sharding_at(analysis, definition.instruction, definition.offset)
            .or_else(|| sharding_as_result(analysis, results, value))
            .and_then(|sharding| split(&mut array, sharding)),
    };
    let bytes = bytes(analysis, &array);
    match whole {
        Some(()) => bytes,
        // How the partitioner splits it is not known: at best over all devices.
        None => bytes / partitions,
    }
}

fn bytes(analysis: &Analysis<'_, '_>, array: &ArrayShape) -> u64 {
    let has_tiles = array.layout.as_ref().is_some_and(|layout| !layout.tiles.is_empty());
    let bytes = match analysis.policy.backend {
        Backend::Tpu if !has_tiles => analysis.policy.array_bytes(&default_layout(array)),
        Backend::Tpu => analysis.policy.array_bytes(array),
        Backend::Gpu | Backend::Cpu => natural_bytes(array),
    };
    bytes.unwrap_or(u64::MAX)
}

/// The shape that the header's `entry_computation_layout` gives a parameter or result of ENTRY: it
/// has the layout that the program will get.
fn stated_shape(analysis: &Analysis<'_, '_>, results: &Results, value: ValueId) -> Option<ShapeId> {
    let module = analysis.graph.module();
    let (parameters, result) = module.header.entry_computation_layout.as_ref()?;
    let definition = analysis.values.definition(value);
    let id = definition.instruction;
    let (shape, offset) = if module.opcode(id) == Opcode::Parameter
        && module.instruction(id).computation == module.entry
    {
        let number = usize::try_from(module.parameter_number(id)?).ok()?;
        (*parameters.get(number)?, definition.offset)
    } else {
        (*result, results.offset(value)?)
    };
    let found = *analysis.trees.nodes(shape).get(offset as usize)?;
    let dimensions = |shape| module.shapes.get(shape).array().map(|array| &array.dimensions);
    (dimensions(found)? == dimensions(analysis.shape_of(value))?).then_some(found)
}

/// The sharding that the program's results give a value, which its own instruction may not state.
fn sharding_as_result<'a>(
    analysis: &'a Analysis<'_, '_>,
    results: &Results,
    value: ValueId,
) -> Option<&'a Sharding<'a>> {
    sharding_at(analysis, analysis.graph.module().entry().root, results.offset(value)?)
}

fn sharding_at<'a>(
    analysis: &'a Analysis<'_, '_>,
    id: InstructionId,
    offset: u32,
) -> Option<&'a Sharding<'a>> {
    let module = analysis.graph.module();
    let shape = module.instruction(id).shape;
    let index: ShapeIndex = analysis.trees.index(&module.shapes, shape, offset);
    let sharding = module.sharding(id)?;
    match (sharding, index.is_empty()) {
        (Sharding::Tuple(_), true) => None,
        (Sharding::Tuple(leaves), false) => {
            // Leaves are numbered in pre-order, tables left out.
            let nodes = analysis.trees.nodes(shape);
            let before = nodes.get(..offset as usize)?;
            let is_leaf = |node: &&ShapeId| module.shapes.get(**node).elements().is_none();
            let leaf = before.iter().filter(is_leaf).count();
            leaves.get(leaf).map(|&leaf| module.sharding_of(leaf))
        }
        (other, _) => Some(other),
    }
}

/// Cuts an array to the part of one device; `None` where the sharding does not say.
fn split(array: &mut ArrayShape, sharding: &Sharding<'_>) -> Option<()> {
    let shards: Vec<u64> = match sharding {
        Sharding::Kind { kind: ShardingKind::Replicated | ShardingKind::Maximal, .. } => Vec::new(),
        Sharding::Tiled(tiles) => {
            let count = tiles.dimensions.len().saturating_sub(tiles.subgroups.len());
            let shards = tiles.dimensions.iter().take(count);
            shards.map(|&shards| u64::try_from(shards).unwrap_or(1)).collect()
        }
        _ => return None,
    };
    for (dimension, shards) in array.dimensions.iter_mut().zip(shards) {
        dimension.size = dimension.size.div_ceil(shards.max(1));
    }
    Some(())
}

/// Whether the result of an operation exists in memory whatever is fused: collectives, sorts, custom
/// calls and the like stand alone.
fn is_unavoidable(analysis: &Analysis<'_, '_>, buffer: BufferId) -> bool {
    let module = analysis.graph.module();
    analysis.buffers.values(buffer).iter().any(|&value| {
        matches!(
            module.opcode(analysis.values.definition(value).instruction),
            Opcode::AllGather
                | Opcode::AllReduce
                | Opcode::AllToAll
                | Opcode::Cholesky
                | Opcode::CollectivePermute
                | Opcode::Fft
                | Opcode::ReduceScatter
                | Opcode::Scatter
                | Opcode::Sort
                | Opcode::TriangularSolve
                | Opcode::While
        )
    })
}
