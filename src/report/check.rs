//! What `check` says: one report a module, and the findings.

use crate::config::Settings;
use crate::dump::{Dump, Missing, parallel};
use crate::lint::{Composition, Context, Finding, Level, Row, Source};
use crate::target::gpu;
use crate::text::Excerpt;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// The name and version of the JSON form.
pub const SCHEMA: &str = "hlolint.check/1";

/// The result of a run of `check`.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Every module, the worst first.
    pub modules: Vec<ModuleReport>,
    /// Every finding, the worst first.
    pub findings: Vec<Finding>,
    /// What could not be read, and other things a reader should know.
    pub diagnostics: Vec<Diagnostic>,
}

impl CheckReport {
    /// How many findings are of a level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// The findings of each text, by its file.
    pub fn findings_by_file(&self) -> FxHashMap<&str, Vec<&Finding>> {
        let mut by_file: FxHashMap<&str, Vec<&Finding>> = FxHashMap::default();
        for finding in &self.findings {
            by_file.entry(finding.file().unwrap_or("")).or_default().push(finding);
        }
        by_file
    }
}

/// Something that went wrong with an input, or that a reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Whether the input could not be read or only needs a word.
    pub failed: bool,
    /// The file or folder.
    pub file: String,
    /// 1-based line, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based column in bytes, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
    /// The place in the text, for a terminal.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

/// Whether a program fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It needs more than there is.
    DoesNotFit,
    /// It needs at most what there is.
    Fits,
    /// There is no limit to compare with: host memory.
    NoLimit,
    /// A lower bound is below what there is; more is not known.
    FitsAtLeast,
    /// The capacity is not known.
    Unknown,
}

/// What a module needs.
#[derive(Debug, Serialize)]
pub struct ModuleReport {
    /// The module's name.
    pub name: String,
    /// The text that was analysed.
    pub file: String,
    /// Which stage of compilation the text is.
    pub stage: String,
    /// `tpu`, `gpu` or `cpu`.
    pub backend: &'static str,
    /// The chip: a TPU or GPU of the table, or what a GPU calls itself.
    pub chip: Option<String>,
    /// What the backend calls the memory of a device: `HBM`, `device memory`, `memory`.
    pub memory: &'static str,
    /// The rules of which compiler release were used, and why.
    pub compiler: String,
    /// Devices that run it.
    pub devices: u64,
    /// The axes of the mesh.
    pub mesh: Vec<MeshAxis>,
    /// Whether it fits.
    pub verdict: Verdict,
    /// How good the figures are: `exact`, `estimate` or `lower-bound`.
    pub figures: &'static str,
    /// Why they are not exact.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// HBM of one device.
    pub hbm: Hbm,
    /// Other memory spaces.
    pub spaces: Vec<Space>,
    /// What XLA:GPU steers by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_limits: Option<gpu::Limits>,
    /// The program point at which most is alive.
    pub peak: Option<Peak>,
    /// Other files with the same text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<String>,
}

/// An axis of the mesh.
#[derive(Debug, Serialize)]
pub struct MeshAxis {
    /// The user's name.
    pub name: String,
    /// Devices along it.
    pub size: u64,
}

/// HBM of one device. The split sums to `total_bytes`.
#[derive(Debug, Default, Serialize)]
pub struct Hbm {
    /// What the compiler may use on the chip.
    pub capacity_bytes: Option<u64>,
    /// What is left of it after `--reserve`, or `--max-total` where that is less.
    pub available_bytes: Option<u64>,
    /// What XLA compares with the capacity.
    pub required_bytes: u64,
    /// All allocations.
    pub total_bytes: u64,
    /// Parameters, outputs and constants, and the temporaries alive at the peak.
    pub peak_live_bytes: Option<u64>,
    /// Parameters, donated ones included.
    pub parameters_bytes: u64,
    /// Results that do not share a parameter's memory.
    pub outputs_bytes: u64,
    /// Parameters whose memory a result takes (part of `parameters_bytes`).
    pub aliased_bytes: u64,
    /// Constants.
    pub constants_bytes: u64,
    /// Values of computations applied to elements.
    pub thread_local_bytes: u64,
    /// Temporaries alive at the peak.
    pub temporaries_bytes: u64,
    /// Packing, alignment, tuple tables.
    pub fragmentation_bytes: u64,
}

