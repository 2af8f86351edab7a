//! `gather-over-capacity`.

use crate::config::{bytes, total_bytes};
use crate::lint::gathers::over_capacity;
use crate::lint::sharding::{best_split_bytes, nothing_is_split};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};
use crate::memory::{Edit, ValueId};

/// See [`META`].
pub struct GatherOverCapacity;

/// The declaration.
pub static META: Meta = Meta {
    name: "gather-over-capacity",
    summary: "gathered arrays alone need more HBM than there is",
    documentation: "\
What it does: finds results of gathers (rows by index, as in the dispatch of tokens to experts) and of
all-gathers that need, alone or together at the peak, more than the HBM that is available.
Why it costs memory: the array has one row for each use and not for each token, and no axis of the mesh
divides it; no remedy elsewhere makes room for it.
Example: 524288 tokens, 8 experts each, width 2048: bf16[4194304,2048] is 16 GiB on each of 8 devices.
Remedy: split the indices (the choice of experts, the batch) over the mesh, so that each device gathers
the rows of its own tokens, or gather in chunks. The figure splits the gathered arrays over all
devices and nothing else: an upper bound.
References: E1000, scenario 2 (one unexpectedly large allocation: missing sharding annotations).",
    level: Level::Warn,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[Threshold {
        name: "share",
        default: 1.0,
        documentation: "the share of the available HBM above which gathered arrays are too large",
    }],
    reference: Reference {
        code: "E1000",
        section: "scenario 2, one unexpectedly large allocation",
    },
};

impl Rule for GatherOverCapacity {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let values = over_capacity(context, context.threshold(&META, "share"));
        if let Some(&largest) = values.first() {
            context.push(findings, &META, finding(context, &values, largest));
        }
    }
}

fn finding(context: &Context<'_>, values: &[ValueId], largest: ValueId) -> Finding {
    let value = context.profile.value(largest);
    let (origin, source) = context.origin(value);
    let mut finding = context.finding(&META, Some(origin));
    let shape = context.shape_text(value.shape);
    let held = total_bytes(values.iter().map(|&id| context.profile.value(id).size_bytes));
    let available = bytes(context.capacity.available_bytes.unwrap_or(0));
    finding.message = match values.len() {
        1 => format!("gathered {shape} needs {} of {available}", bytes(held)),
        n => format!("{n} gathered arrays at once need {} of {available}", bytes(held)),
    };
    if values.len() > 1 {
        finding.details = vec![format!("largest: {shape} {}", bytes(value.size_bytes))];
    }
    finding.source = source;
    finding.shape = Some(shape);
    finding.bytes = held;
    finding.buffers = values.iter().map(|&id| context.profile.value(id).buffer).collect();
    finding.mistake = nothing_is_split(context);
    let devices = context.mesh.devices;
    finding.remedies = if devices > 1 {
        let edit = |&id: &ValueId| Edit::Shrink {
            buffer: context.profile.value(id).buffer,
            bytes: best_split_bytes(context, id, devices),
        };
        let action = format!("split the indices, and so the rows, over all {devices} devices");
        let edits = values.iter().map(edit).collect();
        vec![context.priced(action.as_str(), edits, true).unwrap_or(Remedy::new(action))]
    } else {
        vec![Remedy::new("gather in chunks (lax.map over blocks of rows), or use more devices")]
    };
    finding
}
