//! Settings: configuration and command line as plain data.

mod allowance;
mod bytes;
mod file;
mod find;
pub mod keys;
mod nearest;
mod pattern;
mod place;
mod settings;
mod values;
mod write;

pub use allowance::Allowance;
pub use bytes::{Unit, bytes, bytes_as_xla, fine_percent, parse_bytes, percent, total_bytes};
pub use file::{FILE_NAME, File, KnownRule, read};
pub use find::find_upward;
pub use nearest::{nearest, unknown};
pub use pattern::Pattern;
pub use place::{ConfigError, Place};
pub use settings::{Budget, FailOn, Ignore, Materiality, RuleLevel, RuleSettings, Settings};
pub use write::write;
