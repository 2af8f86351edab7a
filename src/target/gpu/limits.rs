//! What XLA:GPU aims at: the scheduler's and rematerialization's limits (facts: gpu-cpu-memory
//! section 12). They steer the compiler; no compile fails by them.

/// Limits that the compiler steers by. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What the scheduler lets temporaries take.
    pub scheduler_bytes: u64,
    /// Below which rematerialization tries to bring the program.
    pub rematerialization_bytes: u64,
}

/// The limits on a card of some memory: 80 % of it less arguments and results in device memory, of
/// that `xla_gpu_memory_limit_slop_factor`; rematerialization counts the results itself.
/// `arguments_and_results_bytes` has donated ones once, `results_bytes` has all results.
pub fn limits(memory_bytes: u64, arguments_and_results_bytes: u64, results_bytes: u64) -> Limits {
    const SLOP_PERCENT: u128 = 95;
    let base = u128::from(memory_bytes) * 80 / 100;
    let left = base.saturating_sub(u128::from(arguments_and_results_bytes));
    let scheduler_bytes = u64::try_from(left * SLOP_PERCENT / 100).unwrap_or(u64::MAX);
    let rematerialization_bytes = scheduler_bytes.saturating_add(results_bytes);
    Limits { scheduler_bytes, rematerialization_bytes }
}
