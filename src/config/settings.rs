//! The settings of a run.

use super::{Pattern, Place};
use crate::target::Chip;
use crate::target::tpu::RuleSet;
use clap::ValueEnum;
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

impl RuleLevel {
    /// Every level.
    pub const ALL: [RuleLevel; 4] =
        [RuleLevel::Allow, RuleLevel::Note, RuleLevel::Warn, RuleLevel::Error];

    /// The word in hlolint.toml.
    pub const fn name(self) -> &'static str {
        match self {
            RuleLevel::Allow => "allow",
            RuleLevel::Note => "note",
            RuleLevel::Warn => "warn",
            RuleLevel::Error => "error",
        }
    }
}

/// The level from which findings make a run fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Notes, too.
    Note,
    /// Warnings and errors.
    #[default]
    Warn,
    /// Errors only.
    Error,
    /// Findings never make the run fail.
    Never,
}

impl FailOn {
    /// Every level.
    pub const ALL: [FailOn; 4] = [FailOn::Note, FailOn::Warn, FailOn::Error, FailOn::Never];

    /// The word on the command line and in hlolint.toml.
    pub const fn name(self) -> &'static str {
        match self {
            FailOn::Note => "note",
            FailOn::Warn => "warn",
            FailOn::Error => "error",
            FailOn::Never => "never",
        }
    }
}

/// Findings that are accepted. Every part that is given must match.
#[derive(Clone, Debug, PartialEq)]
pub struct Ignore {
    /// The rule.
    pub rule: String,
    /// The module's name.
    pub module: Option<Pattern>,
    /// The framework's name of the operation.
    pub op_name: Option<Pattern>,
    /// The shape as findings print it: `f32[8,128]`.
    pub shape: Option<String>,
    /// Why it is accepted.
    pub reason: String,
    /// Where it is said.
    pub place: Place,
}

/// What the programs of a name may need on each device.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The modules.
    pub module: Pattern,
    /// The most that all allocations may take, in bytes.
    pub max_total_bytes: Option<u64>,
    /// The most that may be alive at the peak, in bytes.
    pub max_peak_bytes: Option<u64>,
    /// Where it is said.
    pub place: Place,
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
    /// The flag `xla_tpu_scoped_vmem_limit_kib` in bytes, instead of the dump's own.
    pub vmem_limit_bytes: Option<u64>,
    /// HBM that something else uses: other live arrays, program code.
    pub reserve_bytes: u64,
    /// The most that a program may need, where that is less than what the chip has.
    pub max_total_bytes: Option<u64>,
    /// When bytes matter.
    pub materiality: Materiality,
    /// What differs for single rules, by name.
    pub rules: BTreeMap<String, RuleSettings>,
    /// Findings that are accepted.
    pub ignores: Vec<Ignore>,
    /// What programs may need.
    pub budgets: Vec<Budget>,
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
