//! The settings of a run.

use crate::target::Chip;
use crate::target::tpu::RuleSet;

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
}
