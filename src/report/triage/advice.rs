//! An incident in; what failed in words, the section of OpenXLA's error catalogue that its figures
//! point to, and what to do, in the order of the catalogue, out.

use crate::config::{bytes_as_xla, percent};
use crate::log::{Category, Form, Incident, Size};
use crate::report::ModuleReport;
use crate::report::way_out::{self, Basis, WayOut};
use schemars::JsonSchema;
use serde::Serialize;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// The section of the catalogue; empty where none speaks of it.
    pub section: &'static str,
    /// What to do.
    pub action: String,
}

pub(super) struct Advice {
    pub(super) title: String,
    pub(super) section: Option<&'static str>,
    pub(super) evidence: Vec<String>,
    pub(super) steps: Vec<Step>,
}

impl Advice {
    fn new(title: impl Into<String>, section: Option<&'static str>) -> Advice {
        Advice { title: title.into(), section, evidence: Vec::new(), steps: Vec::new() }
    }

    fn step(&mut self, section: &'static str, action: impl Into<String>) {
        self.steps.push(Step { section, action: action.into() });
    }

    fn shows(&mut self, evidence: impl Into<String>) {
        self.evidence.push(evidence.into());
    }
}

const SPLIT: &str = "E1000 scenario 1, balance of TensorCore and SparseCore";
/// No table, no single allocation.
pub(super) const UNTOLD: &str = "E1000; the message alone does not tell which scenario";
const LARGE: &str = "E1000 scenario 2, one unexpectedly large allocation";
const SUM: &str = "E1000 scenario 3, the sum of allocations is too large";
const CONFIGURATION: &str = "E1000 3.A";
const SHARDING: &str = "E1000 3.B";
const PADDING: &str = "E1000 3.C";
const REMAT: &str = "E1000 3.E";
const RETUNE: &str = "E1001, retune the kernel";
const COMPILER: &str = "E1001, a compiler bug";

/// The share of the limit from which one allocation counts as unexpectedly large (E1000's own).
const LARGE_SHARE: f64 = 0.5;

/// The share of what is needed from which padding is worth a word.
const PADDING_SHARE: f64 = 0.1;

pub(super) fn of(incident: &Incident, has_dump: bool) -> Advice {
    match incident.category {
        Category::HbmOom => hbm(incident, has_dump),
        Category::VmemScopedOom => scoped(incident),
        Category::VmemCapacity if incident.form == Form::Preflight => preflight(),
        Category::VmemCapacity
        | Category::SmemCapacity
        | Category::SflagCapacity
        | Category::OtherCapacity => capacity(incident),
        Category::VmemColoured => coloured(),
        Category::RuntimeOom => runtime(incident),
        Category::Kernel => {
            let mut advice = Advice::new("a Pallas kernel was rejected, not for memory", None);
            advice.step(
                "",
                "the message says why: block shapes, alignment, or an operation that Mosaic lacks",
            );
            advice
        }
        Category::Sparsecore => {
            let mut advice = Advice::new("a SparseCore table or lookup was rejected", None);
            advice.step("", "a narrower table, fewer ids a partition (max_ids_per_partition, max_unique_ids_per_partition), or the table split over more SparseCores");
            advice
        }
        Category::Crash => {
            let mut advice = Advice::new("the compiler itself failed; no memory error", None);
            advice.step(
                "",
                "leave out compiler flags one by one: a scoped VMEM limit far too small ends so",
            );
            advice.step("", "else report it as a bug of the compiler with the dump");
            advice
        }
    }
}

/// The section that a program's own figures point to, where the message's do not tell.
pub(super) fn section_of(module: &ModuleReport) -> &'static str {
    let largest = module.peak.as_ref().and_then(|peak| peak.largest.as_ref());
    let limit = module.hbm.available_bytes.unwrap_or(0) as f64;
    let is_large =
        largest.is_some_and(|row| (row.bytes / row.count.max(1)) as f64 > LARGE_SHARE * limit);
    if is_large { LARGE } else { SUM }
}

