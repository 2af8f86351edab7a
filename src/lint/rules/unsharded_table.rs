//! `unsharded-table`.

use super::sparsecore_dominates::table_name;
use crate::config::bytes;
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Rule};
use crate::memory::Edit;
use rustc_hash::FxHashSet;

/// See [`META`].
pub struct UnshardedTable;

/// The declaration.
pub static META: Meta = Meta {
    name: "unsharded-table",
    summary: "every device holds the whole of an embedding table of the SparseCores",
    documentation: "\
What it does: finds embedding tables (and slots of their optimizer) that SparseCores look up or update
and whose argument is not split over the devices.
Why it costs memory: rows are distributed over all SparseCores by their ids; a table that is whole on
each device is held as many times as there are devices, and nothing in the compiler complains.
Example: f32[8000000,16] given as P() on 4 devices takes 488 MiB on each instead of 122 MiB.
Remedy: split the rows over all devices, P(axis, None), with ids and gradients alike. What is left is
an upper bound: other values may shrink with it.
References: E1000, scenario 1 (tables sharded by modulus) and scenario 2 (missing sharding).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "scenario 1, tables sharded over SparseCores" },
};

impl Rule for UnshardedTable {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let devices = u64::try_from(context.module.header.num_partitions).unwrap_or(1);
        let (Some(part), true) = (&context.sparsecore, devices > 1) else { return };
        let mut seen = FxHashSet::default();
        for call in &part.embeddings.calls {
            for &number in &call.parameters {
                if !seen.insert(number) {
                    continue;
                }
                let Some(argument) = context.arguments.iter().find(|a| a.number == number) else {
                    continue;
                };
                let is_whole = context
                    .module
                    .sharding(argument.instruction)
                    .is_some_and(|sharding| sharding.is_replicated());
                let Some(value) = context.value_at(argument.instruction).filter(|_| is_whole)
                else {
                    continue;
                };
                let value = context.profile.value(value);
                let left = value.size_bytes.div_ceil(devices);
                let mut finding = context.finding(&META, Some(argument.instruction));
                finding.message = format!(
                    "{} of {}, {}, is whole on each of {devices} devices",
                    if call.parameters.first() == Some(&number) { "table" } else { "slot" },
                    table_name(context, call),
                    bytes(value.size_bytes)
                );
                finding.source = context
                    .before
                    .and_then(|before| crate::lint::context::source_in(before, call.instruction));
                finding.bytes = value.size_bytes.saturating_sub(left);
                finding.buffers = vec![value.buffer];
                let edits = vec![Edit::Shrink { buffer: value.buffer, bytes: left }];
                finding.remedies.extend(context.priced(
                    "split its rows over all devices: P(axis, None)",
                    edits,
                    true,
                ));
                context.push(findings, &META, finding);
            }
        }
    }
}
