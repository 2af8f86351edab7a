//! A program and its analyses in; findings out. One rule a file in `rules/`.

mod arguments;
mod cause;
mod compiled;
mod composition;
mod context;
mod finding;
mod held;
mod host_transfer;
mod kernel;
mod layers;
mod materiality;
mod mesh;
mod overlap;
mod padding;
mod producer;
mod recompute;
mod registry;
mod rule;
pub mod rules;
mod sparsecore;
mod stacked;
mod upstream;

pub use arguments::{Argument, arguments, last_key, names_parameters, unescape};
pub use cause::{Cause, is_backward_name as is_backward};
pub use compiled::Compiled;
pub use composition::{Composition, Group, Row};
pub use context::{Capacity, Context, shape_text, source_in};
pub use finding::{Confidence, Finding, Level, Location, Provenance, Reference, Remedy, Source};
pub use host_transfer::{HostTransfer, TransferKind, host_transfers};
pub use materiality::TRADE_SHARE;
pub use mesh::{Axis, Mesh};
pub use overlap::fold;
pub use registry::{known_rules, rules as all_rules};
pub use rule::{Kind, Meta, Rule, Threshold};
pub use sparsecore::SparseCore;
