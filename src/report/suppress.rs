//! Findings that the user has accepted: taken out of a report and kept beside it.

use super::Diagnostic;
use super::check::CheckReport;
use crate::config::{Budget, Ignore, Place, Settings};
use crate::lint::Finding;
use schemars::JsonSchema;
use serde::Serialize;

/// A finding that was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Suppressed {
    /// Where it was accepted.
    pub by: SuppressedBy,
    /// Why; empty where nobody said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The finding.
    pub finding: Finding,
}

/// Where a finding was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SuppressedBy {
    /// An ignore of hlolint.toml.
    Ignore,
    /// A baseline.
    Baseline,
}

/// Takes out what the settings ignore, and says which ignores and budgets are of no use any more.
pub(super) fn ignore(report: &mut CheckReport, settings: &Settings) {
    let mut is_used = vec![false; settings.ignores.len()];
    let mut kept = Vec::with_capacity(report.findings.len());
    for finding in std::mem::take(&mut report.findings) {
        let mut first: Option<&Ignore> = None;
        for (ignore, is_used) in settings.ignores.iter().zip(&mut is_used) {
            if matches(ignore, &finding) {
                *is_used = true;
                first = first.or(Some(ignore));
            }
        }
        match first {
            Some(ignore) => report.suppressed.push(Suppressed {
                by: SuppressedBy::Ignore,
                reason: ignore.reason.clone(),
                finding,
            }),
            None => kept.push(finding),
        }
    }
    report.findings = kept;
    let unused = settings.ignores.iter().zip(is_used).filter(|(_, is_used)| !is_used);
    let unused =
        unused.filter(|(ignore, _)| is_about_a_module(ignore, report)).map(|(ignore, _)| {
            let message = format!("this ignore of {} matches no finding", ignore.rule);
            said(&ignore.place, message, "take it out: what it accepted is gone")
        });
    let idle = settings.budgets.iter().filter(|budget| !is_of_a_module(budget, report));
    let idle = idle.map(|budget| {
        let message =
            format!("no program is called {}, this budget holds nothing", budget.module.text());
        said(&budget.place, message, "name the modules as the report does")
    });
    let said: Vec<Diagnostic> = unused.chain(idle).collect();
    report.diagnostics.extend(said);
}

fn matches(ignore: &Ignore, finding: &Finding) -> bool {
    ignore.rule == finding.rule
        && ignore.module.as_ref().is_none_or(|module| module.matches(&finding.module))
        && ignore.op_name.as_ref().is_none_or(|name| {
            finding.op_name.as_ref().is_some_and(|op_name| name.matches(op_name))
        })
        && (ignore.shape.is_none() || ignore.shape == finding.shape)
}

/// Whether a module was checked that an ignore could be about; of others nothing is known.
fn is_about_a_module(ignore: &Ignore, report: &CheckReport) -> bool {
    let mut modules = report.modules.iter();
    modules.any(|module| ignore.module.as_ref().is_none_or(|pattern| pattern.matches(&module.name)))
}

/// Whether a budget is of a module that was checked, or none was.
fn is_of_a_module(budget: &Budget, report: &CheckReport) -> bool {
    report.modules.is_empty() || report.modules.iter().any(|m| budget.module.matches(&m.name))
}

fn said(place: &Place, message: String, help: &str) -> Diagnostic {
    Diagnostic {
        failed: false,
        file: place.file.clone(),
        line: Some(place.line),
        column: Some(place.column),
        message,
        help: help.to_owned(),
        excerpt: None,
    }
}
