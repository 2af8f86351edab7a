//! What the memory analysis of one module says. Times are program points: positions in the
//! flattened schedule. Bytes are padded unless a field says otherwise.

use crate::hlo::{InstructionId, ShapeId, ShapeIndex};
use smallvec::SmallVec;

/// A value: its position in [`MemoryProfile::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A logical buffer: its position in [`MemoryProfile::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// An allocation: its position in [`MemoryProfile::allocations`], which is XLA's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocationId(pub u32);

/// When a value holds data: first and last program point, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LiveRange {
    /// The first program point.
    pub start: u32,
    /// The last program point.
    pub end: u32,
}

/// One array or tuple table, defined at one place (XLA's HloValue).
#[derive(Clone, Debug)]
pub struct Value {
    /// The instruction that defines it.
    pub instruction: InstructionId,
    /// Where in the instruction's shape.
    pub index: ShapeIndex,
    /// Whether it stands for several values that meet (loops, conditionals).
    pub is_phi: bool,
    /// Its shape.
    pub shape: ShapeId,
    /// Its size, padding included.
    pub size_bytes: u64,
    /// Its size without padding: logical elements times bits of an element.
    pub unpadded_bytes: u64,
    /// The memory space (0 is HBM).
    pub memory_space: i64,
    /// When it is alive; `None` in a computation without a schedule.
    pub live: Option<LiveRange>,
    /// The buffer that holds it.
    pub buffer: BufferId,
    /// Where it was placed; `None` when it was not (fusion bodies have no values at all).
    pub place: Option<Slice>,
}

/// A place inside an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The allocation.
    pub allocation: AllocationId,
    /// Offset from its start.
    pub offset_bytes: u64,
}

/// Values that must share memory (XLA's HloBuffer).
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    /// Its values, by id.
    pub values: SmallVec<[ValueId; 2]>,
    /// The largest of their sizes.
    pub size_bytes: u64,
}

/// Why an allocation exists. A donated parameter is `Parameter` with `maybe_live_out`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationKind {
    /// An entry parameter's array.
    Parameter {
        /// The parameter number.
        number: i64,
        /// Where in the parameter's shape.
        index: ShapeIndex,
    },
    /// A constant.
    Constant,
    /// A value of a computation that is applied to elements.
    ThreadLocal,
    /// Results and temporaries.
    Temporary,
}

/// A contiguous block (XLA's BufferAllocation).
#[derive(Clone, Debug)]
pub struct Allocation {
    /// Why it exists.
    pub kind: AllocationKind,
    /// Whether it may hold part of the program's result.
    pub maybe_live_out: bool,
    /// Whether it is a table of a tuple.
    pub is_tuple: bool,
    /// Whether the compiler placed its values before buffer assignment (VMEM): members and sizes
    /// are known, offsets are not.
    pub is_preset: bool,
    /// The memory space.
    pub memory_space: i64,
    /// Its size.
    pub size_bytes: u64,
    /// The values it holds, by id.
    pub values: Vec<ValueId>,
}

impl Allocation {
    /// Whether it is a temporary in the sense of the compiler's packing: neither parameter, constant,
    /// thread-local nor part of the result.
    pub fn is_temporary(&self) -> bool {
        self.kind == AllocationKind::Temporary && !self.maybe_live_out
    }
}

/// What one memory space needs. The split sums to the total:
/// `parameters + outputs + constants + thread_local + temporaries_live + fragmentation = total`,
/// where a donated parameter counts once, as a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceUsage {
    /// The memory space.
    pub memory_space: i64,
    /// Sum of all allocations: XLA's memory-usage report.
    pub total_bytes: u64,
    /// The same without thread-local ones: what XLA compares with the capacity (form of the release).
    pub required_bytes: u64,
    /// Parameters, donated ones included.
    pub parameters_bytes: u64,
    /// Results that do not share a parameter's memory.
    pub outputs_bytes: u64,
    /// Parameters whose memory a result takes (part of `parameters_bytes`).
    pub aliased_bytes: u64,
    /// Constants.
    pub constants_bytes: u64,
    /// Values of computations applied to elements.
    pub thread_local_bytes: u64,
    /// Temporaries alive at the peak (tuple tables not counted).
    pub temporaries_live_bytes: u64,
    /// What packing, alignment and tuple tables cost.
    pub fragmentation_bytes: u64,
    /// Parameters, outputs and constants, and the temporaries alive at the peak.
    pub peak_live_bytes: u64,
    /// The earliest program point with the most temporaries alive; `None` without a schedule.
    pub peak_point: Option<u32>,
}

/// How good the figures of a profile are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// The rules reproduce XLA's own figures.
    Exact,
    /// The rules are known to differ for this kind of text.
    Estimate,
    /// Parameters, outputs and the largest unavoidable value: the program has no schedule.
    LowerBound,
}

/// The memory analysis of one module.
#[derive(Clone, Debug)]
pub struct MemoryProfile {
    /// How good the figures are.
    pub exactness: Exactness,
    /// Why they are not exact, in words for a person; empty where they are.
    pub caveats: Vec<String>,
    /// The instructions of all control computations in execution order; a program point is a
    /// position here. Empty without a schedule.
    pub schedule: Vec<InstructionId>,
    /// All values.
    pub values: Vec<Value>,
    /// All logical buffers.
    pub buffers: Vec<Buffer>,
    /// All allocations, in XLA's order.
    pub allocations: Vec<Allocation>,
    /// Usage by memory space, ascending; HBM first.
    pub spaces: Vec<SpaceUsage>,
}

impl MemoryProfile {
    /// The usage of HBM (memory space 0).
    pub fn hbm(&self) -> Option<&SpaceUsage> {
        self.spaces.iter().find(|space| space.memory_space == 0)
    }

    /// A value.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    /// A buffer.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }

    /// An allocation.
    pub fn allocation(&self, id: AllocationId) -> &Allocation {
        &self.allocations[id.0 as usize]
    }
}
