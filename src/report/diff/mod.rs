//! Two reports in; what changed between them out: totals with their split, what is alive at the peak,
//! buffers, kernels, findings, and why where the data shows it.

mod buffers;
mod findings;
mod gate;
mod kernels;
mod reasons;
mod saved;

use crate::lint::Cause;
use crate::report::pairing::{Identity, folders, pair, signature};
use crate::report::report::{Module, Report};
use crate::report::{Diagnostic, Hbm, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

pub use buffers::{BufferChange, Held, What};
pub use findings::{Became, FindingChange, Said};
pub use gate::{Exceeded, Gate, gate};
pub use kernels::KernelChange;
pub use reasons::{Reason, ReasonKind};
pub use saved::{is_saved, read};

/// The name and version of the JSON form.
pub const SCHEMA: &str = "hlolint.diff/1";

/// A report as one side of a comparison: analysed now, or saved before.
pub type Side = Report<Said>;

/// The result of a run of `diff`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffReport {
    /// The name and version of this form.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Every module that both sides have, the one that grew most first.
    pub modules: Vec<ModuleDiff>,
    /// Modules of the new side alone.
    pub added: Vec<Alone>,
    /// Modules of the old side alone.
    pub removed: Vec<Alone>,
    /// Whether no module grew by more than was allowed; null where nothing was said.
    pub gate: Option<Gate>,
    /// What could not be read, and other things a reader should know.
    pub diagnostics: Vec<Diagnostic>,
}

/// A module that one side alone has.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Alone {
    /// Its name.
    pub name: String,
    /// The text that was analysed.
    pub file: String,
    /// What XLA compares with the capacity.
    pub required_bytes: u64,
}

/// A figure on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// On the old side.
    pub old_bytes: u64,
    /// On the new side.
    pub new_bytes: u64,
}

/// A text on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Words {
    /// On the old side.
    pub old: String,
    /// On the new side.
    pub new: String,
}

/// What changed in a module.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModuleDiff {
    /// Its name on the new side.
    pub name: String,
    /// Its name on the old side, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_name: Option<String>,
    /// The texts that were analysed.
    pub files: Words,
    /// The compilers, where they differ: what changed may be their doing and not the program's.
    pub compilers: Option<Words>,
    /// The machines, where they differ.
    pub machines: Option<Words>,
    /// What the backend calls the memory of a device.
    pub memory: String,
    /// Whether it fits.
    pub verdicts: Verdicts,
    /// Memory of one device.
    pub hbm: HbmChange,
    /// Other memory spaces.
    pub spaces: Vec<SpaceChange>,
    /// What is alive at the peak, by cause; empty, as the reasons and the buffers are, where a side has
    /// no schedule.
    pub alive_at_peak: Vec<CauseChange>,
    /// What the data shows of why it changed.
    pub reasons: Vec<Reason>,
    /// Buffers that came, went, grew, shrank or moved, the largest change first.
    pub buffers: Vec<BufferChange>,
    /// Kernels whose scoped VMEM changed.
    pub kernels: Vec<KernelChange>,
    /// Findings that came or went, the worst first.
    pub findings: Vec<FindingChange>,
    /// Which module of the old side it is, and which of the new, by position.
    #[serde(skip)]
    pub(in crate::report) sides: [usize; 2],
}

/// Whether a module fits, on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdicts {
    /// On the old side.
    pub old: Verdict,
    /// On the new side.
    pub new: Verdict,
}

/// Memory of one device on both sides; the fields are those of a module's `hbm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HbmChange {
    /// What XLA compares with the capacity.
    pub required: Change,
    /// What SparseCores need for embedding tables (part of `required`).
    pub sparsecore: Change,
    /// All allocations.
    pub total: Change,
    /// Parameters, outputs and constants, and the temporaries alive at the peak; null where a side has
    /// no schedule.
    pub peak_live: Option<Change>,
    /// Parameters, donated ones included.
    pub parameters: Change,
    /// Results that do not share a parameter's memory.
    pub outputs: Change,
    /// Parameters whose memory a result takes (part of `parameters`).
    pub aliased: Change,
    /// Constants.
    pub constants: Change,
    /// Values of computations applied to elements.
    pub thread_local: Change,
    /// Temporaries alive at the peak.
    pub temporaries: Change,
    /// Packing, alignment, tuple tables.
    pub fragmentation: Change,
    /// What padding adds to what is alive at the peak.
    pub padding: Change,
}

/// Another memory space on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpaceChange {
    /// Its number in layouts.
    pub memory_space: i64,
    /// Its name.
    pub name: String,
    /// All allocations.
    pub total: Change,
}