impl Hbm {
    /// What is missing; 0 where it fits.
    pub fn exceeded_bytes(&self) -> u64 {
        self.available_bytes.map_or(0, |available| self.required_bytes.saturating_sub(available))
    }
}

/// Another memory space.
#[derive(Debug, Serialize)]
pub struct Space {
    /// Its number in layouts.
    pub memory_space: i64,
    /// Its name.
    pub name: &'static str,
    /// All allocations.
    pub total_bytes: u64,
}

/// The program point at which most is alive.
#[derive(Debug, Serialize)]
pub struct Peak {
    /// The position in the flattened schedule.
    pub point: u32,
    /// The length of the schedule.
    pub points: u32,
    /// The instruction there.
    pub instruction: String,
    /// Whether it is part of the backward pass.
    pub backward: bool,
    /// Whether it sits in a loop.
    pub in_loop: bool,
    /// Its line.
    pub source: Option<Source>,
    /// What is alive, grouped by cause.
    pub alive: Composition,
    /// The largest single buffer alive.
    pub largest: Option<Row>,
}

impl From<crate::dump::Diagnostic> for Diagnostic {
    fn from(found: crate::dump::Diagnostic) -> Self {
        Diagnostic {
            failed: true,
            file: found.path,
            line: found.line.and_then(|line| u32::try_from(line).ok()),
            column: None,
            message: found.reason,
            help: found.remedy,
            excerpt: None,
        }
    }
}

/// Checks all programs of a dump, in parallel over programs; the order of the result depends on the
/// programs alone. `done` is called behind each program.
pub fn check(dump: &Dump, settings: &Settings, done: &(dyn Fn() + Sync)) -> CheckReport {
    check_and(dump, settings, done, |_| ()).0
}

/// The same; of every module also what `then` takes from its analyses, in the order of the modules.
pub fn check_and<T: Send>(
    dump: &Dump,
    settings: &Settings,
    done: &(dyn Fn() + Sync),
    then: impl Fn(&Context<'_>) -> T + Sync,
) -> (CheckReport, Vec<T>) {
    let outcomes = parallel::map(dump.programs.iter().collect(), |program| {
        let outcome = super::program::analyse(program, settings, &then);
        done();
        outcome
    });
    let mut modules = Vec::new();
    let mut report = CheckReport {
        schema: SCHEMA,
        modules: Vec::new(),
        findings: Vec::new(),
        diagnostics: dump.diagnostics.iter().cloned().map(Diagnostic::from).collect(),
    };
    report.diagnostics.extend(missing(&dump.missing));
    for outcome in outcomes {
        modules.extend(outcome.module);
        report.findings.extend(outcome.findings);
        report.diagnostics.extend(outcome.diagnostics);
    }
    let over = |module: &ModuleReport| module.hbm.exceeded_bytes();
    modules.sort_by(|(a, _), (b, _)| {
        (over(b), b.hbm.required_bytes)
            .cmp(&(over(a), a.hbm.required_bytes))
            .then(a.file.cmp(&b.file))
    });
    let (modules, more) = modules.into_iter().unzip();
    report.modules = modules;
    report
        .findings
        .sort_by(|a, b| (b.level, b.bytes).cmp(&(a.level, a.bytes)).then(a.file().cmp(&b.file())));
    (report, more)
}

/// What should be there and is not, each kind once with how many there are of it.
fn missing(all: &[Missing]) -> Vec<Diagnostic> {
    Missing::by_kind(all)
        .into_iter()
        .map(|(first, count)| Diagnostic {
            failed: false,
            file: first.path.clone(),
            line: None,
            column: None,
            message: match count {
                1 => first.kind.to_string(),
                _ => format!("{} (and {} more like it)", first.kind, count - 1),
            },
            help: first.help(),
            excerpt: None,
        })
        .collect()
}
