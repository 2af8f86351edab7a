//! An error text or a compile log in; what it says, as incidents with their figures, out.
//!
//! Nothing here is analysis: a figure is what the compiler printed, and how exact a printed figure can
//! be. Logs may have many megabytes, prefixes on every line, and anything around the messages; they
//! are scanned for the fixed words of each message, so that the work is linear in their size.

mod anchor;
mod category;
mod incident;
mod kernel;
mod line;
mod memory_space;
mod other;
mod program;
mod resharding;
mod size;
mod table;

pub use anchor::read;
pub use category::{Category, Form};
pub use incident::{Incident, Log, Output, Remat, Requirement, Subject, Usage};
pub use line::between;
pub use resharding::Resharding;
pub use size::{Size, printed};
pub use table::Row;