/// The steps of the first path of a way out that fits, with the figures of the memory analysis.
pub(super) fn measured(way_out: &WayOut) -> Vec<Step> {
    let path = way_out.paths.iter().find(|path| path.fits);
    let steps = path.map_or(&[][..], |path| path.steps.as_slice());
    let step = |(at, step): (usize, &way_out::Step)| {
        let after = bytes_as_xla(step.required_bytes_after);
        let left = match step.basis {
            Basis::Rerun => after,
            Basis::AtMost => format!("at most {after}"),
            Basis::EvenSplit => format!("about {after}, if split evenly"),
        };
        let fits = if at + 1 == steps.len() { ", fits" } else { "" };
        let before = bytes_as_xla(step.before_bytes);
        Step { section: "", action: format!("{} ({before} -> {left}{fits})", step.action) }
    };
    steps.iter().enumerate().map(step).collect()
}

fn bytes(size: Option<&Size>) -> u64 {
    size.map_or(0, |size| size.bytes)
}

fn hbm(incident: &Incident, has_dump: bool) -> Advice {
    let limit = bytes(incident.available.as_ref());
    let needed = bytes(incident.needed.as_ref());
    if incident.form == Form::Split {
        return split(incident);
    }
    let largest = largest(incident);
    let is_large = |size: u64| limit > 0 && size as f64 > LARGE_SHARE * limit as f64;
    let section = if largest.as_ref().is_some_and(|(size, _)| is_large(*size)) {
        LARGE
    } else if incident.rows.is_empty() {
        UNTOLD
    } else {
        SUM
    };
    let mut advice = Advice::new("the program needs more HBM than the chip has", Some(section));
    if let Some((size, label)) = largest.filter(|(size, _)| is_large(*size)) {
        let share = percent(size, limit);
        advice.shows(format!(
            "one allocation takes {} ({share} of HBM): {label}",
            bytes_as_xla(size)
        ));
        if size > limit {
            advice.shows("it does not fit alone: no schedule and no rematerialisation can help");
        }
        advice.step(LARGE, "find out why it is so large: a sharding that is missing (it has the whole size on each device), attention scores, one-hot vectors, stacked activations of a scan");
        advice.step(LARGE, "remove jax.debug.print of large arrays");
    }
    padding(&mut advice, incident, needed);
    arguments(&mut advice, incident, limit);
    results(&mut advice, incident, limit);
    if incident.form == Form::TotalRequired {
        advice.shows(
            "'HLO temporaries' of this message are arguments, results and temporaries together",
        );
    }
    if incident.form == Form::EarlyAbort {
        advice.shows(
            "the compiler gave up before it assigned memory: the figures are its first estimate",
        );
    }
    rematerialisation(&mut advice, incident);
    advice.step(
        CONFIGURATION,
        "a smaller batch, or the same batch in several steps (gradient accumulation)",
    );
    advice.step(SHARDING, "shard arguments and activations over more devices");
    advice.step(REMAT, "jax.checkpoint around what is kept for the backward pass (it saves nothing where the large values are born in the backward pass)");
    if !has_dump {
        advice.step("", "see what is alive and what each remedy saves: XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\", then hlolint check DIR (or triage with --dump DIR)");
    }
    advice
}

fn split(incident: &Incident) -> Advice {
    let mut advice = Advice::new(
        "TensorCore and SparseCores together need more HBM than the chip has",
        Some(SPLIT),
    );
    let (tensorcore, sparsecore) =
        (bytes(incident.needed.as_ref()), bytes(incident.sparsecore.as_ref()));
    let (high, low) = if sparsecore > tensorcore {
        ("the SparseCores'", "TensorCore's")
    } else {
        ("the TensorCore's", "SparseCores'")
    };
    advice.shows(format!(
        "{high} part is larger than the {low}: {} on the TensorCore, {} on SparseCores",
        bytes_as_xla(tensorcore),
        bytes_as_xla(sparsecore)
    ));
    if sparsecore > tensorcore {
        advice.step(SPLIT, "serialise the tables: --xla_sc_num_serialized_tables_to_optimize_hbm (no help between tables of equal size)");
        advice.step(SPLIT, "tables narrower than 8 floats are padded to 8: join them");
        advice.step(SPLIT, "a lower maximum_parallel_iterations; tables sharded by modulus");
    } else {
        advice.step(
            LARGE,
            "the TensorCore's part first: one large allocation, else batch, sharding, checkpoint",
        );
    }
    advice
}

