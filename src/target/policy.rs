//! The questions that the memory analysis asks of a machine and its compiler.

use super::{cpu, gpu, tpu};
use crate::hlo::{ArrayShape, Bound, ElementType, Opcode, Shape, ShapeId, Shapes};

/// The compiler backend that wrote a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// XLA:TPU.
    Tpu,
    /// XLA:GPU.
    Gpu,
    /// XLA:CPU.
    Cpu,
}

/// In which order buffers are given allocations (facts: tpu-memory sections 4 and 11.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferOrder {
    /// The largest first. Temporaries may join the memory of results and donated parameters.
    BySize,
    /// The one that lives first comes first. Temporaries join an operand's memory only.
    ByStart,
}

/// Which memory spaces fast merge packs; the others get the best of spatial and temporal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FastMerge {
    /// Every space.
    Everywhere,
    /// Every space but HBM.
    NotInHbm,
    /// These spaces.
    In(&'static [i64]),
}

impl FastMerge {
    /// Whether it packs a memory space.
    pub fn serves(self, memory_space: i64) -> bool {
        match self {
            FastMerge::Everywhere => true,
            FastMerge::NotInHbm => memory_space != 0,
            FastMerge::In(spaces) => spaces.contains(&memory_space),
        }
    }
}

/// One way to place everything. The compiler tries one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// The order of buffers.
    pub order: BufferOrder,
    /// Who packs the heaps.
    pub fast_merge: FastMerge,
    /// Whether it places HBM only, behind the first attempt's result for every other memory space.
    pub hbm_only: bool,
}

/// What is kept when no attempt stays below the limit less the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Otherwise {
    /// The last attempt.
    Last,
    /// The smallest HBM total, the earlier attempt on ties.
    Smallest,
}

/// From when a value of an asynchronously run computation is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncStart {
    /// From its own program point.
    Own,
    /// Not before the async-start; computations of the SparseCore excepted.
    AtStartButSparseCore,
    /// Not before the async-start.
    AtStart,
}

/// How one compiler release assigns memory on one chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// What is tried, in order.
    pub attempts: &'static [Attempt],
    /// What is kept when no attempt stays below the limit less [`Rules::MARGIN_BYTES`].
    pub otherwise: Otherwise,
    /// Live ranges of asynchronous computations.
    pub async_start: AsyncStart,
    /// Whether what the compiler compares with the capacity includes results.
    pub results_are_required: bool,
    /// Whether a table inside an embedded SparseCore computation costs nothing (facts: tpu-memory
    /// section 11.6).
    pub embedded_tables_are_free: bool,
}

impl Rules {
    /// One attempt, the largest buffer first, each heap by the better of two best fits: XLA:GPU and
    /// XLA:CPU (facts: gpu-cpu-memory section 9).
    pub const BEST_FIT_BY_SIZE: Rules = Rules {
        attempts: &[Attempt {
            order: BufferOrder::BySize,
            fast_merge: FastMerge::In(&[]),
            hbm_only: false,
        }],
        otherwise: Otherwise::Last,
        async_start: AsyncStart::Own,
        results_are_required: true,
        embedded_tables_are_free: true,
    };

    /// How far below the limit an attempt must stay to be kept (measured: facts, tpu-memory
    /// sections 6 and 11.5; the same on five chips).
    pub const MARGIN_BYTES: u64 = 5 << 29;
}

/// Where a tuple table stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableOwner {
    /// In a computation of the TensorCore or the host.
    Main,
    /// In a scheduled computation of the SparseCore.
    SparseCoreControl,
    /// In a computation that the SparseCore applies to elements.
    SparseCoreEmbedded,
}

