//! Memory spaces by number: `S(n)` of a layout. The labels of XLA's own report are misleading for 3,
//! 4 and 5 (facts: tpu-memory section 1); the number is the truth.

/// HBM.
pub const HBM: i64 = 0;
/// Vector memory.
pub const VMEM: i64 = 1;
/// Scalar memory: semaphores of copies.
pub const SMEM: i64 = 2;
/// The common memory of v4.
pub const CMEM: i64 = 3;
/// Memory of the host.
pub const HOST: i64 = 5;
/// Arrays of the SparseCore, in HBM.
pub const SPARSE_CORE_HBM: i64 = 7;

/// What a memory space is called in reports.
pub fn name(memory_space: i64) -> &'static str {
    match memory_space {
        HBM => "HBM",
        VMEM => "VMEM",
        SMEM => "SMEM",
        CMEM => "CMEM",
        4 => "sync flags",
        HOST => "host memory",
        6 => "scalar memory",
        SPARSE_CORE_HBM => "SparseCore HBM",
        8 => "SparseCore scalars",
        10 | 11 | 12 | 15 => "SparseCore memory",
        _ => "unknown memory",
    }
}

/// What offsets in a memory space are multiples of (facts: tpu-memory section 6; 5 is assumed).
pub fn alignment_bytes(memory_space: i64) -> u64 {
    match memory_space {
        HBM | HOST => 16384,
        VMEM | CMEM => 4096,
        6 | SPARSE_CORE_HBM => 512,
        _ => 4,
    }
}

/// Whether arrays of a memory space are not padded at all (facts: tpu-memory sections 1.5, 11.6).
pub fn is_unpadded(memory_space: i64) -> bool {
    matches!(memory_space, 2 | 8 | 10)
}

/// Whether scratch of an async-update in a memory space is placed beforehand (facts: section 11.6).
pub fn holds_placed_scratch(memory_space: i64) -> bool {
    matches!(memory_space, 8 | 10 | 11 | 12 | 15)
}
