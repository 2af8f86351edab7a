//! `remat-exhausted`.

use crate::config::{bytes, percent, total_bytes};
use crate::lint::recompute::is_recomputed;
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};
use crate::memory::Value;

/// See [`META`].
pub struct RematExhausted;

/// The declaration.
pub static META: Meta = Meta {
    name: "remat-exhausted",
    summary: "XLA recomputes what fills the peak already, and it does not fit",
    documentation: "\
What it does: finds a program that does not fit although XLA computes again by itself much of what is
alive at the peak: values of instructions with .remat in their names.
Why it costs memory: XLA drops values and computes them again from about 95% of the chip's HBM on. What
it had to bring back for one instruction is needed there at once, and cannot be dropped again.
Example: the scores of attention, 8 GiB, computed again for their gradient of 8 GiB.
Remedy: make the values smaller where they are needed: a smaller batch, a split over devices, chunks
(lax.map with jax.checkpoint), or a kernel that never holds them whole. jax.checkpoint around the same
computation gains nothing (measured: 16.38 GiB before and after).
References: E1000, scenario 3.E (rematerialization).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[Threshold {
        name: "share",
        default: 0.25,
        documentation: "the share of the temporaries at the peak that XLA computes again",
    }],
    reference: Reference { code: "E1000", section: "scenario 3.E, rematerialization" },
};

impl Rule for RematExhausted {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        if context.exceeded_bytes() == 0 {
            return;
        }
        let all_bytes = total_bytes(context.alive.iter().map(|one| one.size_bytes));
        let again: Vec<&Value> = context
            .alive
            .iter()
            .map(|one| context.profile.value(one.value))
            .filter(|value| is_recomputed(context, value.instruction))
            .collect();
        let again_bytes = total_bytes(again.iter().map(|value| value.size_bytes));
        let share = context.threshold(&META, "share");
        let largest = again.iter().max_by_key(|value| value.size_bytes);
        let Some(largest) = largest.filter(|_| again_bytes as f64 >= all_bytes as f64 * share)
        else {
            return;
        };
        let (origin, source) = context.origin(largest);
        let mut finding = context.finding(&META, Some(origin));
        finding.source = source;
        finding.instruction = Some(context.module.instruction(largest.instruction).name.to_owned());
        finding.shape = Some(context.shape_text(largest.shape));
        finding.message = format!(
            "XLA already recomputes {}, {} of the temporaries at the peak",
            bytes(again_bytes),
            percent(again_bytes, all_bytes)
        );
        finding.bytes = again_bytes;
        finding.buffers = again.iter().map(|value| value.buffer).collect();
        finding.details = vec![
            "in names with .remat: jax.checkpoint around what computes them gains nothing"
                .to_owned(),
        ];
        finding.remedies = vec![Remedy::new(
            "a smaller batch, chunks (lax.map), a split over devices, or a fused kernel",
        )];
        context.push(findings, &META, finding);
    }
}
