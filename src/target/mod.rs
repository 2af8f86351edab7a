//! What differs between machines. A chip, a compiler release or a backend name in; the [`Policy`]
//! out that the memory analysis asks: sizes, alignment, which values share memory, how heaps pack.

mod chip;
pub mod cpu;
pub mod gpu;
mod policy;
pub mod tpu;

pub use chip::Chip;
pub use policy::{
    AsyncStart, Attempt, Backend, BufferOrder, FastMerge, Otherwise, Policy, Rules, TableOwner,
    natural_bytes, unpadded_bytes,
};
