//! Results in; what a command says, as serialisable data, out.

pub mod baseline;
pub mod check;
mod diagnostic;
pub mod diff;
pub mod equal;
pub mod explain;
mod machine;
mod module;
pub mod pairing;
pub mod parse;
pub mod program;
#[allow(clippy::module_inception, reason = "each command has a file of its name")]
pub mod report;
pub mod rules;
pub mod snapshot;
mod sources;
pub mod suppress;
pub mod triage;
pub mod verify;
pub mod viewer;
pub mod vmem;
pub mod way_out;

pub use crate::dump::is_archive;
pub use sources::Sources;

pub use crate::config::{Allowance, Unit, bytes, bytes_as_xla, fine_percent, percent, total_bytes};
pub use crate::lint::{Cause, Finding, Group, Level, Remedy, Row, Source};
pub use crate::log::{Category, Form, Incident, Resharding, Row as TableRow, Size, printed};
pub use crate::text::Excerpt;
pub use diagnostic::Diagnostic;
pub use module::{Hbm, MeshAxis, ModuleReport, Peak, Space, Verdict};
