//! A dataflow graph and a policy in; sizes, live ranges, allocations, totals and the peak out.

mod profile;

pub use profile::{
    Allocation, AllocationId, AllocationKind, Buffer, BufferId, Exactness, LiveRange,
    MemoryProfile, Slice, SpaceUsage, Value, ValueId,
};
