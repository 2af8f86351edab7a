//! `hbm-over-capacity`.

use crate::config::{bytes, bytes_as_xla, percent};
use crate::lint::recompute::recomputed_line;
use crate::lint::{Cause, Context, Finding, Floor, Group, Kind, Level, Meta, Reference, Rule};
use crate::memory::Exactness;
use crate::target::Backend;

/// See [`META`].
pub struct HbmOverCapacity;

/// The declaration.
pub static META: Meta = Meta {
    name: "hbm-over-capacity",
    summary: "the program needs more HBM than a device has",
    documentation: "\
What it does: finds a program whose HBM (all allocations but thread-local ones, the figure that XLA
compares with the capacity and quotes in its error) is larger than what the chip has, less what was
reserved with --reserve, or than --max-total.
Why it costs memory: on TPU the compile fails with RESOURCE_EXHAUSTED (E1000). XLA:GPU compiles such
a program, and it fails when it runs: \"Out of memory while trying to allocate\". XLA:CPU has no limit.
Example: `Ran out of memory on HBM, the total memory required for HLO temporaries (150.44G) exceeds
available HBM (15.75G)`; the figure is everything, arguments and results included.
Remedy: the table of what is alive at the peak says which group of buffers to look at first; other
findings name what can be saved. The way out, at the end of the report, combines them in the order to
try, each step with what the program then needs, and ends with something that fits.
References: E1000, scenario 2 (one unexpectedly large allocation) and 3 (the sum is too large).",
    level: Level::Error,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[],
    reference: Reference {
        code: "E1000",
        section: "scenario 3, the sum of allocations is too large",
    },
};

const ONE_CULPRIT: &str = "scenario 2, one unexpectedly large allocation";
const BOTH_CORES: &str = "scenario 1, balance of TensorCore and SparseCore";

impl Rule for HbmOverCapacity {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let exceeded = context.exceeded_bytes();
        let Some(available) = context.capacity.available_bytes.filter(|_| exceeded > 0) else {
            return;
        };
        let needed = context.hbm().required_bytes;
        let groups = &context.composition.groups;
        let culprit = groups.first().and_then(|group| group.rows.first());
        let value = culprit.and_then(|row| row.value).map(|id| context.profile.value(id));
        let mut finding = context.finding(&META, value.map(|value| context.origin(value).0));
        finding.source = culprit.and_then(|row| row.source.clone());
        let machine = context.policy.machine_name();
        let each = match context.mesh.devices {
            2.. => " on each",
            _ if machine.starts_with(['a', 'h', 'r']) => " on an",
            _ => " on a",
        };
        let least = match context.profile.exactness {
            Exactness::LowerBound => "at least ",
            _ => "",
        };
        finding.message = match context.settings.max_total_bytes {
            Some(most) if most == available => format!(
                "{least}{}, --max-total allows {}",
                bytes_as_xla(needed),
                bytes_as_xla(available)
            ),
            _ => format!(
                "{least}{}{each} {machine} with {}",
                bytes_as_xla(needed),
                bytes_as_xla(available)
            ),
        };
        finding.bytes = exceeded;
        finding.reference.section = section(context, available);
        finding.details.push(parts(context, finding.reference.section));
        if context.policy.backend == Backend::Gpu {
            finding.details.push(
                "XLA:GPU compiles such a program; it fails when it runs (RESOURCE_EXHAUSTED)"
                    .to_owned(),
            );
        }
        finding.details.extend(floor(context, available));
        finding.details.extend(recomputed_line(context));
        // What there is to do stands in other findings, and together behind them.
        finding.help = advice(context).join("; or ");
        context.push(findings, &META, finding);
    }
}

/// The scenario of the page that applies.
fn section(context: &Context<'_>, available: u64) -> &'static str {
    let half = context.capacity.capacity_bytes.unwrap_or(available) / 2;
    let has_culprit = || super::large_allocation::candidates(context, half).next().is_some();
    if context.sparsecore_bytes() > 0 {
        BOTH_CORES
    } else if has_culprit() {
        ONE_CULPRIT
    } else {
        META.reference.section
    }
}

/// The scenario and the groups of what is alive: `E1000, scenario 2: activations 84%, arguments 10%`.
fn parts(context: &Context<'_>, section: &str) -> String {
    let all = context.hbm().required_bytes;
    let mut shares: Vec<(u64, &str)> = WORDS
        .iter()
        .map(|&(cause, word)| (context.composition.bytes(cause), word))
        .chain([(context.sparsecore_bytes(), "SparseCores")])
        .filter(|(bytes, _)| *bytes > all / 100)
        .collect();
    shares.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let named: Vec<String> = shares
        .iter()
        .take(4)
        .map(|(bytes, word)| format!("{word} {}", percent(*bytes, all)))
        .collect();
    let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
    let scenario = section.split(',').next().unwrap_or(section);
    format!("E1000, {scenario}{named}")
}

/// Causes in a word each.
const WORDS: [(Cause, &str); 8] = [
    (Cause::Residual, "residuals"),
    (Cause::Argument, "arguments"),
    (Cause::Output, "results"),
    (Cause::Constant, "constants"),
    (Cause::Gradient, "gradients"),
    (Cause::ArgumentCopy, "copies of arguments"),
    (Cause::Activation, "activations"),
    (Cause::Other, "others"),
];

/// What does not depend on batch or sequence, where it is most of what there is.
fn floor(context: &Context<'_>, available: u64) -> Vec<String> {
    let floor = Floor::of(context);
    if floor.bytes() < available / 2 {
        return Vec::new();
    }
    let (size, words) = (bytes(floor.bytes()), floor.words());
    if floor.bytes() <= available {
        return vec![format!("{size} of it ({words}) depends on no batch (estimate)")];
    }
    let devices = if context.mesh.devices > 1 { "these devices" } else { "one device" };
    vec![
        format!("{size} of it ({words}) does not depend on batch or sequence"),
        format!("(estimate): no change of activations alone makes this fit on {devices}"),
    ]
}

/// What to try for the largest group of buffers.
pub(super) fn advice(context: &Context<'_>) -> Vec<String> {
    let Some(largest) = context.composition.groups.first() else {
        return vec!["smaller or fewer arguments, a smaller batch, or more devices".to_owned()];
    };
    let devices = context.mesh.devices;
    let action = match largest.cause {
        Cause::Argument if devices > 1 => "shard the largest arguments over more axes of the mesh",
        Cause::Argument => "shard the largest arguments over more devices, or keep them in bf16",
        Cause::Residual => {
            "jax.checkpoint around the layer that is scanned, so that the backward pass recomputes"
        }
        Cause::Gradient | Cause::ArgumentCopy => "shard the arguments: gradients and copies follow",
        Cause::Output => "donate the arguments that the results replace (donate_argnums)",
        Cause::Constant => "pass the constants as arguments",
        Cause::Activation | Cause::Other => {
            "make the largest temporaries smaller: a smaller batch per device, or shard it further"
        }
    };
    padding(largest).into_iter().chain([action.to_owned()]).collect()
}

/// What to do where more than half of a group's largest buffers is padding.
fn padding(group: &Group) -> Option<String> {
    let row = group.rows.first().filter(|row| row.bytes / 2 >= row.unpadded_bytes.max(1))?;
    Some(format!(
        "{} is padded {:.1}x: leave its layout to XLA, or put a long dimension last",
        row.label,
        row.bytes as f64 / row.unpadded_bytes.max(1) as f64
    ))
}
