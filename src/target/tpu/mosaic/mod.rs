//! A Pallas kernel of a module in; how much scoped VMEM it needs, of what, and against which limit
//! out (facts: mosaic-vmem).
//!
//! The kernel's body is MLIR bytecode in base64 in the instruction's `backend_config`. What the
//! compiler adds when it generates code (slots of spilled registers) is not in the text: an estimate
//! is a lower bound.

mod buffers;
mod bytecode;
mod config;
mod constants;
mod cursor;
mod deletion;
mod estimate;
mod index_map;
mod internal;
mod ir;
mod kernel;
mod kernels;
mod operation;
mod padding;
mod records;
mod scopes;
mod suggestion;
mod unknown;

pub use config::Number;
pub use estimate::{
    Circumstances, Estimate, Exceeded, LimitSource, Role, ScratchEstimate, WindowEstimate,
};
pub use index_map::Movement;
pub use kernels::Kernels;
pub use padding::Tile;
pub use records::Records;
pub use suggestion::{NewBlock, Suggestion};
pub use unknown::Unknown;
