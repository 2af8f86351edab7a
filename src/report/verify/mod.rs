//! A module, our memory profile and XLA's own files in; where they agree and where they do not, as
//! data, out. Pure: nothing is read here.

mod allocations;
mod peaks;
mod recoloured;
mod report;
mod run;
mod values;

pub use report::{ModuleReport, NotCompared, Report, Scores};
pub use run::{Outcome, verify};

use crate::dump::side::buffer_assignment::BufferAssignment;
use crate::dump::side::live_range::LiveRanges;
use crate::dump::side::memory_usage_report::MemoryUsageReport;
use crate::hlo::Module;
use crate::memory::{Allocation, MemoryProfile, ValueId};
use crate::target::tpu::space;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::collections::BTreeSet;

/// XLA's own files of one module, as far as they are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oracle<'a> {
    /// `-buffer-assignment.txt`.
    pub assignment: Option<&'a BufferAssignment<'a>>,
    /// `-live-range.txt`, or the same section of an older buffer assignment.
    pub live_ranges: Option<&'a LiveRanges<'a>>,
    /// `-memory-usage-report.txt`.
    pub report: Option<&'a MemoryUsageReport<'a>>,
}

impl Oracle<'_> {
    /// Whether there is nothing to compare with.
    pub fn is_empty(&self) -> bool {
        self.assignment.is_none() && self.live_ranges.is_none() && self.report.is_none()
    }
}

/// What is compared with XLA's files.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The module.
    pub module: &'a Module<'a>,
    /// Its memory profile.
    pub profile: &'a MemoryProfile,
    /// Whether what the compiler compares with the capacity includes results (by its release).
    pub results_are_required: bool,
    /// What the backend calls the memory of a device.
    pub memory: &'static str,
}

/// How many of some things agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// How many agree.
    pub equal: u64,
    /// Of how many.
    pub of: u64,
}

impl Count {
    fn add(&mut self, is_equal: bool) {
        self.equal += u64::from(is_equal);
        self.of += 1;
    }

    /// Whether all agree.
    pub fn is_exact(self) -> bool {
        self.equal == self.of
    }
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.equal += other.equal;
        self.of += other.of;
    }
}

/// A figure of ours beside XLA's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// Ours.
    pub ours: u64,
    /// XLA's.
    pub xla: u64,
}

impl Pair {
    /// Whether they agree.
    pub fn is_exact(self) -> bool {
        self.ours == self.xla
    }
}

/// XLA's live-range peak: over all memory spaces, sizes without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LiveRangePeak {
    /// Our sum, computed XLA's way.
    pub ours: u64,
    /// XLA's sum.
    pub xla: u64,
    /// The program point.
    pub point: Pair,
    /// The lines of the list, in order.
    pub list: Count,
}

impl LiveRangePeak {
    /// Whether sum, moment and list agree.
    pub fn is_exact(&self) -> bool {
        self.ours == self.xla && self.point.is_exact() && self.list.is_exact()
    }
}

/// The total of a memory space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Space {
    /// The memory space: 0 is HBM.
    pub memory_space: i64,
    /// Sum of all allocations.
    pub total: Pair,
    /// False where the compiler placed the values before buffer assignment (VMEM): the text does
    /// not say where, so ours is an estimate and not part of the verdict.
    pub compared: bool,
}

/// The first thing that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// What kind of figure.
    pub figure: Figure,
    /// The instruction that defines the value, or the memory space or allocation it is about.
    pub subject: String,
    /// Our figure.
    pub ours: String,
    /// XLA's figure.
    pub xla: String,
    /// The line of XLA's file, where there is one.
    pub line: Option<u64>,
}

/// What may differ, in the order in which one causes the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The size of a value.
    Size,
    /// A value that only one side has.
    Value,
    /// The order of execution.
    Schedule,
    /// When a value is alive.
    LiveRange,
    /// XLA's live-range peak.
    XlaLiveRangePeak,
    /// Size, kind or members of an allocation.
    Allocation,
    /// Where a value stands in its allocation.
    Offset,
    /// The total of a memory space.
    Total,
    /// What XLA compares with the capacity.
    Required,
    /// The live peak of HBM.
    Peak,
}

/// How one module compares. What XLA's files do not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Sizes of values, padding included.
    pub sizes: Option<Count>,
    /// The order of execution, position by position.
    pub schedule: Option<Count>,
    /// Live ranges.
    pub live_ranges: Option<Count>,
    /// The live peak of HBM: ours, and the one that follows from XLA's sizes and live ranges.
    pub peak: Option<Pair>,
    /// XLA's live-range peak.
    pub xla_live_range_peak: Option<LiveRangePeak>,
    /// The total of HBM.
    pub total: Option<Pair>,
    /// The total without what XLA does not compare with the capacity.
    pub required: Option<Pair>,
    /// Allocations: size, kind, members with their offsets. Those whose values were placed before
    /// buffer assignment (VMEM) are not compared.
    pub allocations: Option<Count>,
    /// Offsets of values, VMEM left out.
    pub offsets: Option<Count>,
    /// Totals of all memory spaces.
    pub spaces: Vec<Space>,
    /// Whether everything that was compared agrees.
    pub exact: bool,
    /// Whether the sizes in HBM, its total, what is required of it and its live peak agree. (Two
    /// packings may differ inside and need the same.)
    pub hbm_exact: bool,
    /// The first thing that differs.
    pub first_disagreement: Option<Disagreement>,
}

