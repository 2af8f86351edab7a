//! What of a program depends on neither batch nor sequence: state, gradients, copies of weights.

use super::{Batch, Cause, Context};
use crate::config::total_bytes;
use crate::memory::AllocationKind;
use rustc_hash::FxHashSet;

/// Bytes alive at the peak that no change of activations can remove. An estimate: what an argument is
/// for is told from donation and from its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Arguments that the program updates, and weights.
    pub state_bytes: u64,
    /// Values of the backward pass as large as an argument.
    pub gradients_bytes: u64,
    /// Arguments in another type or layout.
    pub copies_bytes: u64,
}

impl Floor {
    /// Looks at what is alive at the peak.
    pub fn of(context: &Context<'_>) -> Floor {
        let weights: FxHashSet<i64> = context
            .arguments
            .iter()
            .filter(|argument| argument.is_parameters())
            .map(|argument| argument.number)
            .collect();
        // Where nothing tells what is input, arguments are no less fixed than weights.
        let is_all_fixed = Batch::of(context).is_none();
        let state = context.profile.allocations.iter().filter(|allocation| {
            allocation.memory_space == 0
                && matches!(&allocation.kind, AllocationKind::Parameter { number, .. }
                    if is_all_fixed || allocation.maybe_live_out || weights.contains(number))
        });
        Floor {
            state_bytes: total_bytes(state.map(|allocation| allocation.size_bytes)),
            gradients_bytes: context.composition.bytes(Cause::Gradient),
            copies_bytes: context.composition.bytes(Cause::ArgumentCopy),
        }
    }

    /// All of it.
    pub fn bytes(self) -> u64 {
        total_bytes([self.state_bytes, self.gradients_bytes, self.copies_bytes])
    }

    /// What it consists of: `arguments, gradients, weight copies`.
    pub fn words(self) -> String {
        let parts = [
            (self.state_bytes, "arguments"),
            (self.gradients_bytes, "gradients"),
            (self.copies_bytes, "weight copies"),
        ];
        let named: Vec<&str> =
            parts.iter().filter(|(bytes, _)| *bytes > 0).map(|(_, word)| *word).collect();
        named.join(", ")
    }
}
