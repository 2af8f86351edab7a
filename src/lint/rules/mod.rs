//! The rules, one file each.

pub mod budget;
pub mod debug_print;
pub mod hbm_near_capacity;
pub mod hbm_over_capacity;
pub mod large_allocation;
pub mod loop_copy;
pub mod narrow_table;
pub mod remat_exhausted;
pub mod replicated_tensor;
pub mod retraced_function;
pub mod scoped_vmem;
pub mod scoped_vmem_near_limit;
pub mod sparsecore_dominates;
pub mod stacked_residuals;
pub mod table_layout_copy;
pub mod unrolled_layers;
pub mod unsharded_table;
pub mod vmem_block_misaligned;
pub mod vmem_limit_over_capacity;
