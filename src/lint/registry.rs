//! All rules, in the order in which they speak: where two find the same bytes, the first wins.

use super::{Level, Rule, rules};
use crate::config::{KnownRule, RuleLevel};

/// Every rule.
pub fn rules() -> &'static [&'static dyn Rule] {
    &[
        &rules::hbm_over_capacity::HbmOverCapacity,
        &rules::hbm_near_capacity::HbmNearCapacity,
        &rules::budget::OverBudget,
        &rules::sparsecore_dominates::SparsecoreDominates,
        &rules::unsharded_table::UnshardedTable,
        &rules::replicated_tensor::ReplicatedTensor,
        &rules::unused_mesh_axis::UnusedMeshAxis,
        &rules::gather_over_capacity::GatherOverCapacity,
        &rules::gather_then_slice::GatherThenSlice,
        &rules::long_lived_all_gather::LongLivedAllGather,
        &rules::debug_print::DebugPrint,
        &rules::host_callback::HostCallback,
        &rules::callback_in_loop::CallbackInLoop,
        &rules::layout_copy_pads::LayoutCopyPads,
        &rules::gather_index_padding::GatherIndexPadding,
        &rules::materialized_one_hot::MaterializedOneHot,
        &rules::tile_padding::TilePadding,
        &rules::narrow_table::NarrowTable,
        &rules::table_layout_copy::TableLayoutCopy,
        &rules::undonated_input::UndonatedInput,
        &rules::donation_size_mismatch::DonationSizeMismatch,
        &rules::copied_donated_input::CopiedDonatedInput,
        &rules::stacked_residuals::StackedResiduals,
        &rules::loop_copy::LoopCopy,
        &rules::unrolled_layers::UnrolledLayers,
        &rules::remat_exhausted::RematExhausted,
        &rules::dense_attention_scores::DenseAttentionScores,
        &rules::rng_bits::RngBits,
        &rules::logits_f32::LogitsF32,
        &rules::f32_upcast::F32Upcast,
        &rules::f32_collective::F32Collective,
        &rules::weight_convert::WeightConvert,
        &rules::large_constant::LargeConstant,
        &rules::huge_elementwise::HugeElementwise,
        &rules::scoped_vmem::ScopedVmem,
        &rules::scoped_vmem_near_limit::ScopedVmemNearLimit,
        &rules::vmem_limit_over_capacity::VmemLimitOverCapacity,
        &rules::vmem_block_misaligned::VmemBlockMisaligned,
        &rules::large_allocation::LargeAllocation,
        &rules::retraced_function::RetracedFunction,
    ]
}

/// What a configuration may name: every rule and its thresholds.
pub fn known_rules() -> Vec<KnownRule> {
    let known = |rule: &&dyn Rule| KnownRule {
        name: rule.meta().name,
        level: match rule.meta().level {
            Level::Note => RuleLevel::Note,
            Level::Warn => RuleLevel::Warn,
            Level::Error => RuleLevel::Error,
        },
        thresholds: rule.meta().thresholds.iter().map(|own| (own.name, own.default)).collect(),
    };
    rules().iter().map(known).collect()
}
