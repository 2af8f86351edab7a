//! What differs between machines: tiling, chips, compiler releases, memory spaces.

mod policy;
pub mod tpu;

pub use policy::Backend;
