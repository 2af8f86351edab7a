//! XLA:TPU: chips, compiler releases and their rules, padded sizes, default layouts, memory spaces.

mod chip;
mod hints;
mod layout;
pub mod mosaic;
mod release;
pub mod space;
pub mod sparsecore;
mod tiling;

pub use chip::Chip;
pub use hints::{Hint, SharingHints};
pub use layout::default_layout;
pub use release::{Detected, OomForm, RELEASES, Release, RuleSet, Signs, detect};
pub use tiling::padded_bytes;
