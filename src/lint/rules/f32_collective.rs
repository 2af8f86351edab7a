//! `f32-collective`.

use crate::config::bytes;
use crate::hlo::{ElementType, InstructionId, Opcode};
use crate::lint::readers::{element_type, is_narrowing, readers};
use crate::lint::rest::push_most;
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Source};
use crate::memory::{Edit, ValueId};
use std::cmp::Reverse;

/// See [`META`].
pub struct F32Collective;

/// The declaration.
pub static META: Meta = Meta {
    name: "f32-collective",
    summary: "an array is gathered in f32 for one user and converted to bf16 for another",
    documentation: "\
What it does: finds results of all-gather, all-to-all and collective-permute in f32 that one user
converts to 16 bits and another reads in f32. Where every user converts, XLA moves the conversion
before the collective by itself: no finding.
Why it costs memory: twice the bytes on each device (and on the wire) of what the first user
needs.
Example: a weight is gathered whole in f32 for the largest element of each column, and converted
to bf16 for a product.
Remedy: convert before the array is gathered, and compute what needs f32 from the shards (a
maximum or a sum of the parts needs no whole array). It is a trade where the f32 user would have
to work with bf16: warned of only where memory is short.
References: E1000, 3.A (bf16 for large tensors).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "3.A, bf16 for large tensors" },
};

/// How many collectives are reported one by one, the largest first: each is priced by a run of the
/// model.
const MOST: usize = 8;

impl Rule for F32Collective {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let gathered = context.module.ids().filter(|&id| is_f32_collective(context, id));
        let mut found: Vec<Collective> =
            gathered.filter_map(|id| collective(context, id)).collect();
        found.sort_by_key(|one| (Reverse(context.profile.value(one.value).size_bytes), one.id));
        push_most(context, &META, findings, (MOST, "arrays gathered in f32"), &found, |one| {
            report(context, one)
        });
    }
}

fn is_f32_collective(context: &Context<'_>, id: InstructionId) -> bool {
    use Opcode::{
        AllGather, AllGatherDone, AllToAll, AsyncDone, CollectivePermute, CollectivePermuteDone,
    };
    let module = context.module;
    let is_collective = match module.opcode(id) {
        AllGather | AllGatherDone | AllToAll | CollectivePermute | CollectivePermuteDone => true,
        AsyncDone => module
            .operands(id)
            .first()
            .and_then(|&start| module.calls(start).next())
            .and_then(|(_, body)| module.computations.get(body.index()))
            .is_some_and(|body| matches!(module.opcode(body.root), AllGather | AllToAll)),
        _ => false,
    };
    is_collective && element_type(context, id) == Some(ElementType::F32)
}

/// A large f32 result of a collective that is read narrow and wide.
struct Collective {
    id: InstructionId,
    value: ValueId,
    /// What converts it to 16 bits.
    narrow: InstructionId,
    /// What reads it in f32.
    wide: InstructionId,
}

fn collective(context: &Context<'_>, id: InstructionId) -> Option<Collective> {
    let value_id = context.value_at(id)?;
    let value = context.profile.value(value_id);
    if value.memory_space != 0 || value.size_bytes / 2 < context.min_bytes(&META) {
        return None;
    }
    let readers = readers(context, id)?;
    let narrow = readers.iter().copied().find(|&user| is_narrowing(context, user))?;
    let wide = readers.iter().copied().find(|&user| !is_narrowing(context, user))?;
    Some(Collective { id, value: value_id, narrow, wide })
}

fn report(context: &Context<'_>, found: &Collective) -> Option<Finding> {
    let &Collective { id, narrow, wide, .. } = found;
    let value = context.profile.value(found.value);
    let wasted = value.size_bytes / 2;
    let mut finding = context.finding(&META, Some(id));
    let shape = context.shape_text(value.shape);
    finding.message = format!("{shape} of {} is gathered in f32", bytes(value.size_bytes));
    finding.shape = Some(shape);
    finding.bytes = wasted;
    finding.buffers = vec![value.buffer];
    let narrow_source = context.source_near(narrow);
    let place = |source: &Option<Source>| {
        source.as_ref().map(|source| format!(" at {source}")).unwrap_or_default()
    };
    let to = element_type(context, narrow)?;
    finding.details = vec![format!(
        "converted to {to}{}, read in f32{}",
        place(&narrow_source),
        place(&context.source_near(wide))
    )];
    finding.source = finding
        .source
        .take()
        .or_else(|| narrow_source.map(|source| Source { inferred: true, ..source }));
    let action = "convert before the gather, compute what needs f32 from the shards";
    let edits = vec![Edit::Shrink { buffer: value.buffer, bytes: wasted }];
    let priced = context.priced(action, edits, false);
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}
