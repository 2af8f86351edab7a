//! Prints and callbacks as the user wrote them: a program in; one site for each line that sends to
//! the host, with what is sent, what comes back and what goes when the send goes, out.

use super::{Context, Finding, HostTransfer, Meta, Source, TransferKind, host_transfers, unescape};
use crate::config::{bytes, total_bytes};
use crate::graph::Repetition;
use crate::hlo::{ComputationId, InstructionId, Opcode, Sharding, ShardingKind};
use crate::memory::{Edit, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// One print or callback of the user's program: its transfers, those of several values taken
/// together.
pub(super) struct Site {
    transfers: Vec<HostTransfer>,
    /// What the user wrote.
    pub(super) kind: TransferKind,
    /// The line.
    pub(super) source: Option<Source>,
    /// How often it runs.
    pub(super) repetition: Repetition,
    /// What is sent, the largest first.
    pub(super) sent: Vec<Sent>,
    /// Bytes that come back.
    pub(super) received_bytes: u64,
}

/// One value that is sent.
pub(super) struct Sent {
    /// The instruction whose result is sent.
    pub(super) instruction: InstructionId,
    /// The value, where there is one in memory.
    pub(super) value: Option<ValueId>,
    /// Its size.
    pub(super) size_bytes: u64,
}

/// All sites of a program, in text order.
pub(super) fn sites(context: &Context<'_>) -> Vec<Site> {
    let mut groups: Vec<Vec<HostTransfer>> = Vec::new();
    let mut places: FxHashMap<Key, usize> = FxHashMap::default();
    for transfer in host_transfers(context.module) {
        let place = *places.entry(key(context, transfer.instruction)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(transfer),
            None => groups.push(vec![transfer]),
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let mut received = vec![0_u64; groups.len()];
    for (id, size_bytes) in answers(context) {
        if let Some(&place) = places.get(&key(context, id)) {
            received[place] = received[place].saturating_add(size_bytes);
        }
    }
    groups
        .into_iter()
        .zip(received)
        .filter_map(|(group, back)| site(context, group, back))
        .collect()
}

/// The line, the framework's name and the computation.
type Key = (Option<Source>, String, ComputationId);

fn key(context: &Context<'_>, id: InstructionId) -> Key {
    let op_name = context.module.metadata(id).map_or("", |metadata| metadata.op_name);
    (context.source(id), unescape(op_name), context.module.instruction(id).computation)
}

/// What comes back from the host, with its bytes: on TPU a `recv`, on GPU and CPU the result of the
/// call.
fn answers<'c>(context: &'c Context<'_>) -> impl Iterator<Item = (InstructionId, u64)> + 'c {
    let module = context.module;
    let is_answer = move |id: &InstructionId| match module.opcode(*id) {
        Opcode::RecvDone => module.is_host_transfer(*id),
        Opcode::CustomCall => true,
        _ => false,
    };
    module.ids().filter(is_answer).map(move |id| {
        let array = |shape| context.policy.array_bytes(module.shapes.get(shape).array()?);
        let size_bytes = match module.shape(id).elements() {
            Some(elements) => total_bytes(elements.iter().filter_map(|&shape| array(shape))),
            None => context.natural_bytes(id),
        };
        (id, size_bytes)
    })
}

fn site(context: &Context<'_>, transfers: Vec<HostTransfer>, received_bytes: u64) -> Option<Site> {
    let first = transfers.first()?;
    let mut sent: Vec<Sent> = transfers
        .iter()
        .flat_map(|transfer| transfer.sent.iter().copied())
        .map(|instruction| {
            let value = context.value_at(instruction);
            let size_bytes = value.map_or_else(
                || context.natural_bytes(instruction),
                |value| context.profile.value(value).size_bytes,
            );
            Sent { instruction, value, size_bytes }
        })
        .collect();
    sent.sort_by_key(|sent| (std::cmp::Reverse(sent.size_bytes), sent.instruction));
    let largest = sent.first()?.instruction;
    Some(Site {
        kind: first.kind,
        source: context.source(first.instruction),
        repetition: context.graph.repetition(context.module.instruction(largest).computation),
        sent,
        received_bytes,
        transfers,
    })
}

impl Site {
    /// Bytes of the largest value.
    pub(super) fn size_bytes(&self) -> u64 {
        self.sent.first().map_or(0, |sent| sent.size_bytes)
    }

    /// Bytes of what is sent and alive at the peak.
    pub(super) fn held_bytes(&self, context: &Context<'_>) -> u64 {
        let values = self.sent.iter().filter_map(|sent| sent.value);
        let alive = values.filter(|&id| context.is_alive_at_peak(context.profile.value(id)));
        total_bytes(alive.map(|id| context.profile.value(id).size_bytes))
    }

    /// The transfer of the largest value.
    fn transfer(&self) -> Option<&HostTransfer> {
        let largest = self.sent.first()?.instruction;
        self.transfers.iter().find(|transfer| transfer.sent.contains(&largest))
    }

    /// A finding about the site: `KIND of SHAPE in a loop that runs N times`.
    pub(super) fn finding(&self, context: &Context<'_>, meta: &Meta) -> Option<Finding> {
        let largest = self.sent.first()?;
        let mut finding = context.finding(meta, Some(self.transfer()?.instruction));
        finding.source = self.source.clone();
        let shape = context.shape_text(context.module.instruction(largest.instruction).shape);
        let in_loop = match self.repetition {
            Repetition::Once => String::new(),
            Repetition::Times(times) => format!(" in a loop that runs {times} times"),
            Repetition::Unknown => " in a loop".to_owned(),
        };
        finding.message = format!("{} of {shape}{in_loop}", self.kind.as_str());
        finding.shape = Some(shape);
        finding.bytes = self.size_bytes();
        let buffer = |sent: &Sent| Some(context.profile.value(sent.value?).buffer);
        finding.buffers = self.sent.iter().filter_map(buffer).collect();
        finding.details = vec![self.facts(context)];
        finding.details.extend(self.devices(context));
        Some(finding)
    }

    /// What it holds at the peak, and what goes to the host and back.
    fn facts(&self, context: &Context<'_>) -> String {
        let size = bytes(self.size_bytes());
        let (times, each) = match self.repetition {
            Repetition::Once => (String::new(), "call"),
            Repetition::Times(n) => (format!("{n} x "), "call"),
            Repetition::Unknown => (String::new(), "iteration"),
        };
        let back = match self.received_bytes {
            received if received < context.settings.materiality.min_bytes => String::new(),
            received => format!(", back: {times}{},", bytes(received)),
        };
        let alive = match self.held_bytes(context) {
            _ if context.profile.schedule.is_empty() => {
                "whether it is alive at the peak is not known: no schedule".to_owned()
            }
            0 => "not alive at the peak".to_owned(),
            held => format!("held at the peak: {}", bytes(held)),
        };
        format!("{alive}.  sent to the host: {times}{size}{back} in each {each}")
    }

    /// Under a mesh, which devices send what.
    fn devices(&self, context: &Context<'_>) -> Option<String> {
        let (devices, transfer) = (context.mesh.devices, self.transfer()?);
        if devices <= 1 {
            return None;
        }
        let sender = sender(context, transfer.instruction);
        let gather = self.gather(context);
        Some(match (sender, gather) {
            (Some(device), Some(gather)) => format!(
                "gathered whole on each of {devices} devices ({}), sent by device {device}",
                context.module.instruction(gather).name
            ),
            (Some(device), None) => format!("sent by device {device} of {devices}"),
            (None, _) => format!("each of {devices} devices sends its own part"),
        })
    }

    /// The all-gather that the largest value comes from, where it does.
    pub(super) fn gather(&self, context: &Context<'_>) -> Option<InstructionId> {
        let mut at = self.sent.first()?.instruction;
        for _ in 0..CHAIN {
            match context.module.opcode(at) {
                Opcode::AllGather | Opcode::AllGatherDone => return Some(at),
                _ => at = handed_on(context, at)?,
            }
        }
        None
    }

    /// What becomes of memory when nothing is sent: every value that only the send needs is gone,
    /// up to what is computed for other reasons.
    pub(super) fn edits(&self, context: &Context<'_>) -> Vec<Edit> {
        let own = self.own(context);
        let mut gone = own.clone();
        let mut edits = Vec::new();
        for sent in &self.sent {
            let mut at = Some(sent.instruction);
            for _ in 0..CHAIN {
                let Some(id) = at else { break };
                let is_first = id == sent.instruction;
                let copied = is_first && copy_of(context, &own, id).is_some();
                if !copied && is_needed(context, &gone, id) {
                    break;
                }
                if let Some(value) = context.value_at(id) {
                    let defined_by = context.profile.value(value).instruction;
                    if context.module.opcode(defined_by) == Opcode::Parameter {
                        break;
                    }
                    edits.push(Edit::Remove(context.profile.value(value).buffer));
                }
                gone.insert(id);
                at = if copied { None } else { handed_on(context, id) };
            }
        }
        edits
    }

    /// The copy that a sent value is handed on by, where there is one.
    pub(super) fn copy(&self, context: &Context<'_>) -> Option<InstructionId> {
        let own = self.own(context);
        self.sent.iter().find_map(|sent| copy_of(context, &own, sent.instruction))
    }

    /// The instructions of the site: its transfers and what waits for them.
    fn own(&self, context: &Context<'_>) -> FxHashSet<InstructionId> {
        let transfers = self.transfers.iter().map(|transfer| transfer.instruction);
        let users = transfers.clone().flat_map(|id| context.graph.users(id).map(|(user, _)| user));
        let waits = users.filter(|&user| context.module.opcode(user) == Opcode::SendDone);
        transfers.chain(waits).collect()
    }
}

/// The copy that a sent value is handed on by: without the send the value would be written to the
/// copy's place at once.
fn copy_of(
    context: &Context<'_>,
    own: &FxHashSet<InstructionId>,
    sent: InstructionId,
) -> Option<InstructionId> {
    let mut others = context.graph.users(sent).filter(|(user, _)| !own.contains(user));
    let (copy, _) = others.next()?;
    let alone = others.next().is_none();
    (alone && context.module.opcode(copy) == Opcode::Copy).then_some(copy)
}

/// The most steps that are followed from a sent value to where it is computed.
const CHAIN: usize = 16;

/// The operand that an instruction hands on in another layout or place, or puts together from all
/// devices.
fn handed_on(context: &Context<'_>, id: InstructionId) -> Option<InstructionId> {
    use Opcode::{AllGather, AllGatherDone, AllGatherStart, Bitcast, Copy, Reshape, Transpose};
    let is_handed = matches!(
        context.module.opcode(id),
        AllGather | AllGatherDone | AllGatherStart | Bitcast | Copy | Reshape | Transpose
    );
    is_handed.then(|| context.module.operands(id).first().copied())?
}

/// Whether anything but what is gone needs an instruction's result.
fn is_needed(context: &Context<'_>, gone: &FxHashSet<InstructionId>, id: InstructionId) -> bool {
    let module = context.module;
    let is_used = |id: InstructionId| {
        module.is_root(id) || context.graph.users(id).any(|(user, _)| !gone.contains(&user))
    };
    if module.opcode(id) != Opcode::GetTupleElement {
        return is_used(id) || module.opcode(id) == Opcode::Parameter;
    }
    let Some(value) = context.value_at(id).map(|id| context.profile.value(id)) else { return true };
    // One result of several: others that take the same one count, and so does whoever takes all.
    is_used(id)
        || module.opcode(value.instruction) == Opcode::Parameter
        || module.is_root(value.instruction)
        || context.graph.users(value.instruction).any(|(user, _)| {
            match (module.opcode(user), module.tuple_index(user)) {
                (Opcode::GetTupleElement, index) => {
                    user != id && index == module.tuple_index(id) && is_used(user)
                }
                _ => true,
            }
        })
}

/// The device that sends, where it is one.
fn sender(context: &Context<'_>, id: InstructionId) -> Option<i64> {
    let mut sharding = context.module.sharding(id)?;
    if let Sharding::Tuple(elements) = sharding {
        sharding = context.module.sharding_of(*elements.first()?);
    }
    match sharding {
        Sharding::Kind { kind: ShardingKind::Maximal, device } => *device,
        _ => None,
    }
}
