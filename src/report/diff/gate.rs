//! The gate: how much a module may grow.

use super::DiffReport;
use crate::config::Allowance;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether no module grew by more than was allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gate {
    /// What was allowed, as it was said: `2%`, `256.00 MiB`.
    pub max_increase: String,
    /// Whether all modules held to it.
    pub holds: bool,
    /// Those that did not.
    pub exceeded: Vec<Exceeded>,
}

/// A module that grew by more than was allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exceeded {
    /// Its name.
    pub name: String,
    /// The text of the new side that was analysed: tells modules of one name apart.
    pub file: String,
    /// What was allowed.
    pub allowed_bytes: u64,
    /// How much more it requires than before.
    pub increase_bytes: u64,
}

/// Holds what each module requires against what it required. A module that is new has grown from
/// nothing only where it replaces none, and is not held against anything.
pub fn gate(report: &DiffReport, max_increase: Allowance) -> Gate {
    let exceeded: Vec<Exceeded> = report
        .modules
        .iter()
        .filter_map(|module| {
            let required = module.hbm.required;
            let allowed_bytes = max_increase.of(required.old_bytes);
            let increase_bytes = required.increase_bytes();
            (increase_bytes > allowed_bytes).then(|| Exceeded {
                name: module.name.clone(),
                file: module.files.new.clone(),
                allowed_bytes,
                increase_bytes,
            })
        })
        .collect();
    Gate { max_increase: max_increase.to_string(), holds: exceeded.is_empty(), exceeded }
}
