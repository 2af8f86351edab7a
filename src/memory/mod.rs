//! A dataflow graph and a policy in; sizes, live ranges, allocations, totals and the peak out.
//!
//! The order of work is XLA's: `values` says which instruction defines what and where else it is
//! held, `aliasing` which values must share a buffer, `schedule` and `live_ranges` when each
//! is alive, `sizes` how large it is. These do not depend on how memory is assigned and stand in an
//! [`Analysis`]. `assign` gives static allocations, `heap` packs the rest, `combine` puts the
//! allocations into XLA's order, `usage` sums up.

mod aliasing;
mod analysis;
mod assign;
mod attempts;
mod combine;
mod curve;
mod draft;
mod edits;
mod events;
mod heap;
mod in_place;
mod live_ranges;
mod origin;
mod phis;
mod profile;
mod reuse;
mod schedule;
mod sharing;
mod sharing_without_hints;
mod sizes;
mod tree;
mod unscheduled;
mod usage;
mod values;

use crate::graph::Dataflow;
use crate::target::Policy;

pub use analysis::Analysis;
pub use curve::{Curve, live_bytes, live_unpadded_bytes};
pub use edits::Edit;
pub use origin::{Origin, origin, origin_at};
pub use profile::{
    Allocation, AllocationId, AllocationKind, Buffer, BufferId, Exactness, LiveRange,
    MemoryProfile, Slice, SpaceUsage, Value, ValueId,
};

/// The memory analysis of a module.
///
/// # Errors
/// A module whose sizes overflow, or whose values cannot be followed.
pub fn analyse(graph: &Dataflow<'_>, policy: &Policy) -> Result<MemoryProfile, MemoryError> {
    Analysis::new(graph, policy)?.profile(&[])
}

/// What memory would be after edits: liveness and packing once more. For several questions about one
/// module make the [`Analysis`] once and ask [`Analysis::profile`].
///
/// # Errors
/// As [`analyse`].
pub fn what_if(
    graph: &Dataflow<'_>,
    policy: &Policy,
    edits: &[Edit],
) -> Result<MemoryProfile, MemoryError> {
    Analysis::new(graph, policy)?.profile(edits)
}

/// Why a module has no memory analysis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// Bytes do not fit 64 bits, or there are more values than 32 bits count.
    #[error("the program is too large: sizes or counts overflow")]
    TooLarge,
    /// A tuple that contains itself.
    #[error("a tuple shape contains itself")]
    MalformedShape,
    /// Instructions that only forward each other's operands in a circle.
    #[error("instructions forward each other's values in a circle")]
    EndlessForwarding,
    /// The size of an array cannot be computed.
    #[error(
        "the size of the result of %{instruction} does not fit 64 bits or its tiles are malformed"
    )]
    Size {
        /// The instruction.
        instruction: String,
    },
}
