//! One JSON object a line: every module, every finding, every diagnostic of a check, each with its
//! `type`; the fields are those of `hlolint.check/1`.

use crate::report::check::CheckReport;
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    of: &'a T,
}

/// The report, a line an item.
///
/// # Errors
/// Where an item cannot be written as JSON (a map with keys that are no strings).
pub fn check(report: &CheckReport) -> Result<String, serde_json::Error> {
    let mut out = String::new();
    lines(&mut out, "diagnostic", &report.diagnostics)?;
    if let Some(log) = &report.log {
        lines(&mut out, "incident", &log.incidents)?;
    }
    lines(&mut out, "module", &report.modules)?;
    lines(&mut out, "finding", &report.findings)?;
    lines(&mut out, "statistic", report.statistics.as_deref().unwrap_or_default())?;
    Ok(out)
}

fn lines<T: Serialize>(
    out: &mut String,
    r#type: &'static str,
    items: &[T],
) -> Result<(), serde_json::Error> {
    for of in items {
        out.push_str(&serde_json::to_string(&Line { r#type, of })?);
        out.push('\n');
    }
    Ok(())
}
