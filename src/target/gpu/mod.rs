//! XLA:GPU: cards, compiler releases, what an array costs, memory spaces, and which operand's memory a
//! result may take (facts: gpu-cpu-memory).

mod card;
mod fusion;
mod hero;
mod limits;
mod release;
mod sharing;
mod slices;
pub mod space;

pub use card::Card;
pub use limits::{Limits, limits};
pub use release::{RuleSet, detect};
pub use sharing::{Heroes, can_share};
pub use slices::can_share_slices;

use super::policy::{Rules, dense_bytes, dynamic_size_bytes};
use crate::hlo::ArrayShape;

/// How memory is assigned.
pub const RULES: Rules = Rules::BEST_FIT_BY_SIZE;

/// The size of an array: its elements, and the actual sizes of bounded dimensions (section 3).
pub fn array_bytes(array: &ArrayShape) -> Option<u64> {
    dense_bytes(array)?.checked_add(dynamic_size_bytes(array))
}
