//! `hbm-over-capacity`.

use crate::config::{bytes, bytes_as_xla, total_bytes};
use crate::lint::{Cause, Context, Finding, Group, Kind, Level, Meta, Reference, Remedy, Rule};
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
findings name what can be saved and what the program needs then.
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
        let half = context.capacity.capacity_bytes.unwrap_or(available) / 2;
        if super::large_allocation::candidates(context, half).next().is_some() {
            finding.reference.section = ONE_CULPRIT;
        }
        if context.policy.backend == Backend::Gpu {
            finding.details.push(
                "XLA:GPU compiles such a program; it fails when it runs (RESOURCE_EXHAUSTED)"
                    .to_owned(),
            );
        }
        finding.details.extend(floor(context, available));
        finding.remedies = remedies(context, available);
        context.push(findings, &META, finding);
    }
}

/// What does not depend on batch or sequence.
const FIXED: [Cause; 3] = [Cause::Argument, Cause::Gradient, Cause::ArgumentCopy];

fn floor_bytes(context: &Context<'_>) -> u64 {
    let fixed = context.composition.groups.iter().filter(|group| FIXED.contains(&group.cause));
    total_bytes(fixed.map(|group| group.bytes))
}

/// What no change of activations can remove, where that alone is too much.
fn floor(context: &Context<'_>, available: u64) -> Vec<String> {
    let words = ["arguments", "gradients", "weight copies"];
    let groups = &context.composition.groups;
    let floor = floor_bytes(context);
    if floor <= available {
        return Vec::new();
    }
    let named: Vec<&str> = FIXED
        .iter()
        .zip(words)
        .filter(|(cause, _)| groups.iter().any(|group| group.cause == **cause))
        .map(|(_, word)| word)
        .collect();
    vec![
        format!(
            "{} of it ({}) does not depend on batch or sequence",
            bytes(floor),
            named.join(", ")
        ),
        "(estimate): no change of activations alone makes this fit on one device".to_owned(),
    ]
}

/// What to try for the largest group of buffers.
pub(super) fn remedies(context: &Context<'_>, available: u64) -> Vec<Remedy> {
    let Some(largest) = context.composition.groups.first() else {
        return vec![Remedy::new("smaller or fewer arguments, a smaller batch, or more devices")];
    };
    let devices = context.mesh.devices;
    let mut remedies = Vec::new();
    remedies.extend(padding(largest));
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
    remedies.push(Remedy::new(action));
    let is_fixed = matches!(largest.cause, Cause::Argument | Cause::Gradient | Cause::ArgumentCopy);
    if !is_fixed && floor_bytes(context) > available {
        remedies.push(Remedy::new(
            "with it, shard the arguments over more devices: they alone do not fit",
        ));
    }
    remedies
}

/// What to do where more than half of a group's largest buffers is padding.
fn padding(group: &Group) -> Option<Remedy> {
    let row = group.rows.first().filter(|row| row.bytes / 2 >= row.unpadded_bytes.max(1))?;
    Some(Remedy::new(format!(
        "{} is padded {:.1}x: leave its layout to XLA, or put a long dimension last",
        row.label,
        row.bytes as f64 / row.unpadded_bytes.max(1) as f64
    )))
}