/// The largest allocation that the message names.
fn largest(incident: &Incident) -> Option<(u64, String)> {
    if incident.form == Form::SingleAllocation {
        let shape = incident.subject.as_ref().and_then(|subject| subject.shape.clone());
        return Some((bytes(incident.needed.as_ref()), shape.unwrap_or_default()));
    }
    incident
        .rows
        .iter()
        .map(|row| (bytes(row.size.as_ref()), row.shape.clone().unwrap_or_default()))
        .max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)))
}

fn padding(advice: &mut Advice, incident: &Incident, needed: u64) {
    let of_rows: u64 =
        incident.rows.iter().fold(0, |sum, row| sum.saturating_add(bytes(row.padding.as_ref())));
    let of_program = incident.requirement.as_ref().map_or(0, |requirement| {
        bytes(requirement.padded.as_ref()).saturating_sub(bytes(requirement.unpadded.as_ref()))
    });
    let lost = of_rows.max(of_program);
    if needed == 0 || (lost as f64) < PADDING_SHARE * needed as f64 {
        return;
    }
    advice.shows(format!("{} of it is padding ({})", bytes_as_xla(lost), percent(lost, needed)));
    advice.step(PADDING, "dimensions to multiples of 128 (minor) and 8 (second minor); where the layout is pinned, leave the choice to XLA or transpose so that the small dimension is not minor");
}

fn arguments(advice: &mut Advice, incident: &Incident, limit: u64) {
    let size = incident.usage.as_ref().map_or(0, |usage| bytes(usage.arguments.as_ref()));
    if limit > 0 && size as f64 > LARGE_SHARE * limit as f64 {
        advice.shows(format!(
            "arguments alone take {} ({} of HBM)",
            bytes_as_xla(size),
            percent(size, limit)
        ));
        advice.step(SHARDING, "shard the arguments (parameters, optimizer state) over the mesh, or keep part of them on the host");
    }
}

fn results(advice: &mut Advice, incident: &Incident, limit: u64) {
    const WORTH: f64 = 0.05;
    let Some(output) = &incident.output else { return };
    let apart = output.size.bytes.saturating_sub(output.shared.bytes);
    if limit > 0 && apart as f64 > WORTH * limit as f64 {
        advice.shows(format!("{} of results share no argument's memory", bytes_as_xla(apart)));
        advice.step(CONFIGURATION, "donate arguments that results replace (donate_argnums)");
    }
}

fn rematerialisation(advice: &mut Advice, incident: &Incident) {
    let Some(remat) = &incident.remat else { return };
    let gained = remat.before.bytes.saturating_sub(remat.reached.bytes);
    advice.shows(format!(
        "XLA's own rematerialisation saved {}: {} reached, {} wanted",
        if gained == 0 { "nothing".to_owned() } else { bytes_as_xla(gained) },
        remat.reached.text,
        remat.limit.text
    ));
}

