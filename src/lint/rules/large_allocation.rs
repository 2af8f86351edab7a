//! `large-allocation`.

use crate::config::{bytes, percent};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};
use crate::memory::{AllocationKind, Exactness, Value};

/// See [`META`].
pub struct LargeAllocation;

/// The declaration.
pub static META: Meta = Meta {
    name: "large-allocation",
    summary: "one buffer takes more than half of HBM",
    documentation: "\
What it does: finds a single buffer (argument, result or temporary) over 50% of the chip's HBM.
Why it costs memory: next to it hardly anything else fits; it is mostly a tensor that lost its
sharding, a quadratic attention score, or a dimension that was broadcast by mistake.
Example: bf16[4,16,8192,8192] attention scores, 8 GiB on a chip with 15.75 GiB.
Remedy: look at the line that computes it: shard it, split it into chunks, or compute it in a kernel
that never holds it whole.
References: E1000, scenario 2 (one unexpectedly large allocation).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[Threshold {
        name: "share",
        default: 0.5,
        documentation: "the share of the chip's HBM above which a buffer is large",
    }],
    reference: Reference {
        code: "E1000",
        section: "scenario 2, one unexpectedly large allocation",
    },
};

/// How many kinds of other large buffers are named.
const LINES: usize = 4;

impl Rule for LargeAllocation {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(capacity) = context.capacity.capacity_bytes else { return };
        // Before fusion and partitioning most values will not exist, or not in this size.
        if context.profile.exactness == Exactness::LowerBound {
            return;
        }
        let limit_bytes = (capacity as f64 * context.threshold(&META, "share")) as u64;
        let mut values: Vec<&Value> = candidates(context, limit_bytes).collect();
        values.sort_by_key(|value| {
            (std::cmp::Reverse(value.size_bytes), !context.is_alive_at_peak(value))
        });
        let Some(&largest) = values.first() else { return };
        let (origin, source) = context.origin(largest);
        let mut finding = context.finding(&META, Some(origin));
        let shape = context.shape_text(largest.shape);
        finding.message = format!(
            "{shape} takes {}, {} of {}",
            bytes(largest.size_bytes),
            percent(largest.size_bytes, capacity),
            context.policy.space_name(0)
        );
        finding.source = source;
        finding.instruction = Some(context.module.instruction(largest.instruction).name.to_owned());
        finding.shape = Some(shape);
        finding.bytes = largest.size_bytes;
        finding.buffers = values.iter().map(|value| value.buffer).collect();
        finding.details = others(context, &values[1..]);
        finding.remedies = vec![Remedy::new(
            "shard it, split its computation into chunks, or fuse it away in a kernel",
        )];
        context.push(findings, &META, finding);
    }
}

/// The other large buffers, equal ones in one line.
fn others(context: &Context<'_>, values: &[&Value]) -> Vec<String> {
    let mut lines: Vec<(String, u64)> = Vec::new();
    for value in values {
        let (_, source) = context.origin(value);
        let place = source.map(|source| format!("  {source}")).unwrap_or_default();
        let shape = context.shape_text(value.shape);
        let line = format!("{shape} of {}{place}", bytes(value.size_bytes));
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line, 1)),
        }
    }
    let more = lines.len().saturating_sub(LINES);
    let mut shown: Vec<String> = lines
        .iter()
        .take(LINES)
        .map(|(line, count)| match count {
            1 => format!("also one {line}"),
            _ => format!("also {count} times {line}"),
        })
        .collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown
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
