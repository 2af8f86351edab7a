//! `copied-donated-input`.

use crate::config::{bytes, total_bytes};
use crate::hlo::{InstructionId, Opcode, ShapeIndex};
use crate::lint::ends::{aliased_parameters, is_same_array};
use crate::lint::update::hand_on;
use crate::lint::{Argument, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Source};
use crate::memory::{Edit, ValueId};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// See [`META`].
pub struct CopiedDonatedInput;

/// The declaration.
pub static META: Meta = Meta {
    name: "copied-donated-input",
    summary: "a donated argument is copied, because its old value is still read",
    documentation: "\
What it does: finds copies in HBM of an argument whose memory a result takes (a copy to another
layout is none), and the instructions behind the copy that still read the argument.
Why it costs memory: a donated array can be updated in place only where nothing reads its old
value behind the update; otherwise the update works on a copy, which is as large.
Example: a cache is updated with a slice, and its difference to the old cache is computed
afterwards.
Remedy: read what is needed of the old array before the update (the slice that changes), or read
the new array; return the old one in no result.
References: E1000, 3.A (donate inputs).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "3.A, donate inputs" },
};

/// How many copies are listed.
const LINES: usize = 4;

/// How many instructions a chain from a copy to its argument may have.
const STEPS: usize = 64;

impl Rule for CopiedDonatedInput {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let (read, unread): (Vec<Copied<'_>>, Vec<Copied<'_>>) =
            copies(context).into_iter().partition(|copied| copied.reader.is_some());
        for mut copies in [read, unread] {
            copies.sort_by_key(|copied| (Reverse(copied.size_bytes), copied.copy));
            if let Some(finding) = report(context, &copies) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// A copy of a donated argument.
struct Copied<'c> {
    argument: &'c Argument,
    copy: InstructionId,
    value: ValueId,
    size_bytes: u64,
    /// What reads the argument behind the copy.
    reader: Option<InstructionId>,
}

fn copies<'c>(context: &'c Context<'_>) -> Vec<Copied<'c>> {
    let module = context.module;
    let donated = aliased_parameters(context);
    let arguments: FxHashMap<InstructionId, &Argument> = context
        .arguments
        .iter()
        .filter(|argument| donated.contains(&argument.number))
        .map(|argument| (argument.instruction, argument))
        .collect();
    if arguments.is_empty() {
        return Vec::new();
    }
    let entry = module.entry().ids();
    let copies = entry.filter(|&id| matches!(module.opcode(id), Opcode::Copy | Opcode::CopyDone));
    copies
        .filter_map(|copy| {
            let value_id = context.value_at(copy)?;
            let value = context.profile.value(value_id);
            if value.memory_space != 0 || value.size_bytes < context.min_bytes(&META) {
                return None;
            }
            let argument = arguments.get(&source_of(context, copy)?)?;
            let of_argument = module.shape(argument.instruction).array()?;
            let is_relayout = !is_same_array(of_argument, module.shape(copy).array()?);
            let size_bytes = value.size_bytes;
            (!is_relayout).then(|| Copied {
                argument,
                copy,
                value: value_id,
                size_bytes,
                reader: late_reader(context, argument.instruction, copy),
            })
        })
        .collect()
}

/// The entry parameter that a copy is a copy of.
fn source_of(context: &Context<'_>, copy: InstructionId) -> Option<InstructionId> {
    let mut place = (copy, ShapeIndex::new());
    for _ in 0..STEPS {
        match hand_on(context, &place) {
            Some(next) => place = next,
            None => break,
        }
    }
    (context.module.opcode(place.0) == Opcode::Parameter).then_some(place.0)
}

/// All copies of one kind in one finding, the largest first.
fn report(context: &Context<'_>, copies: &[Copied<'_>]) -> Option<Finding> {
    let largest = copies.first()?;
    let total = total_bytes(copies.iter().map(|copied| copied.size_bytes));
    let mut finding = context.finding(&META, Some(largest.copy));
    finding.message = match copies {
        [one] => format!("donated {} of {} is copied", one.argument.path, bytes(total)),
        _ => format!("{} donated arguments, {}, are copied", copies.len(), bytes(total)),
    };
    finding.shape = Some(context.shape_text(context.module.instruction(largest.copy).shape));
    finding.bytes = total;
    finding.buffers =
        copies.iter().map(|copied| context.profile.value(copied.value).buffer).collect();
    let arguments = copies.iter().filter_map(|copied| {
        let value = context.value_at(copied.argument.instruction)?;
        Some(context.profile.value(value).buffer)
    });
    finding.copies_of = arguments.collect();
    finding.source = largest
        .reader
        .and_then(|reader| context.source_near(reader))
        .or_else(|| update_source(context, largest))
        .map(|source| Source { inferred: true, ..source });
    finding.details = copies.iter().take(LINES).map(|copied| line(context, copied)).collect();
    if let Some(more @ 1..) = copies.len().checked_sub(LINES) {
        finding.details.push(format!("and {more} more"));
    }
    if largest.reader.is_none() {
        // The compiler's own doing: nothing in the program reads the old value late.
        finding.level = Level::Note;
        finding.remedies =
            vec![Remedy::new("update each array behind the last use of its old value")];
        return Some(finding);
    }
    let action = "read it before the update, or read the new array";
    let edits = finding.buffers.iter().map(|&buffer| Edit::Remove(buffer)).collect();
    let priced = context.priced(action, edits, false);
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}

/// Which argument, what reads its old value, and what updates it.
fn line(context: &Context<'_>, copied: &Copied<'_>) -> String {
    let module = context.module;
    let shape = context.shape_text(module.instruction(copied.copy).shape);
    let old = match copied.reader {
        Some(reader) if module.is_root(reader) => ": old value returned, too".to_owned(),
        Some(reader) => {
            let place = context.source_near(reader).map_or_else(
                || module.instruction(reader).name.to_owned(),
                |source| source.to_string(),
            );
            format!(": old value read at {place}")
        }
        None => String::new(),
    };
    let update = update_source(context, copied);
    let update = update.map(|source| format!(", updated at {source}")).unwrap_or_default();
    format!("{} {shape}{old}{update}", copied.argument.path)
}

/// The line of what works on the copy.
fn update_source(context: &Context<'_>, copied: &Copied<'_>) -> Option<Source> {
    context.graph.users(copied.copy).find_map(|(user, _)| context.source(user))
}

/// The last instruction of ENTRY behind the copy that still reads the argument.
fn late_reader(
    context: &Context<'_>,
    argument: InstructionId,
    copy: InstructionId,
) -> Option<InstructionId> {
    let module = context.module;
    let mut late: Option<InstructionId> = None;
    let mut handed_on = vec![argument];
    let mut steps = 0;
    while let Some(id) = handed_on.pop() {
        for (user, _) in context.graph.users(id) {
            steps += 1;
            if steps > 1 << 12 {
                return late;
            }
            match module.opcode(user) {
                Opcode::Bitcast => handed_on.push(user),
                _ if user > copy => late = late.max(Some(user)),
                _ => {}
            }
        }
    }
    late
}
