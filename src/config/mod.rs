//! Settings: configuration and command line as plain data.

mod bytes;
mod settings;

pub use bytes::{Unit, bytes, bytes_as_xla, fine_percent, parse_bytes, percent, total_bytes};
pub use settings::{Materiality, RuleLevel, RuleSettings, Settings};
