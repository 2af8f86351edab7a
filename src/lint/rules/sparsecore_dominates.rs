//! `sparsecore-dominates`.

use crate::config::{bytes, total_bytes};
use crate::lint::{
    Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, SparseCore,
    Threshold, unescape,
};
use crate::target::tpu::sparsecore::{CallKind, TableCall};
use std::cmp::Reverse;

/// See [`META`].
pub struct SparsecoreDominates;

/// The declaration.
pub static META: Meta = Meta {
    name: "sparsecore-dominates",
    summary: "SparseCores need more HBM than the TensorCore, or just what is missing",
    documentation: "\
What it does: adds up what the SparseCores of a device need in HBM for lookups in embedding tables and
their updates: a stack for each of them, scratch for sorting ids, program code. XLA counts it and no
allocation of the text shows it. Fires where it is a large share of what is needed (and of HBM), or where the
program would fit without it.
Why it costs memory: the stack holds the rows of all unique ids of a step, for each partition of each
SparseCore, several times over for an optimizer with slots. Batch and vocabulary do not enter.
Example: max_unique_ids_per_partition = 4096 at width 128 on 8 SparseCores: 2 x 387 MiB on a device.
Remedy: a lower max_unique_ids_per_partition; narrower tables; where tables have different sizes,
--xla_sc_num_serialized_tables_to_optimize_hbm (tables of equal estimate are not serialised: 2048 and
2040 unique ids are, 2048 twice are not). What each leaves is scaled by a formula that was within 1.6%
on 73 of 77 programs.
References: E1000, scenario 1 (balance of TensorCore and SparseCore).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[Threshold {
        name: "share",
        default: 0.5,
        documentation: "the share of what is needed from which SparseCores dominate",
    }],
    reference: Reference {
        code: "E1000",
        section: "scenario 1, balance of TensorCore and SparseCore",
    },
};

impl Rule for SparsecoreDominates {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(part) = &context.sparsecore else { return };
        let needed = context.hbm().required_bytes;
        let (held, exceeded) = (part.bytes(), context.exceeded_bytes());
        let is_large = held as f64 >= needed as f64 * context.threshold(&META, "share")
            && context.is_material(&META, held);
        let decides = exceeded > 0 && held >= exceeded;
        if !(is_large || decides) {
            return;
        }
        let mut finding = context.finding(&META, None);
        finding.message = format!(
            "SparseCores need {} of HBM, the TensorCore {}",
            bytes(held),
            bytes(needed.saturating_sub(held))
        );
        finding.bytes = held;
        if part.is_estimate {
            finding.confidence = Confidence::Estimate;
        }
        finding.details = details(context, part);
        finding.remedies = remedies(context, part);
        context.push(findings, &META, finding);
    }
}

fn details(context: &Context<'_>, part: &SparseCore) -> Vec<String> {
    let origin = if part.is_estimate { "by formula" } else { "from the schedule" };
    let mut lines = vec![format!(
        "{} SparseCores x ({} stack, {origin}, {} to sort ids), {} code and reserved",
        part.cores,
        bytes(part.stack_bytes),
        bytes(part.sort_bytes),
        bytes(part.reserved_bytes)
    )];
    let mut calls: Vec<&TableCall> = part.embeddings.calls.iter().collect();
    calls.sort_by_key(|call| (Reverse(part.embeddings.stack_bytes_of(call)), call.instruction));
    const SHOWN: usize = 4;
    lines.extend(calls.iter().take(SHOWN).map(|call| {
        format!(
            "{} of {}: width {}, {} unique ids, {}about {} of each stack",
            match call.kind {
                CallKind::Lookup => "lookup",
                CallKind::Update => "update",
            },
            table_name(context, call),
            call.width,
            call.max_unique,
            match call.slots {
                0 => String::new(),
                1 => "1 slot, ".to_owned(),
                more => format!("{more} slots, "),
            },
            bytes(part.embeddings.stack_bytes_of(call))
        )
    }));
    if calls.len() > SHOWN {
        let rest = calls[SHOWN..].iter().map(|call| part.embeddings.stack_bytes_of(call));
        lines.push(format!("and {} more, {}", calls.len() - SHOWN, bytes(total_bytes(rest))));
    }
    lines
}

/// The name of a call's table, as the user passes it.
pub(super) fn table_name(context: &Context<'_>, call: &TableCall) -> String {
    let number = call.parameters.first();
    let argument = context.arguments.iter().find(|argument| Some(&argument.number) == number);
    argument.map_or_else(|| "a table".to_owned(), |argument| unescape(&argument.path))
}

fn remedies(context: &Context<'_>, part: &SparseCore) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    let now = part.stack_bytes;
    let rest = context.hbm().required_bytes.saturating_sub(part.bytes());
    let priced = |action: String, stack_bytes: u64| Remedy {
        required_bytes_after: Some(rest.saturating_add(part.with_stack(stack_bytes))),
        ..Remedy::new(action)
    };
    let mut halved = part.embeddings.clone();
    let most = halved.calls.iter().map(|call| call.max_unique).max().unwrap_or(0);
    for call in halved.calls.iter_mut().filter(|call| call.max_unique == most) {
        call.max_unique /= 2;
    }
    if most > 1 {
        let action = format!("max_unique_ids_per_partition = {} instead of {most}", most / 2);
        remedies.push(priced(action, part.stack_with(&halved, part.serialized)));
    }
    let serial = |groups: u64| part.stack_with(&part.embeddings, groups);
    let tables = part.embeddings.calls.len() as u64;
    let least = serial(tables);
    if part.serialized == 0 && least < now {
        let groups = (1..=tables).find(|&groups| serial(groups) == least).unwrap_or(tables);
        let action = format!("--xla_sc_num_serialized_tables_to_optimize_hbm={groups}");
        remedies.push(priced(action, least));
    } else if part.serialized == 0 && tables > 1 {
        remedies.push(Remedy::new(
            "serialised tables, once their limits differ a little (2048 and 2040 unique ids): tables of \
             equal size run together whatever the flag says",
        ));
    }
    remedies.retain(|remedy: &Remedy| {
        remedy.required_bytes_after.is_none_or(|after| after < context.hbm().required_bytes)
    });
    remedies
}
