//! XLA:CPU: what an array costs, how offsets are aligned, how memory is assigned (facts: gpu-cpu-memory).
//! There is no limit: host memory is what it is.

use super::policy::{Rules, dense_bytes, dynamic_size_bytes};
use crate::hlo::{ArrayShape, ElementType};

/// What offsets are multiples of: the largest vector alignment of the x86-64 wheels (section 4).
pub const ALIGNMENT_BYTES: u64 = 64;

/// How memory is assigned.
pub const RULES: Rules = Rules::BEST_FIT_BY_SIZE;

/// The size of an array: its elements, and the actual sizes of bounded dimensions (section 3).
pub fn array_bytes(array: &ArrayShape) -> Option<u64> {
    if array.element_type == ElementType::Opaque {
        // A pointer.
        return Some(8);
    }
    dense_bytes(array)?.checked_add(dynamic_size_bytes(array))
}

/// What a memory space is called in reports.
pub fn space_name(memory_space: i64) -> &'static str {
    match memory_space {
        0 => "memory",
        _ => "unknown memory",
    }
}
