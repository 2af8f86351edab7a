//! `long-lived-all-gather`.

use crate::config::{bytes, total_bytes};
use crate::hlo::InstructionId;
use crate::lint::gathers::{Gathered, gathered, points, reads};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};
use crate::memory::Edit;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// See [`META`].
pub struct LongLivedAllGather;

/// The declaration.
pub static META: Meta = Meta {
    name: "long-lived-all-gather",
    summary: "gathered arrays are kept from one use to a much later one",
    documentation: "\
What it does: finds all-gathers in HBM that are alive at the peak between two uses of their result,
with at least a tenth of the program in between: weights gathered for the forward pass and kept for
the backward pass. Arrays that are gathered, used and freed in their layer are fine.
Why it costs memory: the whole weights of all layers lie on each device at once, which sharding them
was to avoid.
Example: six layers of bf16[16384,16384] split over 8 devices: 512 MiB for each layer until its
backward step.
Remedy: jax.checkpoint around the layer, or with a policy that saves all but the gathered weights
(jax.checkpoint_policies.save_any_names_but_these); they are then gathered again, which costs
communication. The figure frees all but two of them, as one is used while the next is fetched.
References: E1000, scenario 3.E (rematerialization) and 3.B (sharding).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[Threshold {
        name: "idle_share",
        default: 0.1,
        documentation: "the share of the program between two uses from which an array is kept too long",
    }],
    reference: Reference { code: "E1000", section: "scenario 3.E, rematerialization" },
};

/// So many of the arrays are there at once when they are gathered again: one in use, one on its way.
const IN_USE: usize = 2;

impl Rule for LongLivedAllGather {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let points = points(context);
        let mut idle: Vec<Idle> = gathered(context, context.min_bytes(&META))
            .into_iter()
            .filter_map(|gathered| idle(context, &points, gathered))
            .collect();
        idle.sort_by_key(|one| (Reverse(one.gathered.size_bytes), one.gathered.value));
        if let Some(largest) = idle.first() {
            context.push(findings, &META, finding(context, &idle, largest));
        }
    }
}

/// A gathered array that nobody reads around the peak.
struct Idle {
    gathered: Gathered,
    last: u32,
    next: u32,
}

fn idle(
    context: &Context<'_>,
    points: &FxHashMap<InstructionId, u32>,
    gathered: Gathered,
) -> Option<Idle> {
    let peak = context.hbm().peak_point?;
    let reads = reads(context, points, gathered.buffer);
    let behind = reads.partition_point(|&point| point < peak);
    let (&last, &next) = (reads.get(behind.checked_sub(1)?)?, reads.get(behind)?);
    let least = context.profile.schedule.len() as f64 * context.threshold(&META, "idle_share");
    (next > peak && f64::from(next - last) >= least).then_some(Idle { gathered, last, next })
}

fn finding(context: &Context<'_>, idle: &[Idle], largest: &Idle) -> Finding {
    let mut finding = context.finding(&META, Some(largest.gathered.instruction));
    let held = total_bytes(idle.iter().map(|one| one.gathered.size_bytes));
    let value = context.profile.value(largest.gathered.value);
    let shape = context.shape_text(value.shape);
    finding.message = format!(
        "{} gathered array{}, {}, kept on each device between two uses",
        idle.len(),
        if idle.len() == 1 { "" } else { "s" },
        bytes(held)
    );
    // A gather of an argument has the argument's name.
    let named = finding.op_name.as_deref().unwrap_or("");
    let of = context.arguments.iter().find(|argument| argument.path == named);
    let of = of.map_or(String::new(), |argument| format!("{} ", argument.path));
    finding.details = vec![format!(
        "largest: {of}{shape} {}, used at step {} and again at step {} of {}",
        bytes(largest.gathered.size_bytes),
        largest.last,
        largest.next,
        context.profile.schedule.len()
    )];
    // An asynchronous gather has no line: the uses have.
    let at = |point: u32| context.profile.schedule.get(point as usize).copied();
    let places = [Some(largest.gathered.instruction), at(largest.last), at(largest.next)];
    finding.source = places.into_iter().flatten().find_map(|id| context.source_near(id));
    finding.shape = Some(shape);
    finding.bytes = held;
    finding.buffers = idle.iter().map(|one| one.gathered.buffer).collect();
    let action = "gather again for the second use: jax.checkpoint around the layer";
    let priced = context.priced(action, edits(context, idle), true);
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    finding
}

/// All but the largest, which stand for those that are in use again, end with their last use.
fn edits(context: &Context<'_>, idle: &[Idle]) -> Vec<Edit> {
    let ended = idle.iter().skip(IN_USE);
    ended
        .flat_map(|one| {
            let values = &context.profile.buffer(one.gathered.buffer).values;
            values.iter().map(|&value| Edit::EndAt { value, point: one.last })
        })
        .collect()
}
