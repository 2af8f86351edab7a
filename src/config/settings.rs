//! The settings of a run.

use crate::target::Chip;
use crate::target::tpu::RuleSet;
use std::collections::BTreeMap;

/// When bytes matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Materiality {
    /// A finding below this share of the chip's HBM is a note, unless the program does not fit.
    pub min_share: f64,
    /// A finding below this many bytes is not reported.
    pub min_bytes: u64,
}

impl Default for Materiality {
    fn default() -> Self {
        Materiality { min_share: 0.01, min_bytes: 1 << 20 }
    }
}

/// What the user says of one rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSettings {
    /// The level that takes the place of the rule's own.
    pub level: Option<RuleLevel>,
    /// [`Materiality::min_share`] of this rule.
    pub min_share: Option<f64>,
    /// [`Materiality::min_bytes`] of this rule.
    pub min_bytes: Option<u64>,
    /// The rule's own thresholds, by name.
    pub thresholds: BTreeMap<String, f64>,
}

/// The level that a user gives a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleLevel {
    /// Not reported.
    Allow,
    /// Good to know.
    Note,
    /// Costs memory that matters.
    Warn,
    /// Must not be.
    Error,
}

/// What the user asked for, apart from paths and formats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The chip, instead of the dump's own.
    pub chip: Option<Chip>,
    /// Take `chip` even where the dump names another one.
    pub force_chip: bool,
    /// The rules of a compiler release, instead of those found out from the dump.
    pub compiler: Option<RuleSet>,
    /// HBM of a device, instead of the chip's.
    pub hbm_bytes: Option<u64>,
    /// HBM that something else uses: other live arrays, program code.
    pub reserve_bytes: u64,
    /// The most that a program may need, where that is less than what the chip has.
    pub max_total_bytes: Option<u64>,
    /// When bytes matter.
    pub materiality: Materiality,
    /// What differs for single rules, by name.
    pub rules: BTreeMap<String, RuleSettings>,
}

impl Settings {
    /// When bytes matter to a rule.
    pub fn materiality_of(&self, rule: &str) -> Materiality {
        let own = self.rules.get(rule);
        let all = self.materiality;
        Materiality {
            min_share: own.and_then(|own| own.min_share).unwrap_or(all.min_share),
            min_bytes: own.and_then(|own| own.min_bytes).unwrap_or(all.min_bytes),
        }
    }
}