fn scoped(incident: &Incident) -> Advice {
    let subject = incident.subject.as_ref();
    match subject {
        Some(subject) if !subject.is_kernel && subject.opcode.is_some() => {
            let mut advice = Advice::new(
                "an operation that the compiler made needs more scoped VMEM than its limit",
                Some(COMPILER),
            );
            advice.shows("it is no custom kernel: the compiler should have kept within the limit");
            advice.step(COMPILER, "leave out --xla_tpu_scoped_vmem_limit_kib if it is set: the limit may be too small for any tiling");
            advice.step(COMPILER, "else report it as a bug of the compiler, with the dump");
            advice
        }
        _ => {
            let mut advice =
                Advice::new("a kernel needs more scoped VMEM than its limit", Some(RETUNE));
            advice.shows("memory is allocated in turn (scratch, windows, run_scoped) and the message counts up to the first that does not fit: the whole need may be larger");
            advice.step(
                RETUNE,
                "smaller blocks: windows of inputs and outputs are held twice (double buffering)",
            );
            advice.step(
                RETUNE,
                "a higher limit for this kernel: vmem_limit_bytes of its compiler parameters",
            );
            advice.step(RETUNE, "an operand placed in VMEM as a whole needs no window (pltpu.with_memory_space_constraint), for few and small ones");
            advice.step(RETUNE, "a higher limit for all: --xla_tpu_scoped_vmem_limit_kib (it takes VMEM from other operations)");
            advice
        }
    }
}

fn capacity(incident: &Incident) -> Advice {
    let space = incident.space.as_deref().unwrap_or("vmem").to_uppercase();
    let title = match incident.category {
        Category::SflagCapacity => "more semaphores than the chip has".to_owned(),
        _ => format!("one kernel needs more {space} than the chip has"),
    };
    let mut advice = Advice::new(title, (space == "VMEM").then_some(RETUNE));
    let tag = incident.subject.as_ref().and_then(|subject| subject.tag.as_deref());
    if let Some(tag) = tag {
        if let (Some(window), Some(full)) = (
            crate::log::between(tag, "window shape is ", ", while"),
            crate::log::between(tag, "full shape is ", ". "),
        ) && window == full
        {
            advice.shows(format!("the window is the whole array, {full}: no block was chosen"));
        }
        if tag.contains("scratch") {
            advice.shows("it is a scratch operand of the kernel");
        }
    }
    match incident.category {
        Category::SmemCapacity => {
            advice.step("", "SMEM is for scalars: move larger scratch arrays to VMEM");
        }
        Category::SflagCapacity => {
            advice.step("", "fewer semaphores: use one again when its transfer is done");
        }
        _ => {
            advice.step(RETUNE, "smaller blocks (BlockSpec), or leave the operand in HBM and copy parts of it (pl.ANY, make_async_copy)");
            advice.step(RETUNE, "smaller scratch operands");
        }
    }
    advice
}

fn coloured() -> Advice {
    let mut advice = Advice::new("more buffers are placed in VMEM than fit there", Some(RETUNE));
    advice.step(RETUNE, "place fewer or smaller results and operands in VMEM (out_shape and with_memory_space_constraint with a memory space)");
    advice
}

fn preflight() -> Advice {
    let title =
        "a framework rejected a kernel: by its own estimate it needs more VMEM than there is";
    let mut advice = Advice::new(title, Some(RETUNE));
    advice.shows("the compiler was not asked; the sizes are in units of powers of 1000");
    advice.step(
        RETUNE,
        "smaller blocks: windows of inputs and outputs are held twice (double buffering)",
    );
    advice.step(RETUNE, "an operand or result whose last two dimensions are small or 2-D can force a larger block on all (a block is a multiple of 8 x 128): add a dimension, or block it differently");
    advice
}

fn runtime(incident: &Incident) -> Advice {
    let mut advice =
        Advice::new("a running program could not allocate device memory", Some("E0100"));
    advice.shows("the program compiled: what is missing was taken by other live arrays, programs, or fragmentation");
    let total = incident.requirement.as_ref().map_or(0, |needs| bytes(needs.total.as_ref()));
    if let Some((size, label)) =
        largest(incident).filter(|(size, _)| size.saturating_mul(2) > total && total > 0)
    {
        let share = percent(size, total);
        advice.shows(format!(
            "one buffer is {} of the program ({share}): {label}",
            bytes_as_xla(size)
        ));
        advice.step("", "that buffer first: shard it, compute it in chunks, or in a narrower type");
    }
    advice.step("", "delete arrays that are not needed any more; donate arguments; look for copies of the state kept by the caller");
    advice.step("", "what this program needs of it: hlolint check on its dump, with --reserve for what else is alive");
    advice
}
