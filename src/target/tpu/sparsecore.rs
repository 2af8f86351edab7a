//! The module as it was handed to the compiler in; its embedding lookups and updates on SparseCores,
//! and what HBM they need beside every allocation, out (facts: sparsecore sections 2 to 5, measured on
//! 77 programs).

use super::Chip;
use crate::hlo::{ComputationId, InstructionId, Module, Opcode, Shape};
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// Floats to which the rows of a table are padded.
pub const ROW_FLOATS: u64 = 8;

const FLOAT_BYTES: u64 = 4;

/// Whether a call looks rows up or updates them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Rows are gathered and summed.
    Lookup,
    /// Rows and the optimizer's slots are updated by a gradient.
    Update,
}

/// A lookup in or an update of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCall {
    /// The call.
    pub instruction: InstructionId,
    /// What it does.
    pub kind: CallKind,
    /// Entry parameters that hold the table and the optimizer's slots, by number, the table first.
    pub parameters: Vec<i64>,
    /// Floats of a row, as the compiler sees it.
    pub width: u64,
    /// Floats of a row that the program uses: less where rows are padded.
    pub used_width: u64,
    /// Rows on each device.
    pub rows: u64,
    /// `max_unique_ids_per_partition`.
    pub max_unique: u64,
    /// Slots of the optimizer.
    pub slots: u64,
}

/// The embedding calls of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embeddings {
    /// In the order of the text.
    pub calls: Vec<TableCall>,
    /// SparseCores of a device.
    pub cores: u64,
    /// SparseCores of all devices.
    pub all_cores: u64,
    /// Logical replicas of an update: the number of partitions that ids are sorted into.
    pub replicas: u64,
}

/// SparseCores of a device (facts: sparsecore, measured).
pub const fn cores_of(chip: Chip) -> u64 {
    match chip {
        Chip::V5p => 4,
        Chip::V6e | Chip::V7x => 2,
        _ => 0,
    }
}

/// HBM that the compiler counts for a program with embedding tables and no text shows: what is
/// reserved less 256 MiB, and the SparseCores' program of about 1 MiB (facts: sparsecore section 3).
pub const fn reserved_bytes(chip: Chip) -> u64 {
    const MIB: u64 = 1 << 20;
    const PROGRAM: u64 = MIB;
    const REST: u64 = MIB / 16;
    match chip {
        Chip::V5p => 7 * MIB + REST + PROGRAM,
        _ => 4 * MIB + REST + PROGRAM,
    }
}

impl Embeddings {
    /// Finds the calls of a module before optimizations; `None` where it has none, or the chip has no
    /// SparseCores.
    pub fn of(before: &Module<'_>, chip: Chip) -> Option<Embeddings> {
        let cores = cores_of(chip);
        let devices = u64::try_from(before.header.num_partitions).ok()?.max(1);
        let all_cores = devices.checked_mul(cores).filter(|&all| all > 0)?;
        let uses = Uses::of(before);
        let calls: Vec<TableCall> = before
            .instructions
            .iter()
            .enumerate()
            .filter(|(_, instruction)| instruction.opcode == Opcode::CustomCall)
            .filter_map(|(at, _)| call(before, &uses, InstructionId(u32::try_from(at).ok()?)))
            .collect();
        let few = if chip == Chip::V7x { 8 } else { 16 };
        let replicas = if all_cores >= few { all_cores } else { all_cores * 8 };
        (!calls.is_empty()).then_some(Embeddings { calls, cores, all_cores, replicas })
    }

    /// What a call adds to the stack of each SparseCore, by formula: within 1.6% on 73 of 77
    /// programs. Bytes.
    pub fn stack_bytes_of(&self, call: &TableCall) -> u64 {
        let (rows, partitions) = match call.kind {
            CallKind::Lookup => (call.width.saturating_mul(2).saturating_add(1), self.all_cores),
            CallKind::Update => {
                let copies = match call.slots {
                    0 => 3,
                    1 => 4,
                    more => more.saturating_mul(2).saturating_add(2),
                };
                (call.width.saturating_mul(copies).saturating_add(3), self.replicas)
            }
        };
        [call.max_unique, partitions, FLOAT_BYTES].iter().fold(rows, |a, &b| a.saturating_mul(b))
    }

