//! `gather-then-slice`.

use crate::config::{bytes, total_bytes};
use crate::lint::gathers::{Sliced, sliced};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};
use crate::memory::Edit;

/// See [`META`].
pub struct GatherThenSlice;

/// The declaration.
pub static META: Meta = Meta {
    name: "gather-then-slice",
    summary: "an array is gathered whole on each device, and only slices of it are used",
    documentation: "\
What it does: finds all-gathers in HBM of whose result, through copies and reshapes, nothing but
slices are used that are at most half of it together. The partitioner does that where it cannot get
from one sharding to another in one step (it warns of an involuntary full rematerialization).
Why it costs memory: each device holds the whole array, often once more in another layout, to keep a
part of it.
Example: f32[2048,1024,512] from P(\"model\", None, \"data\") to P(None, (\"data\", \"model\")) is 4 GiB on
each device, and the same again as a copy, for a slice of 1/8.
Remedy: a with_sharding_constraint in between that moves one axis of the mesh, so that each step is an
all-to-all; in shard_map, an all_to_all or ppermute, or a slice before the gather. The figure shrinks
the gathered array and its copies to what the slices keep; it is an upper bound.
References: E1000, scenario 2 (mesh shape, missing sharding annotations).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "scenario 2, replication: sharding annotations" },
};

/// How many findings of a program are priced: each one runs the memory analysis again.
const QUESTIONS: usize = 8;

impl Rule for GatherThenSlice {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        for (at, found) in sliced(context, context.min_bytes(&META)).iter().enumerate() {
            context.push(findings, &META, finding(context, found, at < QUESTIONS));
        }
    }
}

fn finding(context: &Context<'_>, found: &Sliced, is_priced: bool) -> Finding {
    let gathered = &found.gathered;
    let mut finding = context.finding(&META, Some(gathered.instruction));
    let shape = context.shape_text(context.profile.value(gathered.value).shape);
    finding.message = format!(
        "{shape}, {}, gathered to keep 1/{} of it",
        bytes(gathered.size_bytes),
        found.ratio
    );
    finding.source = context.source_near(gathered.instruction);
    finding.shape = Some(shape);
    let held = match held_bytes(context, found) {
        0 => gathered.size_bytes,
        held => held,
    };
    finding.bytes = held - held / found.ratio;
    finding.buffers = found.buffers.clone();
    let layouts = match found.buffers.len() {
        1 => String::new(),
        n => format!(" in {n} layouts one after the other,"),
    };
    finding.details = vec![format!(
        "whole on each of {} devices,{layouts} {} at the peak",
        context.mesh.devices,
        bytes(held_bytes(context, found))
    )];
    let edits: Vec<Edit> = found
        .buffers
        .iter()
        .map(|&buffer| Edit::Shrink {
            buffer,
            bytes: context.profile.buffer(buffer).size_bytes.div_ceil(found.ratio),
        })
        .collect();
    let action = "reshard one mesh axis at a time, or slice before the gather";
    let priced = is_priced.then(|| context.priced(action, edits, true)).flatten();
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    finding
}

/// Bytes of the whole array, in all layouts, alive at the peak.
fn held_bytes(context: &Context<'_>, found: &Sliced) -> u64 {
    let alive = found.buffers.iter().filter(|&&id| {
        let mut values = context.profile.buffer(id).values.iter();
        values.any(|&value| context.is_alive_at_peak(context.profile.value(value)))
    });
    total_bytes(alive.map(|&id| context.profile.buffer(id).size_bytes))
}
