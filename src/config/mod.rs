//! Settings: configuration and command line as plain data.

mod bytes;
mod settings;

pub use bytes::{Unit, bytes, parse_bytes, percent};
pub use settings::{Materiality, Settings};
