//! Any report as JSON.

use serde::Serialize;

/// A report as JSON text, indented, with a newline at its end.
///
/// # Errors
/// Where the report cannot be written as JSON (a map with keys that are no strings).
pub fn pretty<T: Serialize + ?Sized>(report: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report).map(|text| text + "\n")
}
