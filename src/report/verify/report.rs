//! How all modules of some paths compare.

use super::{Count, Figures};
use crate::dump::Diagnostic;
use serde::Serialize;

/// The version of the JSON form.
const SCHEMA: &str = "hlolint.verify/1";

/// How one module compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModuleReport {
    /// The module's name.
    pub name: String,
    /// The text it was read from.
    pub file: String,
    /// `tpu`, `gpu` or `cpu`.
    pub backend: &'static str,
    /// The TPU or GPU; `None` where it is not known or there is none.
    pub chip: Option<String>,
    /// The rules of the compiler release that were chosen, and why.
    pub compiler: String,
    /// What the backend calls the memory of a device: `HBM`, `device memory`, `memory`.
    pub memory: &'static str,
    /// What must be known to read the comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<&'static str>,
    /// Why our figures are an estimate; empty where they should be XLA's own.
    pub caveats: Vec<String>,
    /// Equal modules elsewhere, compared once.
    pub duplicates: Vec<String>,
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
}

impl ModuleReport {
    /// How many modules this one stands for.
    fn count(&self) -> u64 {
        1 + self.duplicates.len() as u64
    }
}

/// A module that XLA wrote nothing beside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCompared {
    /// The text.
    pub file: String,
    /// Why.
    pub why: &'static str,
}

/// Sums over all modules, each duplicate counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scores {
    /// Modules of which all that was compared agrees.
    pub modules: Count,
    /// Sizes of values.
    pub sizes: Count,
    /// Modules whose order of execution agrees.
    pub schedules: Count,
    /// Live ranges.
    pub live_ranges: Count,
    /// Modules whose live peak of HBM agrees.
    pub peaks: Count,
    /// Modules whose XLA live-range peak agrees: sum, moment, list.
    pub xla_live_range_peaks: Count,
    /// Modules whose HBM total agrees.
    pub hbm_totals: Count,
    /// Totals of all memory spaces that are compared.
    pub space_totals: Count,
    /// Modules whose required HBM agrees.
    pub required: Count,
    /// Allocations.
    pub allocations: Count,
    /// Modules whose list of allocations agrees.
    pub allocation_lists: Count,
    /// Offsets of values.
    pub offsets: Count,
}

/// Everything that `verify` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The version of this form.
    pub schema: &'static str,
    /// The modules.
    pub modules: Vec<ModuleReport>,
    /// Modules without anything to compare with.
    pub not_compared: Vec<NotCompared>,
    /// What could not be read.
    pub diagnostics: Vec<Diagnostic>,
    /// Sums.
    pub scores: Scores,
    /// Modules of which all that was compared agrees.
    pub exact: u64,
    /// Modules compared.
    pub of: u64,
}

impl Report {
    /// Adds up.
    pub fn new(
        modules: Vec<ModuleReport>,
        not_compared: Vec<NotCompared>,
        diagnostics: Vec<Diagnostic>,
    ) -> Report {
        let mut scores = Scores::default();
        for module in &modules {
            for _ in 0..module.count() {
                scores.add(&module.figures);
            }
        }
        let Count { equal: exact, of } = scores.modules;
        Report { schema: SCHEMA, modules, not_compared, diagnostics, scores, exact, of }
    }

    /// Whether all figures of HBM agree.
    pub fn is_hbm_exact(&self) -> bool {
        self.modules.iter().all(|module| module.figures.hbm_exact)
    }
}

impl Scores {
    fn add(&mut self, figures: &Figures) {
        self.modules.add(figures.exact);
        self.sizes += figures.sizes.unwrap_or_default();
        self.live_ranges += figures.live_ranges.unwrap_or_default();
        self.allocations += figures.allocations.unwrap_or_default();
        self.offsets += figures.offsets.unwrap_or_default();
        let add = |score: &mut Count, is_exact: Option<bool>| {
            if let Some(is_exact) = is_exact {
                score.add(is_exact);
            }
        };
        add(&mut self.schedules, figures.schedule.map(Count::is_exact));
        add(&mut self.peaks, figures.peak.map(|peak| peak.is_exact()));
        add(
            &mut self.xla_live_range_peaks,
            figures.xla_live_range_peak.map(|peak| peak.is_exact()),
        );
        add(&mut self.hbm_totals, figures.total.map(|total| total.is_exact()));
        add(&mut self.required, figures.required.map(|required| required.is_exact()));
        add(&mut self.allocation_lists, figures.allocations.map(Count::is_exact));
        for space in figures.spaces.iter().filter(|space| space.compared) {
            self.space_totals.add(space.total.is_exact());
        }
    }
}
