//! Modules without a schedule: what they need at least.

use super::analysis::Analysis;
use super::attempts::unplaced;
use super::edits::Effective;
use super::{Exactness, MemoryProfile, SpaceUsage};
use crate::hlo::Opcode;

/// Parameters and results, less aliases, and the largest single value that no fusion can avoid. No
/// peak: nothing says what is alive when.
pub(super) fn lower_bound(analysis: &Analysis<'_, '_>, effective: &Effective) -> MemoryProfile {
    let module = analysis.graph.module();
    let mut usage = SpaceUsage::default();
    let mut largest = 0_u64;
    for buffer in analysis.buffers.ids() {
        let facts = &analysis.facts[buffer.0 as usize];
        if effective.is_removed(buffer) || facts.is_embedded || facts.is_table || facts.space != 0 {
            continue;
        }
        let bytes = effective.buffer_bytes(buffer);
        let add = |sum: &mut u64| *sum = sum.saturating_add(bytes);
        if facts.parameter.is_some() {
            add(&mut usage.parameters_bytes);
            if facts.lives_out {
                add(&mut usage.aliased_bytes);
            }
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
    profile.caveats.push(
        "not scheduled: parameters, results and the largest value that must exist".to_owned(),
    );
    profile.spaces = vec![usage];
    profile
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