    /// The stack of each SparseCore, where so many groups of tables run one after the other
    /// (`xla_sc_num_serialized_tables_to_optimize_hbm`, 0 where it is not set). Tables with equal
    /// estimates stay together. Bytes.
    pub fn stack_bytes(&self, serialized: u64) -> u64 {
        let of_kind = |kind| {
            let mut groups: Vec<(u64, u64)> = Vec::new();
            for call in self.calls.iter().filter(|call| call.kind == kind) {
                let rank = call.width.saturating_mul(call.max_unique);
                let size = self.stack_bytes_of(call);
                match groups.iter_mut().find(|(known, _)| *known == rank) {
                    Some((_, sum)) => *sum = sum.saturating_add(size),
                    None => groups.push((rank, size)),
                }
            }
            groups.sort_unstable_by_key(|&(rank, _)| std::cmp::Reverse(rank));
            let apart = usize::try_from(serialized).unwrap_or(usize::MAX).min(groups.len());
            let (first, rest) = groups.split_at(apart);
            let rest = rest.iter().fold(0u64, |sum, (_, size)| sum.saturating_add(*size));
            first.iter().map(|&(_, size)| size).max().unwrap_or(0).max(rest)
        };
        of_kind(CallKind::Lookup).max(of_kind(CallKind::Update))
    }

    /// The scratch in which each SparseCore sorts ids: two arrays of numbers. Bytes.
    pub fn sort_bytes(&self) -> u64 {
        let updates = self.calls.iter().filter(|call| call.kind == CallKind::Update);
        let most = updates.map(|call| call.max_unique).max().unwrap_or(0);
        most.saturating_mul(self.replicas).saturating_mul(2 * FLOAT_BYTES)
    }
}

/// Who uses what: callers of computations, and the slices of results.
struct Uses {
    callers: FxHashMap<ComputationId, InstructionId>,
    slices: FxHashMap<InstructionId, InstructionId>,
}

impl Uses {
    fn of(module: &Module<'_>) -> Uses {
        let mut uses = Uses { callers: FxHashMap::default(), slices: FxHashMap::default() };
        for at in 0..module.instructions.len() {
            let Ok(at) = u32::try_from(at) else { break };
            let id = InstructionId(at);
            for (_, called) in module.calls(id) {
                uses.callers.entry(called).or_insert(id);
            }
            if module.opcode(id) == Opcode::Slice
                && let Some(&sliced) = module.operands(id).first()
            {
                uses.slices.entry(sliced).or_insert(id);
            }
        }
        uses
    }
}

#[derive(Deserialize)]
struct Config {
    sparse_dense_matmul_config: Matmul,
}

#[derive(Deserialize)]
struct Matmul {
    #[serde(default)]
    max_unique_ids_per_partition: super::mosaic::Number,
    #[serde(default)]
    num_slot_variables: super::mosaic::Number,
}

fn call(module: &Module<'_>, uses: &Uses, id: InstructionId) -> Option<TableCall> {
    let target = module.custom_call_target(id)?;
    let kind = match target {
        "SparseDenseMatmulOp" | "SparseDenseMatmulWithMinibatchingOp" => CallKind::Lookup,
        _ if target.starts_with("SparseDenseMatmulGradO") => CallKind::Update,
        _ => return None,
    };
    let is_in_batches = target.contains("WithMinibatching");
    let config: Config = serde_json::from_str(module.backend_config(id)?).ok()?;
    let config = config.sparse_dense_matmul_config;
    let slots = config.num_slot_variables.0;
    // Pointers, ids, samples, gains come first; a number of minibatches, or the gradient, next.
    let table: usize = match (kind, is_in_batches) {
        (CallKind::Lookup, false) => 4,
        _ => 5,
    };
    let count = usize::try_from(slots).ok()?;
    let gradient = if is_in_batches { table.checked_add(count)?.checked_add(1)? } else { 4 };
    let operands = module.operands(id);
    let arrays = operands.get(table..table.checked_add(count)?.checked_add(1)?)?;
    let (rows, width) = matrix(module.shape(*arrays.first()?))?;
    let used = match kind {
        CallKind::Update => operands.get(gradient).and_then(|&id| unpadded_width(module, id)),
        CallKind::Lookup => {
            uses.slices.get(&id).and_then(|&id| matrix(module.shape(id))).map(|(_, width)| width)
        }
    };
    Some(TableCall {
        instruction: id,
        kind,
        parameters: arrays.iter().filter_map(|&id| entry_parameter(module, uses, id)).collect(),
        width,
        used_width: used.filter(|&used| used < width).unwrap_or(width),
        rows,
        max_unique: config.max_unique_ids_per_partition.0,
        slots,
    })
}

