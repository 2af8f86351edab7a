//! XLA:TPU.

mod chip;

pub use chip::Chip;
