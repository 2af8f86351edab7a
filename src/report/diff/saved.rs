//! A report that was saved as JSON in; one side of a comparison out.

use super::{Said, Side};
use crate::report::report::{Report, SCHEMA};

/// Whether a file begins like JSON.
pub fn is_saved(head: &[u8]) -> bool {
    head.trim_ascii_start().first() == Some(&b'{')
}

/// Reads what `report --format json` wrote.
///
/// # Errors
/// What is wrong with it, and what to do.
pub fn read(bytes: &[u8]) -> Result<Side, String> {
    let side: Side = serde_json::from_slice(bytes).map_err(|error| {
        format!("no report of hlolint: {error}; save one with hlolint report DIR --format json")
    })?;
    if side.schema != SCHEMA {
        return Err(format!("its schema is {}, not {SCHEMA}: save it again", side.schema));
    }
    Ok(side)
}

impl From<Report> for Side {
    fn from(report: Report) -> Side {
        Report {
            schema: report.schema,
            modules: report.modules,
            findings: report.findings.iter().map(Said::from).collect(),
            diagnostics: report.diagnostics,
        }
    }
}
