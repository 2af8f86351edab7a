//! `debug-print`.

use crate::config::{bytes, total_bytes};
use crate::graph::Repetition;
use crate::hlo::{InstructionId, Opcode};
use crate::lint::{
    Context, Finding, HostTransfer, Kind, Level, Meta, Reference, Remedy, Rule, Source,
    TransferKind, host_transfers,
};
use crate::memory::{Edit, Value, ValueId};
use rustc_hash::FxHashMap;

/// See [`META`].
pub struct DebugPrint;

/// The declaration.
pub static META: Meta = Meta {
    name: "debug-print",
    summary: "a print or callback sends a large value to the host",
    documentation: "\
What it does: finds values that jax.debug.print, jax.debug.callback, jax.pure_callback or io_callback
sends to the host: on TPU a send with is_host_transfer, on GPU and CPU a callback custom-call.
Why it costs memory: a value that would have stayed inside a fusion is written out whole, and in a
loop the carry is copied while the value is still to be sent. A value that is in memory anyway costs
nothing but the transfer. Under a mesh, outside shard_map, the whole array is gathered first.
Example: jax.debug.print of f32[4096,2048] in a fori_loop holds 32 MiB more at the peak.
Remedy: print a reduction such as jnp.abs(x).max(), or remove the print.
References: E1000, scenario 2 (remove jax.debug.print of large tensors).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "scenario 2, jax.debug.print of large tensors" },
};