/// Compares a module's figures with XLA's.
pub fn compare(subject: &Subject<'_>, oracle: &Oracle<'_>) -> Figures {
    let ours = Ours::new(subject);
    let mut differences = Differences::default();
    let mut figures = Figures::default();
    if let Some(assignment) = oracle.assignment {
        figures.sizes = Some(values::sizes(&ours, assignment, &mut differences));
    }
    if let Some(live_ranges) = oracle.live_ranges {
        figures.schedule = Some(values::schedule(&ours, live_ranges, &mut differences));
        figures.live_ranges = Some(values::live_ranges(&ours, live_ranges, &mut differences));
        figures.xla_live_range_peak = peaks::live_range_peak(&ours, live_ranges, &mut differences);
    }
    if let Some(assignment) = oracle.assignment {
        let (allocations, offsets) = allocations::compare(&ours, assignment, &mut differences);
        figures.allocations = Some(allocations);
        figures.offsets = Some(offsets);
        figures.required = Some(allocations::required(&ours, assignment, &mut differences));
    }
    figures.spaces = allocations::spaces(&ours, oracle, &mut differences);
    figures.total =
        figures.spaces.iter().find(|space| space.memory_space == 0).map(|space| space.total);
    if let (Some(assignment), Some(live_ranges)) = (oracle.assignment, oracle.live_ranges) {
        figures.peak = peaks::peak(&ours, assignment, live_ranges, &mut differences);
    }
    figures.exact = differences.first.is_none();
    figures.hbm_exact = !differences.in_hbm;
    figures.first_disagreement = differences.first;
    figures
}

/// Our side, with values by name.
struct Ours<'a> {
    module: &'a Module<'a>,
    profile: &'a MemoryProfile,
    results_are_required: bool,
    memory: &'static str,
    by_name: FxHashMap<(&'a str, &'a [u32]), ValueId>,
    /// Memory spaces whose values memory space assignment placed: VMEM, CMEM.
    preset: BTreeSet<i64>,
}

impl<'a> Ours<'a> {
    fn new(subject: &Subject<'a>) -> Ours<'a> {
        let Subject { module, profile, results_are_required, memory } = *subject;
        let mut by_name = FxHashMap::default();
        by_name.reserve(profile.values.len());
        for (at, value) in profile.values.iter().enumerate() {
            let name = module.instruction(value.instruction).name;
            by_name.entry((name, value.index.as_slice())).or_insert(ValueId(at as u32));
        }
        let preset = profile.allocations.iter().filter(|allocation| is_left_out(allocation));
        let preset = preset.map(|allocation| allocation.memory_space).collect();
        Ours { module, profile, results_are_required, memory, by_name, preset }
    }

    fn value(&self, instruction: &str, index: &[u32]) -> Option<ValueId> {
        self.by_name.get(&(instruction, index)).copied()
    }
}

/// Whether only memory space assignment knows where an allocation's values stand. (SparseCore scratch
/// is placed beforehand too, but all of it at the start.)
fn is_left_out(allocation: &Allocation) -> bool {
    allocation.is_preset && matches!(allocation.memory_space, space::VMEM | space::CMEM)
}

/// `%fusion.3{1,0}`, as XLA writes a value, with the sign that HLO text has.
fn named(instruction: &str, index: &[u32]) -> String {
    let numbers: Vec<String> = index.iter().map(u32::to_string).collect();
    match numbers.is_empty() {
        true => format!("%{instruction}"),
        false => format!("%{instruction}{{{}}}", numbers.join(",")),
    }
}

/// What differs: the first, and whether anything in HBM does.
#[derive(Default)]
struct Differences {
    first: Option<Disagreement>,
    in_hbm: bool,
}

impl Differences {
    fn add(&mut self, disagreement: impl FnOnce() -> Disagreement) {
        if self.first.is_none() {
            self.first = Some(disagreement());
        }
    }

    fn add_in(&mut self, memory_space: i64, disagreement: impl FnOnce() -> Disagreement) {
        self.in_hbm |= memory_space == 0;
        self.add(disagreement);
    }
}

/// The values that a side has, to find those that the other has not.
type Names<'a> = FxHashSet<(&'a str, &'a [u32])>;
