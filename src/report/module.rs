//! What is said of one module: machine, verdict, totals with their split, the peak. Data only.

use super::way_out::WayOut;
use crate::lint::{Composition, Row, Source};
use crate::target::gpu;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Whether a program fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModuleReport {
    /// The module's name.
    pub name: String,
    /// The text that was analysed.
    pub file: String,
    /// Which stage of compilation the text is.
    pub stage: String,
    /// `tpu`, `gpu` or `cpu`.
    pub backend: Cow<'static, str>,
    /// The chip: a TPU or GPU of the table, or what a GPU calls itself.
    pub chip: Option<String>,
    /// What the backend calls the memory of a device: `HBM`, `device memory`, `memory`.
    pub memory: Cow<'static, str>,
    /// The rules of which compiler release were used, and why.
    pub compiler: String,
    /// The compiler's build, where the dump names it: `libtpu 0.0.52 (cl_1014260217)`.
    #[serde(default)]
    pub build: Option<String>,
    /// Devices that run it.
    pub devices: u64,
    /// The axes of the mesh.
    pub mesh: Vec<MeshAxis>,
    /// Whether it fits.
    pub verdict: Verdict,
    /// How good the figures are: `exact`, `estimate` or `lower-bound`.
    pub figures: Cow<'static, str>,
    /// Why they are not exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
    /// What to do where it does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way_out: Option<WayOut>,
    /// Other files with the same text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<String>,
}

/// An axis of the mesh.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MeshAxis {
    /// The user's name.
    pub name: String,
    /// Devices along it.
    pub size: u64,
}

/// HBM of one device. The split sums to `total_bytes`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Hbm {
    /// What the compiler may use on the chip.
    pub capacity_bytes: Option<u64>,
    /// What is left of it after `--reserve`, or `--max-total` where that is less.
    pub available_bytes: Option<u64>,
    /// What XLA compares with the capacity.
    pub required_bytes: u64,
    /// What SparseCores need for embedding tables beside every allocation (part of `required_bytes`).
    #[serde(default, skip_serializing_if = "is_none")]
    pub sparsecore_bytes: u64,
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

/// Whether there is nothing to say.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

impl Hbm {
    /// What is missing; 0 where it fits.
    pub fn exceeded_bytes(&self) -> u64 {
        self.available_bytes.map_or(0, |available| self.required_bytes.saturating_sub(available))
    }
}

/// Another memory space.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Space {
    /// Its number in layouts.
    pub memory_space: i64,
    /// Its name.
    pub name: Cow<'static, str>,
    /// All allocations.
    pub total_bytes: u64,
}

/// The program point at which most is alive.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
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
