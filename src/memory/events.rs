//! The events of a heap: values that start and end, in the heap's own ticks, joined to the items that
//! are placed as one (facts: tpu-memory section 6; XLA `HeapSimulator::RunComputation`).

use super::analysis::Analysis;
use super::edits::Effective;
use super::heap::{Item, Ticks};
use super::sharing::Sharing;
use super::{BufferId, MemoryError, ValueId};
use crate::hlo::Opcode;
use smallvec::SmallVec;

/// The items of one heap, and which values each holds.
pub(super) struct Events {
    pub(super) items: Vec<Item>,
    /// Per item its values, the first one first.
    pub(super) values: Vec<SmallVec<[ValueId; 2]>>,
}

/// What the heaps of one attempt know of values and buffers; each is in one heap.
pub(super) struct Memory {
    states: Vec<Option<State>>,
    first_item: Vec<Option<u32>>,
}

impl Memory {
    pub(super) fn new(analysis: &Analysis<'_, '_>) -> Memory {
        Memory {
            states: vec![None; analysis.values.len()],
            first_item: vec![None; analysis.buffers.len()],
        }
    }
}

/// What is known of a value while events are replayed.
#[derive(Clone, Copy)]
struct State {
    item: u32,
    member: u32,
    end: u32,
    is_freed: bool,
}

/// Replays the events of all buffers that wait for a heap. Buffers without bytes take no part.
pub(super) fn replay<'m>(
    analysis: &Analysis<'_, 'm>,
    effective: &Effective,
    sharing: &mut Sharing<'_, 'm>,
    memory: &mut Memory,
    buffers: &[BufferId],
) -> Result<Events, MemoryError> {
    let mut starts: Vec<(u32, u32, ValueId)> = Vec::new();
    for &buffer in buffers {
        for &value in analysis.buffers.values(buffer) {
            if let Some(range) = effective.range(value)
                && effective.value_bytes(value) > 0
            {
                starts.push((range.start, range.end, value));
            }
        }
    }
    let mut ends: Vec<(u32, u32, ValueId)> =
        starts.iter().map(|&(start, end, value)| (end, start, value)).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    if starts.len() > (u32::MAX / 4) as usize {
        return Err(MemoryError::TooLarge);
    }
    let mut replay = Replay {
        analysis,
        effective,
        sharing,
        events: Events { items: Vec::new(), values: Vec::new() },
        memory,
        tick: 0,
    };
    let mut ending = ends.into_iter().peekable();
    for (start, end, value) in starts {
        while let Some((_, _, ended)) = ending.next_if(|ended| ended.0 < start) {
            replay.free(ended);
        }
        replay.start(value, start, end);
    }
    for (_, _, ended) in ending {
        replay.free(ended);
    }
    Ok(replay.events)
}

struct Replay<'r, 'a, 'g, 'm> {
    analysis: &'r Analysis<'g, 'm>,
    effective: &'r Effective,
    sharing: &'r mut Sharing<'a, 'm>,
    events: Events,
    memory: &'r mut Memory,
    tick: u32,
}

impl Replay<'_, '_, '_, '_> {
    fn next_tick(&mut self) -> u32 {
        let tick = self.tick;
        self.tick += 1;
        tick
    }

    fn start(&mut self, value: ValueId, start: u32, end: u32) {
        let buffer = self.analysis.buffers.of[value.0 as usize];
        if let Some(item) = self.memory.first_item[buffer.0 as usize] {
            self.add_member(item, value, end);
            return;
        }
        let shared = self.operand_to_take_over(value, start);
        let item = match shared {
            Some(operand) => {
                self.free(operand);
                let item = self.memory.states[operand.0 as usize].map_or(0, |state| state.item);
                if let Some(state) = &mut self.memory.states[operand.0 as usize] {
                    state.end = end;
                }
                item
            }
            None => self.new_item(value),
        };
        self.memory.first_item[buffer.0 as usize] = Some(item);
        self.add_member(item, value, end);
    }

    fn new_item(&mut self, value: ValueId) -> u32 {
        let bytes = self.effective.value_bytes(value);
        let members = SmallVec::new();
        self.events.items.push(Item { own_bytes: bytes, bytes: 0, members, id: value.0 });
        self.events.values.push(SmallVec::new());
        self.events.items.len() as u32 - 1
    }

    fn add_member(&mut self, item: u32, value: ValueId, end: u32) {
        let tick = self.next_tick();
        let found = &mut self.events.items[item as usize];
        found.bytes = found.bytes.max(self.effective.value_bytes(value));
        found.members.push(Ticks { start: tick, end: tick });
        let member = found.members.len() as u32 - 1;
        self.events.values[item as usize].push(value);
        self.memory.states[value.0 as usize] = Some(State { item, member, end, is_freed: false });
    }

    fn free(&mut self, value: ValueId) {
        let Some(state) = self.memory.states[value.0 as usize].filter(|state| !state.is_freed)
        else {
            return;
        };
        let tick = self.next_tick();
        self.events.items[state.item as usize].members[state.member as usize].end = tick;
        self.memory.states[value.0 as usize] = Some(State { is_freed: true, ..state });
    }

    /// The first operand whose value ends just when this one starts and may leave it its place.
    fn operand_to_take_over(&mut self, value: ValueId, start: u32) -> Option<ValueId> {
        let analysis = self.analysis;
        let module = analysis.graph.module();
        let definition = analysis.values.definition(value);
        let user = definition.instruction;
        let is_single = |value: ValueId| {
            analysis.buffers.values(analysis.buffers.of[value.0 as usize]).len() == 1
        };
        if module.opcode(user) == Opcode::Copy || !is_single(value) {
            return None;
        }
        module.operands(user).iter().copied().find_map(|operand| {
            let held = analysis.values.at(operand, 0)?;
            let state = self.memory.states[held.0 as usize]?;
            let defined = analysis.values.definition(held);
            (state.end == start
                && !state.is_freed
                && is_single(held)
                && defined.instruction == operand
                && self.sharing.can_share((operand, 0), user, definition.offset))
            .then_some(held)
        })
    }
}
