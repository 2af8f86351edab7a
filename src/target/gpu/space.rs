//! Memory spaces by number: `S(n)` of a layout. XLA's own report prints TPU names for them (facts:
//! gpu-cpu-memory sections 2 and 4).

/// Device memory.
pub const DEVICE: i64 = 0;
/// Device memory that collectives reach from other devices.
pub const COLLECTIVE: i64 = 1;
/// Pinned memory of the host.
pub const HOST: i64 = 5;

/// What a memory space is called in reports.
pub fn name(memory_space: i64) -> &'static str {
    match memory_space {
        DEVICE => "device memory",
        COLLECTIVE => "collective memory",
        2 => "temporaries of their own colour",
        HOST => "pinned host memory",
        _ => "unknown memory",
    }
}
