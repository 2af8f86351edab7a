//! `narrow-table`.

use super::sparsecore_dominates::table_name;
use crate::config::{bytes, total_bytes};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Rule};
use crate::memory::{BufferId, Edit};
use crate::target::tpu::sparsecore::{ROW_FLOATS, TableCall};
use rustc_hash::FxHashSet;

/// See [`META`].
pub struct NarrowTable;

/// The declaration.
pub static META: Meta = Meta {
    name: "narrow-table",
    summary: "rows of an embedding table are padded to 8 floats",
    documentation: "\
What it does: finds embedding tables of the SparseCores whose rows are padded to a multiple of 8 floats:
a gradient that is padded before the update, or a lookup that is sliced. The embedding library pads
tables before XLA sees them; a width that is no multiple of 8 and reaches XLA fails to compile.
Why it costs memory: the table and every slot of its optimizer are as much larger.
Example: a table 4 floats wide takes twice its data, and twice again for Adagrad's slot.
Remedy: a width that is a multiple of 8, or neighbouring narrow tables joined into one. The figure is
what is left where the padded columns hold data of other tables.
References: E1000, scenario 1 (tables narrower than 8 floats).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "scenario 1, tables narrower than 8 floats" },
};

impl Rule for NarrowTable {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(part) = &context.sparsecore else { return };
        let mut seen = FxHashSet::default();
        let mut narrow: Vec<(&TableCall, Vec<(BufferId, u64)>)> = Vec::new();
        for call in &part.embeddings.calls {
            let padded = call.width.next_multiple_of(ROW_FLOATS);
            if call.used_width == padded || call.used_width == 0 {
                continue;
            }
            let arrays: Vec<(BufferId, u64)> = call
                .parameters
                .iter()
                .filter(|&&number| seen.insert(number))
                .filter_map(|&number| held(context, number))
                .collect();
            if !arrays.is_empty() {
                narrow.push((call, arrays));
            }
        }
        let Some((first, _)) = narrow.first() else { return };
        let number = first.parameters.first();
        let argument = context.arguments.iter().find(|a| Some(&a.number) == number);
        let mut finding = context.finding(&META, argument.map(|a| a.instruction));
        finding.source = context
            .before
            .and_then(|before| crate::lint::context::source_in(before, first.instruction));
        let wasted = |call: &TableCall, size: u64| {
            let padded = call.width.next_multiple_of(ROW_FLOATS).max(1);
            size / padded * padded.saturating_sub(call.used_width)
        };
        finding.bytes = total_bytes(
            narrow
                .iter()
                .flat_map(|(call, arrays)| arrays.iter().map(|(_, size)| wasted(call, *size))),
        );
        finding.message = format!(
            "{} of padding in tables narrower than {ROW_FLOATS} floats: {} of {} floats used in {}{}",
            bytes(finding.bytes),
            first.used_width,
            first.width.next_multiple_of(ROW_FLOATS),
            table_name(context, first),
            if narrow.len() > 1 {
                format!(" and {} more", narrow.len() - 1)
            } else {
                String::new()
            }
        );
        let mut edits = Vec::new();
        for (call, arrays) in &narrow {
            for &(buffer, size) in arrays {
                finding.buffers.push(buffer);
                edits.push(Edit::Shrink { buffer, bytes: size - wasted(call, size).min(size) });
            }
        }
        let action = "join narrow tables, or choose a width that is a multiple of 8";
        finding.remedies.extend(context.priced(action, edits, false));
        context.push(findings, &META, finding);
    }
}

/// The buffer of an argument and its size.
fn held(context: &Context<'_>, number: i64) -> Option<(BufferId, u64)> {
    let argument = context.arguments.iter().find(|argument| argument.number == number)?;
    let value = context.profile.value(context.value_at(argument.instruction)?);
    Some((value.buffer, value.size_bytes))
}
