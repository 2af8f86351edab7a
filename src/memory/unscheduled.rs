//! Modules without a schedule: what they need at least. Before partitioning shapes are those of the
//! whole arrays: a parameter counts with its shard, and what the partitioner decides does not count.

use super::analysis::Analysis;
use super::attempts::unplaced;
use super::edits::Effective;
use super::{Exactness, MemoryProfile, SpaceUsage, ValueId};
use crate::hlo::{InstructionId, Opcode, Sharding};
use crate::target::Backend;
use crate::target::tpu::default_layout;

/// Parameters and results, less aliases, and the largest single value that no fusion can avoid. No
/// peak: nothing says what is alive when.
pub(super) fn lower_bound(analysis: &Analysis<'_, '_>, effective: &Effective) -> MemoryProfile {
    let module = analysis.graph.module();
    let mut usage = SpaceUsage::default();
    let mut largest = 0_u64;
    let is_whole = module.header.num_partitions > 1;
    for buffer in analysis.buffers.ids() {
        let facts = &analysis.facts[buffer.0 as usize];
        if effective.is_removed(buffer) || facts.is_embedded || facts.is_table || facts.space != 0 {
            continue;
        }
        let whole_bytes = effective.buffer_bytes(buffer);
        let bytes = match facts.parameter {
            Some(parameter) if is_whole => {
                let id = analysis.values.definition(parameter).instruction;
                shard_bytes(analysis, id, parameter, whole_bytes)
            }
            _ => whole_bytes,
        };
        let add = |sum: &mut u64| *sum = sum.saturating_add(bytes);
        if facts.parameter.is_some() {
            add(&mut usage.parameters_bytes);
            if facts.lives_out {
                add(&mut usage.aliased_bytes);
            }
        } else if is_whole {
            // Its sharding is the partitioner's business.
        } else if facts.lives_out {
            add(&mut usage.outputs_bytes);
        } else if analysis.buffers.values(buffer).iter().any(|&value| {
            is_unavoidable(module.opcode(analysis.values.definition(value).instruction))
        }) {
            largest = largest.max(bytes);
        }
    }
    usage.temporaries_live_bytes = largest;
    usage.total_bytes =
        usage.parameters_bytes.saturating_add(usage.outputs_bytes).saturating_add(largest);
    usage.required_bytes = usage.total_bytes;
    usage.peak_live_bytes = usage.total_bytes;
    let mut profile = unplaced(analysis, effective);
    profile.exactness = Exactness::LowerBound;
    let what = if is_whole {
        "not partitioned and not scheduled: only the parameters count, each with its shard"
    } else {
        "not scheduled: parameters, results and the largest value that must exist"
    };
    profile.caveats.push(what.to_owned());
    profile.spaces = vec![usage];
    profile
}

/// The bytes of a device's shard of a parameter, by its sharding; where it has none, or one that is
/// not a split of dimensions, the least it can be: an equal share for each partition.
fn shard_bytes(
    analysis: &Analysis<'_, '_>,
    parameter: InstructionId,
    value: ValueId,
    whole_bytes: u64,
) -> u64 {
    let module = analysis.graph.module();
    let partitions = u64::try_from(module.header.num_partitions).unwrap_or(1).max(1);
    let least = whole_bytes.div_ceil(partitions);
    let Some(sharding) = module.sharding(parameter) else { return least };
    if sharding.is_replicated() {
        return whole_bytes;
    }
    let array = module.shapes.get(analysis.shape_of(value)).array();
    let (Some(array), Sharding::Tiled(tiles)) = (array, sharding) else { return least };
    let mut shard = array.clone();
    for (dimension, &shards) in shard.dimensions.iter_mut().zip(&tiles.dimensions) {
        let shards = u64::try_from(shards).unwrap_or(1).max(1);
        dimension.size = dimension.size.div_ceil(shards);
    }
    // The layout of a shard is chosen for its own dimensions.
    shard.layout = None;
    let laid_out =
        if analysis.policy.backend == Backend::Tpu { default_layout(&shard) } else { shard };
    analysis.policy.array_bytes(&laid_out).map_or(least, |bytes| bytes.min(whole_bytes))
}

/// Whether the result of an operation exists in memory whatever is fused: matrix products,
/// convolutions, collectives, custom calls and the like end a fusion or stand alone.
fn is_unavoidable(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::AllGather
            | Opcode::AllReduce
            | Opcode::AllToAll
            | Opcode::Cholesky
            | Opcode::CollectivePermute
            | Opcode::CustomCall
            | Opcode::Fft
            | Opcode::ReduceScatter
            | Opcode::Scatter
            | Opcode::Sort
            | Opcode::TriangularSolve
            | Opcode::While
    )
}