/// Rows and columns.
fn matrix(shape: &Shape) -> Option<(u64, u64)> {
    match shape.array()?.dimensions.as_slice() {
        [rows, columns] => Some((rows.size, columns.size)),
        _ => None,
    }
}

/// The width of a gradient before it is padded.
fn unpadded_width(module: &Module<'_>, id: InstructionId) -> Option<u64> {
    let is_pad = module.opcode(id) == Opcode::Pad;
    let padded = if is_pad { *module.operands(id).first()? } else { return None };
    matrix(module.shape(padded)).map(|(_, width)| width)
}

/// The entry parameter that a value is handed down from, through calls and changes between global and
/// local shapes.
fn entry_parameter(module: &Module<'_>, uses: &Uses, from: InstructionId) -> Option<i64> {
    const STEPS: usize = 64;
    let mut at = from;
    for _ in 0..STEPS {
        let operands = module.operands(at);
        at = match module.opcode(at) {
            Opcode::Parameter => {
                let number = module.parameter_number(at)?;
                let computation = module.instruction(at).computation;
                if computation == module.entry {
                    return Some(number);
                }
                let caller = *uses.callers.get(&computation)?;
                *module.operands(caller).get(usize::try_from(number).ok()?)?
            }
            Opcode::GetTupleElement => {
                let index = usize::try_from(module.tuple_index(at)?).ok()?;
                let tuple = *operands.first()?;
                *module.operands(tuple).get(index)?
            }
            Opcode::CustomCall | Opcode::Copy | Opcode::Bitcast | Opcode::Reshape => {
                *operands.first()?
            }
            _ => return None,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{CallKind, Embeddings, TableCall};
    use crate::hlo::InstructionId;

    fn call(kind: CallKind, width: u64, max_unique: u64, slots: u64) -> TableCall {
        TableCall {
            instruction: InstructionId(0),
            kind,
            parameters: Vec::new(),
            width,
            used_width: width,
            rows: 1,
            max_unique,
            slots,
        }
    }

    /// Stacks that the compiler allocated on v6e with 8 SparseCores; serialized as the flag said. The
    /// formula is 4% off at worst, where a small lookup stands alone.
    #[test]
    fn stacks_of_compiled_programs() {
        use CallKind::{Lookup, Update};
        let three =
            vec![call(Update, 16, 2048, 0), call(Update, 16, 1024, 0), call(Update, 16, 512, 0)];
        let cases: [(Vec<TableCall>, u64, u64); 7] = [
            (vec![call(Update, 128, 4096, 0)], 0, 405_808_640),
            (vec![call(Update, 16, 1024, 2), call(Lookup, 16, 1024, 0)], 0, 25_701_888),
            (vec![call(Lookup, 16, 1024, 0)], 0, 1_126_400),
            (three.clone(), 0, 46_821_888),
            (three, 1, 27_150_848),
            (vec![call(Update, 16, 1024, 0); 3], 3, 40_136_192),
            (
                vec![
                    call(Update, 16, 1024, 0),
                    call(Update, 16, 1024, 0),
                    call(Update, 16, 512, 0),
                    call(Update, 16, 512, 0),
                ],
                1,
                27_028_480,
            ),
        ];
        for (calls, serialized, measured) in cases {
            let embeddings = Embeddings { calls, cores: 2, all_cores: 8, replicas: 64 };
            let found = embeddings.stack_bytes(serialized);
            let off = found.abs_diff(measured) as f64 / measured as f64;
            assert!(off <= 0.04, "{found} and not {measured}: {off}");
        }
    }
}
