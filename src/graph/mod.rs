//! A module in; its dataflow graph out: operands, control edges and calls as one petgraph graph, the
//! kinds of computations, who calls whom, orders, loops with their trip counts.

mod dataflow;
mod elementwise;
mod kinds;
mod loops;
mod order;
mod repetition;

pub use dataflow::{Caller, Dataflow, Edge};
pub use elementwise::is_elementwise_on;
pub use kinds::ComputationKind;
pub use loops::{Loop, TripCountSource};
pub use repetition::Repetition;
