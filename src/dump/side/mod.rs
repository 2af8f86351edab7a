//! XLA's own files beside a text in; typed values that borrow them out. One file each.
//!
//! Nothing of this feeds the memory model: it is what `verify` compares with. All readers are linear
//! in the text; a malformed or cut file is a [`SideError`] with its line.

pub mod buffer_assignment;
pub mod gpu_target_config;
pub mod live_range;
pub mod memory_usage_report;
mod scan;
pub mod target_arguments;
mod text_proto;
pub mod tpu_comp_env;

pub use scan::SideError;