/// What is alive at the peak for one cause, on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CauseChange {
    /// The cause.
    pub cause: Cause,
    /// Its bytes.
    pub alive: Change,
}

impl Change {
    const fn new(old_bytes: u64, new_bytes: u64) -> Change {
        Change { old_bytes, new_bytes }
    }

    /// How much more it is; 0 where it is less.
    pub const fn increase_bytes(self) -> u64 {
        self.new_bytes.saturating_sub(self.old_bytes)
    }

    /// How far apart the sides are.
    pub const fn distance_bytes(self) -> u64 {
        self.new_bytes.abs_diff(self.old_bytes)
    }

    /// Whether the sides are alike.
    pub const fn is_none(self) -> bool {
        self.old_bytes == self.new_bytes
    }
}

impl ModuleDiff {
    /// Whether nothing that was compared changed.
    pub fn is_unchanged(&self) -> bool {
        self.hbm == self.hbm.of_old_twice()
            && self.old_name.is_none()
            && self.spaces.is_empty()
            && self.alive_at_peak.is_empty()
            && self.buffers.is_empty()
            && self.kernels.is_empty()
            && self.findings.is_empty()
            && self.machines.is_none()
    }
}

/// Compares two reports.
pub fn diff(old: &Side, new: &Side) -> DiffReport {
    let findings = [findings::by_file(&old.findings), findings::by_file(&new.findings)];
    let said = |side: usize, module: &Module| -> &[&Said] {
        findings[side].get(module.summary.file.as_str()).map_or(&[], Vec::as_slice)
    };
    let pairs = pair(&identities(&old.modules), &identities(&new.modules));
    let mut report = DiffReport {
        schema: SCHEMA,
        modules: Vec::new(),
        added: Vec::new(),
        removed: Vec::new(),
        gate: None,
        diagnostics: old.diagnostics.iter().chain(&new.diagnostics).cloned().collect(),
    };
    for pair in pairs {
        let old = pair.old.and_then(|at| Some((at, old.modules.get(at)?)));
        let new = pair.new.and_then(|at| Some((at, new.modules.get(at)?)));
        match (old, new) {
            (Some((was, old)), Some((is, new))) => {
                let diff = module(old, new, said(0, old), said(1, new));
                report.modules.push(ModuleDiff { sides: [was, is], ..diff });
            }
            (Some((_, old)), None) => report.removed.push(alone(old)),
            (None, Some((_, new))) => report.added.push(alone(new)),
            (None, None) => {}
        }
    }
    report.modules.sort_by(|a, b| {
        let key = |diff: &ModuleDiff| {
            (diff.hbm.required.increase_bytes(), diff.hbm.required.distance_bytes())
        };
        key(b).cmp(&key(a)).then_with(|| a.files.new.cmp(&b.files.new))
    });
    report
}

fn identities(side: &[Module]) -> Vec<Identity> {
    let identity = |(module, folder): (&Module, String)| Identity {
        name: module.summary.name.clone(),
        signature: signature(&module.details.parameters),
        folder,
    };
    let folders = folders(side.iter().map(|module| module.summary.file.as_str()));
    side.iter().zip(folders).map(identity).collect()
}

fn alone(module: &Module) -> Alone {
    Alone {
        name: module.summary.name.clone(),
        file: module.summary.file.clone(),
        required_bytes: module.summary.hbm.required_bytes,
    }
}

fn module(old: &Module, new: &Module, old_said: &[&Said], new_said: &[&Said]) -> ModuleDiff {
    let (was, is) = (&old.summary, &new.summary);
    let words = |old: String, new: String| Words { old, new };
    let compiler = |module: &Module| {
        let summary = &module.summary;
        let rules = summary.compiler.split(':').next().unwrap_or_default();
        summary.build.clone().unwrap_or_else(|| rules.to_owned())
    };
    let differ = |old: String, new: String| (old != new).then(|| words(old, new));
    let hbm = HbmChange::of(old, new);
    let (was_held, is_held) = (&old.details.buffers, &new.details.buffers);
    // Without a schedule nothing is known of buffers: they are not new on the other side.
    let both_known = was_held.is_empty() == is_held.is_empty();
    ModuleDiff {
        name: is.name.clone(),
        old_name: (was.name != is.name).then(|| was.name.clone()),
        files: words(was.file.clone(), is.file.clone()),
        compilers: differ(compiler(old), compiler(new)),
        machines: differ(machine(old), machine(new)),
        memory: is.memory.clone().into_owned(),
        verdicts: Verdicts { old: was.verdict, new: is.verdict },
        hbm,
        spaces: spaces(old, new),
        alive_at_peak: if both_known { causes(old, new) } else { Vec::new() },
        reasons: if both_known { reasons::reasons(old, new, &hbm) } else { Vec::new() },
        buffers: if both_known { buffers::changes(was_held, is_held) } else { Vec::new() },
        kernels: kernels::changes(&old.details.kernels, &new.details.kernels),
        findings: findings::changes(old_said, new_said),
        sides: [0; 2],
    }
}