impl Rule for DebugPrint {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let mut questions = QUESTIONS;
        for site in sites(context) {
            if let Some(finding) = report(context, &site, &mut questions) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// How many prints of a program are priced: each one runs the memory analysis again.
const QUESTIONS: u32 = 32;

/// One print of the user's program: its transfers, those of several values taken together.
struct Site {
    transfers: Vec<HostTransfer>,
    source: Option<Source>,
}

fn sites(context: &Context<'_>) -> Vec<Site> {
    let mut sites: Vec<Site> = Vec::new();
    let mut places = FxHashMap::default();
    for transfer in host_transfers(context.module) {
        let source = context.source(transfer.instruction);
        let computation = context.module.instruction(transfer.instruction).computation;
        let key = (source.clone(), transfer.op_name.clone(), computation);
        let place = *places.entry(key).or_insert(sites.len());
        match sites.get_mut(place) {
            Some(site) => site.transfers.push(transfer),
            None => sites.push(Site { transfers: vec![transfer], source }),
        }
    }
    sites
}

fn report(context: &Context<'_>, site: &Site, questions: &mut u32) -> Option<Finding> {
    let mut sent: Vec<(u64, InstructionId, Option<ValueId>)> = site
        .transfers
        .iter()
        .flat_map(|transfer| transfer.sent.iter().copied())
        .map(|id| {
            let value = context.value_at(id);
            let size = value.map_or_else(
                || context.natural_bytes(id),
                |value| context.profile.value(value).size_bytes,
            );
            (size, id, value)
        })
        .collect();
    sent.sort_by_key(|(size, id, _)| (std::cmp::Reverse(*size), *id));
    let (size, largest, _) = *sent.first()?;
    let transfer = site.transfers.iter().find(|transfer| transfer.sent.contains(&largest))?;
    let repetition = context.graph.repetition(context.module.instruction(largest).computation);

    let mut finding = context.finding(&META, Some(transfer.instruction));
    finding.source = site.source.clone();
    let shape = context.shape_text(context.module.instruction(largest).shape);
    finding.message = format!("{} of {shape}{}", transfer.kind.as_str(), in_loop(repetition));
    finding.shape = Some(shape);
    finding.bytes = size;
    finding.buffers = sent
        .iter()
        .filter_map(|(_, _, value)| Some(context.profile.value((*value)?).buffer))
        .collect();

    let alive: Vec<ValueId> = sent
        .iter()
        .filter_map(|(_, _, value)| *value)
        .filter(|&value| context.is_alive_at_peak(context.profile.value(value)))
        .collect();
    let held = total_bytes(alive.iter().map(|&value| context.profile.value(value).size_bytes));
    finding.details = facts(size, held, repetition, context.profile.schedule.is_empty());
    let edits: Vec<Edit> =
        sent.iter().filter_map(|(_, id, value)| edit(context, site, *id, (*value)?)).collect();
    if held > 0
        && let Some(copy) = sent.iter().find_map(|(_, id, _)| copy_of(context, site, *id))
    {
        finding.details.push(format!(
            "copied ({}) while the printed value is still to be sent",
            context.module.instruction(copy).name
        ));
    }
    finding.remedies = vec![remedy(context, transfer.kind, &edits, held, questions)];
    finding.is_urgent = held >= context.min_bytes(&META)
        && repetition != Repetition::Once
        && finding.remedies.iter().any(|remedy| remedy.required_bytes_after.is_some());
    Some(finding)
}

fn in_loop(repetition: Repetition) -> String {
    match repetition {
        Repetition::Once => String::new(),
        Repetition::Times(times) => format!(" in a loop that runs {times} times"),
        Repetition::Unknown => " in a loop".to_owned(),
    }
}

fn facts(size: u64, held: u64, repetition: Repetition, unscheduled: bool) -> Vec<String> {
    let sent = match repetition {
        Repetition::Once => format!("sent to the host: {} in each call", bytes(size)),
        Repetition::Times(n) => format!("sent to the host: {n} x {} in each call", bytes(size)),
        Repetition::Unknown => format!("sent to the host: {} in each iteration", bytes(size)),
    };
    let alive = match (held, unscheduled) {
        (_, true) => "whether it is alive at the peak is not known: no schedule".to_owned(),
        (0, _) => "not alive at the peak".to_owned(),
        _ => format!("held at the peak: {}", bytes(held)),
    };
    vec![format!("{alive}.  {sent}")]
}

fn remedy(
    context: &Context<'_>,
    kind: TransferKind,
    edits: &[Edit],
    held: u64,
    questions: &mut u32,
) -> Remedy {
    if !kind.is_print() {
        return Remedy::new("send less to the host, or compute it on the device");
    }
    let action = "print a reduction, e.g. jnp.abs(x).max(), or remove it";
    if held == 0 || edits.is_empty() || *questions == 0 {
        return Remedy::new(action);
    }
    *questions -= 1;
    context.priced(action, edits.to_vec(), false).unwrap_or_else(|| Remedy::new(action))
}

/// Whether an instruction belongs to the transfers of a site (`send` and what waits for it).
fn is_of_site(context: &Context<'_>, site: &Site, id: InstructionId) -> bool {
    use Opcode::{CustomCall, Outfeed, Send, SendDone};
    let op_name = |id| context.module.metadata(id).map(|metadata| metadata.op_name);
    matches!(context.module.opcode(id), Send | SendDone | CustomCall | Outfeed)
        && site.transfers.first().is_some_and(|first| op_name(first.instruction) == op_name(id))
}

/// The copy that a sent value is handed on by: without the send the value would be written to the
/// copy's place at once.
fn copy_of(context: &Context<'_>, site: &Site, sent: InstructionId) -> Option<InstructionId> {
    let mut others =
        context.graph.users(sent).filter(|(user, _)| !is_of_site(context, site, *user));
    let (copy, _) = others.next()?;
    let alone = others.next().is_none();
    (alone && context.module.opcode(copy) == Opcode::Copy).then_some(copy)
}

/// What becomes of a sent value without the send: gone where nothing else needs it or only a copy
/// does (the copy's place is written at once).
fn edit(context: &Context<'_>, site: &Site, sent: InstructionId, value: ValueId) -> Option<Edit> {
    let value = context.profile.value(value);
    let is_gone = copy_of(context, site, sent).is_some() || !is_needed(context, site, sent, value);
    is_gone.then_some(Edit::Remove(value.buffer))
}

/// Whether anything but the send needs a sent value.
fn is_needed(context: &Context<'_>, site: &Site, sent: InstructionId, value: &Value) -> bool {
    let module = context.module;
    let is_used = |id: InstructionId| {
        module.is_root(id)
            || context.graph.users(id).any(|(user, _)| !is_of_site(context, site, user))
    };
    if module.opcode(sent) != Opcode::GetTupleElement {
        return is_used(sent) || module.opcode(sent) == Opcode::Parameter;
    }
    // One result of several: others that take the same one count, and so does whoever takes all.
    module.opcode(value.instruction) == Opcode::Parameter
        || module.is_root(value.instruction)
        || context.graph.users(value.instruction).any(|(user, _)| {
            match (module.opcode(user), module.tuple_index(user)) {
                (Opcode::GetTupleElement, index) => {
                    index == module.tuple_index(sent) && is_used(user)
                }
                _ => true,
            }
        })
}