/// What the memory analysis needs to know of a machine and its compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The backend.
    pub backend: Backend,
    /// The chip, for a TPU.
    pub chip: Option<tpu::Chip>,
    /// The card, for a GPU that is known.
    pub card: Option<gpu::Card>,
    /// What differs between releases of XLA:GPU.
    pub gpu: gpu::RuleSet,
    /// HBM that one device has for a program; decides between attempts near the limit.
    pub limit_bytes: Option<u64>,
    /// How the compiler assigns memory.
    pub rules: Rules,
    /// Why the figures are an estimate; empty where they are XLA's own.
    pub caveats: Vec<String>,
}

impl Policy {
    /// XLA:TPU for a chip, by the rules of a compiler release.
    pub fn tpu(chip: tpu::Chip, rule_set: tpu::RuleSet) -> Policy {
        Policy {
            backend: Backend::Tpu,
            chip: Some(chip),
            card: None,
            gpu: gpu::RuleSet::From082,
            limit_bytes: Some(chip.hbm_bytes(rule_set)),
            rules: rule_set.rules(chip),
            caveats: Vec::new(),
        }
    }

    /// XLA:GPU, by the rules of some releases.
    pub fn gpu(rules: gpu::RuleSet) -> Policy {
        Policy {
            backend: Backend::Gpu,
            chip: None,
            card: None,
            gpu: rules,
            limit_bytes: None,
            rules: gpu::RULES,
            caveats: Vec::new(),
        }
    }

    /// XLA:CPU.
    pub fn cpu() -> Policy {
        Policy {
            backend: Backend::Cpu,
            chip: None,
            card: None,
            gpu: gpu::RuleSet::From082,
            limit_bytes: None,
            rules: cpu::RULES,
            caveats: Vec::new(),
        }
    }

    /// The size of an array in memory; `None` when it does not fit 64 bits.
    pub fn array_bytes(&self, array: &ArrayShape) -> Option<u64> {
        match self.backend {
            Backend::Tpu => tpu::padded_bytes(array),
            Backend::Gpu => gpu::array_bytes(array),
            Backend::Cpu => cpu::array_bytes(array),
        }
    }

    /// The size of the table of a tuple of so many elements.
    pub fn table_bytes(&self, elements: u64, owner: TableOwner) -> Option<u64> {
        let Some(chip) = self.chip else { return elements.checked_mul(8) };
        let in_sparse_core = match owner {
            TableOwner::Main => false,
            TableOwner::SparseCoreControl => true,
            TableOwner::SparseCoreEmbedded => self.rules.embedded_tables_are_free,
        };
        // Measured on 0.0.42.1 and 0.0.52.
        if in_sparse_core || elements == 0 {
            return Some(0);
        }
        let granule = chip.table_granule_bytes();
        elements.checked_mul(4)?.checked_next_multiple_of(granule)
    }

    /// The memory space of a tuple table.
    pub fn table_space(&self, owner: TableOwner) -> i64 {
        match owner {
            TableOwner::SparseCoreControl => tpu::space::SPARSE_CORE_HBM,
            TableOwner::SparseCoreEmbedded if self.rules.embedded_tables_are_free => {
                tpu::space::SPARSE_CORE_HBM
            }
            _ => tpu::space::HBM,
        }
    }

    /// What offsets in a memory space are multiples of.
    pub fn alignment_bytes(&self, memory_space: i64) -> u64 {
        match self.backend {
            Backend::Tpu => tpu::space::alignment_bytes(memory_space),
            Backend::Gpu => self.gpu.alignment_bytes(),
            Backend::Cpu => cpu::ALIGNMENT_BYTES,
        }
    }

