//! `large-allocation`.

use crate::config::{bytes, percent};
use crate::lint::{Context, Finding, Level, Meta, Reference, Remedy, Rule};
use crate::memory::{AllocationKind, Value};

/// See [`META`].
pub struct LargeAllocation;

/// The declaration.
pub static META: Meta = Meta {
    name: "large-allocation",
    summary: "one buffer takes more than half of HBM",
    documentation: "\
What it finds: a single buffer (argument, result or temporary) over 50% of the chip's HBM.
Why it costs memory: next to it hardly anything else fits; it is mostly a tensor that lost its
sharding, a quadratic attention score, or a dimension that was broadcast by mistake.
Example: bf16[4,16,8192,8192] attention scores, 8 GiB on a chip with 15.75 GiB.
Remedy: look at the line that computes it: shard it, split it into chunks, or compute it in a kernel
that never holds it whole.
References: E1000, scenario 2 (one unexpectedly large allocation).",
    level: Level::Warn,
    reference: Reference {
        code: "E1000",
        section: "scenario 2, one unexpectedly large allocation",
    },
};

/// The share of the capacity above which a buffer is large.
const SHARE: u64 = 2;

impl Rule for LargeAllocation {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(capacity) = context.capacity.capacity_bytes else { return };
        let mut values: Vec<&Value> = candidates(context, capacity / SHARE).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.size_bytes));
        let Some(&largest) = values.first() else { return };
        let (origin, source) = context.origin(largest);
        let mut finding = context.finding(&META, Some(origin));
        let shape = context.shape_text(largest.shape);
        finding.message = format!(
            "{shape} takes {}, {} of HBM",
            bytes(largest.size_bytes),
            percent(largest.size_bytes, capacity)
        );
        finding.source = source;
        finding.instruction = Some(context.module.instruction(largest.instruction).name.to_owned());
        finding.shape = Some(shape);
        finding.bytes = largest.size_bytes;
        finding.details = values[1..].iter().take(4).map(|value| line(context, value)).collect();
        if values.len() > 5 {
            finding.details.push(format!("and {} more of that size", values.len() - 5));
        }
        finding.remedies = vec![Remedy::new(
            "shard it, split its computation into chunks, or fuse it away in a kernel",
        )];
        context.push(findings, finding, true);
    }
}

fn line(context: &Context<'_>, value: &Value) -> String {
    let (_, source) = context.origin(value);
    let place = source.map(|source| format!("  {source}")).unwrap_or_default();
    format!("also {} {}{place}", bytes(value.size_bytes), context.shape_text(value.shape))
}

/// The values in HBM that are larger than a limit, one for each buffer: the first defined.
pub(super) fn candidates<'c>(
    context: &'c Context<'_>,
    limit_bytes: u64,
) -> impl Iterator<Item = &'c Value> {
    context.profile.buffers.iter().filter_map(move |buffer| {
        let value = buffer
            .values
            .iter()
            .map(|&id| context.profile.value(id))
            .find(|value| value.size_bytes > limit_bytes && value.memory_space == 0)?;
        let kind = value.place.map(|place| &context.profile.allocation(place.allocation).kind);
        (kind != Some(&AllocationKind::ThreadLocal)).then_some(value)
    })
}
