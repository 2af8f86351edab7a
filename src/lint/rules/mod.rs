//! The rules, one file each.

pub mod budget;
pub mod debug_print;
pub mod hbm_over_capacity;
pub mod large_allocation;
pub mod replicated_tensor;
pub mod scoped_vmem;