    /// The machine's name in sentences: `a v5e`, `an h100` without the article.
    pub fn machine_name(&self) -> &'static str {
        let card = self.card.map(gpu::Card::name);
        self.chip.map(tpu::Chip::name).or(card).unwrap_or("device")
    }

    /// What a memory space is called in reports.
    pub fn space_name(&self, memory_space: i64) -> &'static str {
        match self.backend {
            Backend::Tpu => tpu::space::name(memory_space),
            Backend::Gpu => gpu::space::name(memory_space),
            Backend::Cpu => cpu::space_name(memory_space),
        }
    }

    /// Whether the memory space of a buffer is that of any value in it, and not of the first.
    pub fn any_value_colours(&self) -> bool {
        self.backend == Backend::Gpu
    }

    /// Whether the compiler copies the results of transfers before it returns them, so that they
    /// never share memory with a result of the program (facts: tpu-memory section 4).
    pub fn copies_transferred_results(&self) -> bool {
        self.backend == Backend::Tpu
    }

    /// Whether an in-place operation inside a fusion is found behind such an operation (facts:
    /// gpu-cpu-memory section 6).
    pub fn in_place_through(&self, opcode: Opcode) -> bool {
        match self.backend {
            Backend::Tpu => false,
            Backend::Gpu => matches!(opcode, Opcode::Bitcast | Opcode::Reshape),
            Backend::Cpu => opcode == Opcode::Bitcast,
        }
    }

    /// Whether the compiler placed the values of a memory space before buffer assignment (memory
    /// space assignment).
    pub fn is_preset(&self, memory_space: i64) -> bool {
        self.backend == Backend::Tpu && matches!(memory_space, tpu::space::VMEM | tpu::space::CMEM)
    }

    /// The memory spaces for which such an allocation exists even when it holds nothing.
    pub fn preset_spaces(&self) -> &'static [i64] {
        self.chip.map_or(&[], tpu::Chip::preset_spaces)
    }
}

/// Elements times bits, rounded up to a byte, every element at least a byte; `None` when it does not
/// fit 64 bits.
pub fn natural_bytes(array: &ArrayShape) -> Option<u64> {
    element_bits(array)?.checked_mul(array.elements()?).map(|bits| bits.div_ceil(8))
}

/// The size of an array without tiles: its elements, each at least a byte unless the layout packs
/// them (facts: gpu-cpu-memory section 3). `None` when it does not fit 64 bits.
pub(super) fn dense_bytes(array: &ArrayShape) -> Option<u64> {
    if !array.element_type.is_array() {
        return Some(0);
    }
    let is_packed = array.layout.as_ref().is_some_and(|layout| layout.element_size_in_bits > 0);
    let bits = element_bits(array)?.max(if is_packed { 0 } else { 8 });
    bits.checked_mul(array.elements()?).map(|bits| bits.div_ceil(8))
}

/// What stands behind an array of bounded dimensions: the actual size of each dimension.
pub(super) fn dynamic_size_bytes(array: &ArrayShape) -> u64 {
    let is_dynamic = array.dimensions.iter().any(|dimension| dimension.bound != Bound::Static);
    if is_dynamic { 4 * array.dimensions.len() as u64 } else { 0 }
}

/// The size without padding as XLA's `ShapeUtil::ByteSizeOf` counts it: a tuple is a table of 8
/// bytes an element.
pub fn unpadded_bytes(shapes: &Shapes, shape: ShapeId) -> Option<u64> {
    match shapes.get(shape) {
        Shape::Array(array) | Shape::Buffer(array) => natural_bytes(array),
        Shape::Tuple(elements) => (elements.len() as u64).checked_mul(8),
    }
}

/// Bits that an element takes in memory: `E(n)` of the layout, else a byte for `pred` and the bits
/// of the type for the others.
pub(super) fn element_bits(array: &ArrayShape) -> Option<u64> {
    let stated = array.layout.as_ref().map_or(0, |layout| layout.element_size_in_bits);
    if stated > 0 {
        return u64::try_from(stated).ok();
    }
    Some(match array.element_type {
        ElementType::Pred => 8,
        other => other.bits(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Policy, TableOwner};

    #[test]
    fn an_empty_tuple_has_no_table() {
        use crate::target::tpu::{Chip, RuleSet};
        for rules in RuleSet::ALL {
            let policy = Policy::tpu(Chip::V5e, rules);
            assert_eq!(policy.table_bytes(0, TableOwner::Main), Some(0));
            assert_eq!(policy.table_bytes(1, TableOwner::Main), Some(512));
        }
    }
}
