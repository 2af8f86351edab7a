//! All rules, in the order in which they speak: where two find the same bytes, the first wins.

use super::{Rule, rules};

/// Every rule.
pub fn rules() -> &'static [&'static dyn Rule] {
    &[
        &rules::hbm_over_capacity::HbmOverCapacity,
        &rules::hbm_near_capacity::HbmNearCapacity,
        &rules::replicated_tensor::ReplicatedTensor,
        &rules::debug_print::DebugPrint,
        &rules::stacked_residuals::StackedResiduals,
        &rules::loop_copy::LoopCopy,
        &rules::unrolled_layers::UnrolledLayers,
        &rules::remat_exhausted::RematExhausted,
        &rules::scoped_vmem::ScopedVmem,
        &rules::large_allocation::LargeAllocation,
    ]
}