/// `TPU v5e, 8 devices, mesh data=4 x model=2`.
fn machine(module: &Module) -> String {
    let summary = &module.summary;
    let chip = summary.chip.as_deref().unwrap_or("of unknown kind");
    let axes: Vec<String> =
        summary.mesh.iter().map(|axis| format!("{}={}", axis.name, axis.size)).collect();
    let mesh = if axes.is_empty() { String::new() } else { format!(", mesh {}", axes.join(" x ")) };
    let plural = if summary.devices == 1 { "" } else { "s" };
    let backend = summary.backend.to_uppercase();
    format!("{backend} {chip}, {} device{plural}{mesh}", summary.devices)
}

impl HbmChange {
    fn of(old: &Module, new: &Module) -> HbmChange {
        let (was, is) = (&old.summary.hbm, &new.summary.hbm);
        let change = |of: fn(&Hbm) -> u64| Change::new(of(was), of(is));
        HbmChange {
            required: change(|hbm| hbm.required_bytes),
            sparsecore: change(|hbm| hbm.sparsecore_bytes),
            total: change(|hbm| hbm.total_bytes),
            peak_live: was
                .peak_live_bytes
                .zip(is.peak_live_bytes)
                .map(|(old, new)| Change::new(old, new)),
            parameters: change(|hbm| hbm.parameters_bytes),
            outputs: change(|hbm| hbm.outputs_bytes),
            aliased: change(|hbm| hbm.aliased_bytes),
            constants: change(|hbm| hbm.constants_bytes),
            thread_local: change(|hbm| hbm.thread_local_bytes),
            temporaries: change(|hbm| hbm.temporaries_bytes),
            fragmentation: change(|hbm| hbm.fragmentation_bytes),
            padding: Change::new(old.details.padding_bytes, new.details.padding_bytes),
        }
    }

    /// The old side beside itself.
    fn of_old_twice(&self) -> HbmChange {
        let twice = |change: Change| Change::new(change.old_bytes, change.old_bytes);
        HbmChange {
            required: twice(self.required),
            sparsecore: twice(self.sparsecore),
            total: twice(self.total),
            peak_live: self.peak_live.map(twice),
            parameters: twice(self.parameters),
            outputs: twice(self.outputs),
            aliased: twice(self.aliased),
            constants: twice(self.constants),
            thread_local: twice(self.thread_local),
            temporaries: twice(self.temporaries),
            fragmentation: twice(self.fragmentation),
            padding: twice(self.padding),
        }
    }
}

fn spaces(old: &Module, new: &Module) -> Vec<SpaceChange> {
    let mut by_number: BTreeMap<i64, (String, Change)> = BTreeMap::new();
    for space in &old.summary.spaces {
        let entry = by_number.entry(space.memory_space).or_default();
        entry.0 = space.name.clone().into_owned();
        entry.1.old_bytes = space.total_bytes;
    }
    for space in &new.summary.spaces {
        let entry = by_number.entry(space.memory_space).or_default();
        entry.0 = space.name.clone().into_owned();
        entry.1.new_bytes = space.total_bytes;
    }
    let changed = by_number.into_iter().filter(|(_, (_, total))| !total.is_none());
    changed.map(|(memory_space, (name, total))| SpaceChange { memory_space, name, total }).collect()
}

fn causes(old: &Module, new: &Module) -> Vec<CauseChange> {
    let mut by_cause: BTreeMap<Cause, Change> = BTreeMap::new();
    let groups = |module: &Module| {
        let alive = module.summary.peak.as_ref().map(|peak| peak.alive.groups.clone());
        alive.unwrap_or_default()
    };
    for group in groups(old) {
        let change = by_cause.entry(group.cause).or_default();
        change.old_bytes = change.old_bytes.saturating_add(group.bytes);
    }
    for group in groups(new) {
        let change = by_cause.entry(group.cause).or_default();
        change.new_bytes = change.new_bytes.saturating_add(group.bytes);
    }
    let changed = by_cause.into_iter().filter(|(_, alive)| !alive.is_none());
    let mut changes: Vec<CauseChange> =
        changed.map(|(cause, alive)| CauseChange { cause, alive }).collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.alive.distance_bytes()));
    changes
}
