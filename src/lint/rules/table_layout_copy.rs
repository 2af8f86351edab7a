//! `table-layout-copy`.

use crate::config::{bytes, total_bytes};
use crate::hlo::{Attribute, InstructionId, Opcode};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Rule};
use crate::memory::Edit;

/// See [`META`].
pub struct TableLayoutCopy;

/// The declaration.
pub static META: Meta = Meta {
    name: "table-layout-copy",
    summary: "an embedding table is copied into the SparseCores' layout and back",
    documentation: "\
What it does: finds embedding tables (and slots) that come in the TensorCore's layout and are copied for
the SparseCores before a lookup, and back after an update.
Why it costs memory: the layout in between has the narrow rows as its minor dimension, padded to 128
floats: a table 16 wide is copied through 8 times its size, in each step.
Example: f32[2000000,16] of 122 MiB on a device is copied through 977 MiB.
Remedy: pin the SparseCores' layout in in_shardings and out_shardings: major to minor (0, 1), tiles of
8. What is left counts the copies as gone.
References: E1000, scenario 1.",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "scenario 1, layout of tables" },
};

impl Rule for TableLayoutCopy {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(part) = &context.sparsecore else { return };
        let mut numbers: Vec<i64> =
            part.embeddings.calls.iter().flat_map(|call| call.parameters.iter().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut copies: Vec<InstructionId> = Vec::new();
        let mut tables = Vec::new();
        let ways = ways_into_calls(context);
        for argument in context.arguments.iter().filter(|a| numbers.contains(&a.number)) {
            let into = ways.iter().filter(|way| way.from == argument.instruction);
            let into: Vec<InstructionId> =
                into.flat_map(|way| relaid(context, &way.steps)).collect();
            if !into.is_empty() {
                tables.push(argument);
                copies.extend(into);
            }
        }
        let Some(first) = tables.first() else { return };
        copies.extend(copies_back(
            context,
            &tables.iter().map(|a| a.instruction).collect::<Vec<_>>(),
        ));
        copies.sort_unstable();
        copies.dedup();
        let mut finding = context.finding(&META, Some(first.instruction));
        let call = part.embeddings.calls.iter().find(|c| c.parameters.contains(&first.number));
        finding.source = context
            .before
            .zip(call)
            .and_then(|(before, call)| crate::lint::context::source_in(before, call.instruction));
        let values: Vec<_> = copies
            .iter()
            .filter_map(|&copy| context.value_at(copy))
            .map(|id| context.profile.value(id))
            .filter(|value| value.memory_space == 0)
            .collect();
        finding.bytes = values.iter().map(|value| value.size_bytes).max().unwrap_or(0);
        finding.message = format!(
            "{} table{} copied into the SparseCores' layout in each step, largest copy {}",
            tables.len(),
            if tables.len() == 1 { "" } else { "s" },
            bytes(finding.bytes)
        );
        let own: Vec<u64> = tables
            .iter()
            .filter_map(|argument| context.value_at(argument.instruction))
            .map(|id| context.profile.value(id).size_bytes)
            .collect();
        let names: Vec<&str> = tables.iter().take(3).map(|a| a.path.as_str()).collect();
        finding.details.push(format!(
            "{}{}: {} of data, {} copies",
            names.join(", "),
            if tables.len() > 3 { " ..." } else { "" },
            bytes(total_bytes(own)),
            values.len()
        ));
        finding.buffers = values.iter().map(|value| value.buffer).collect();
        let is_held = |value: &&&crate::memory::Value| {
            let place = value.place.map(|place| context.profile.allocation(place.allocation));
            place.is_some_and(crate::memory::Allocation::is_temporary)
        };
        let edits = values.iter().filter(is_held).map(|value| Edit::Remove(value.buffer)).collect();
        let action = "pin the layout of argument and result: Layout((0, 1), tiling=((8,),))";
        finding.remedies.extend(context.priced(action, edits, false));
        context.push(findings, &META, finding);
    }
}

/// What a value went through, last first, and where it comes from.
struct Way {
    steps: Vec<InstructionId>,
    from: InstructionId,
}

/// Follows copies, reshapes and slices fetched ahead up to what computes the data.
fn way_up(context: &Context<'_>, to: InstructionId) -> Way {
    use Opcode::{
        AsyncDone, AsyncStart, Bitcast, Copy, CopyDone, CopyStart, CustomCall, Reshape, Slice,
        Transpose,
    };
    const STEPS: usize = 16;
    let mut way = Way { steps: Vec::new(), from: to };
    for _ in 0..STEPS {
        let is_move = match context.module.opcode(way.from) {
            Bitcast | Copy | CopyDone | CopyStart | Reshape | Transpose | Slice => true,
            AsyncDone | AsyncStart => !runs_on_sparsecore(context, way.from),
            CustomCall => context.module.custom_call_target(way.from) == Some("ConcatBitcast"),
            _ => false,
        };
        let Some(&operand) = context.module.operands(way.from).first().filter(|_| is_move) else {
            break;
        };
        way.steps.push(way.from);
        way.from = operand;
    }
    way
}

fn runs_on_sparsecore(context: &Context<'_>, id: InstructionId) -> bool {
    let mut attributes = context.module.attributes(id).iter();
    attributes.any(|attribute| {
        matches!(attribute, Attribute::AsyncExecutionThread(thread) if thread.contains("sparsecore"))
    })
}

/// The ways of all operands of the entry's calls on SparseCores.
fn ways_into_calls(context: &Context<'_>) -> Vec<Way> {
    let module = context.module;
    let entry = module.ids().filter(|&id| module.instruction(id).computation == module.entry);
    entry
        .filter(|&id| context.module.opcode(id) == Opcode::AsyncStart)
        .filter(|&id| runs_on_sparsecore(context, id))
        .flat_map(|id| context.module.operands(id))
        .map(|&operand| way_up(context, operand))
        .collect()
}

/// Copies on the way from a call to the results that have the tables' shapes.
fn copies_back(context: &Context<'_>, tables: &[InstructionId]) -> Vec<InstructionId> {
    let module = context.module;
    let root = module.entry().root;
    let results = match module.opcode(root) {
        Opcode::Tuple => module.operands(root).to_vec(),
        _ => vec![root],
    };
    let dimensions = |id| module.shape(id).array().map(|array| &array.dimensions);
    results
        .into_iter()
        .filter(|&result| tables.iter().any(|&table| dimensions(table) == dimensions(result)))
        .flat_map(|result| relaid(context, &way_up(context, result).steps))
        .collect()
}

/// What of a way takes memory of its own; nothing where no step copies.
fn relaid(context: &Context<'_>, steps: &[InstructionId]) -> Vec<InstructionId> {
    let opcode = |id: InstructionId| context.module.opcode(id);
    if !steps.iter().any(|&id| opcode(id) == Opcode::Copy) {
        return Vec::new();
    }
    let moves = |&id: &InstructionId| matches!(opcode(id), Opcode::Copy | Opcode::Reshape);
    steps.iter().copied().filter(moves).collect()
}
