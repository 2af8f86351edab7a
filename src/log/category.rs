//! What kinds of failures there are, and in which words compilers say them.

use schemars::JsonSchema;
use serde::Serialize;

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// A program needs more HBM than the chip has.
    HbmOom,
    /// A kernel or fusion needs more scoped VMEM than its limit.
    VmemScopedOom,
    /// More VMEM than there is.
    VmemCapacity,
    /// More SMEM than there is.
    SmemCapacity,
    /// More semaphores than there are.
    SflagCapacity,
    /// More of another memory space than there is.
    OtherCapacity,
    /// More buffers are coloured into VMEM than fit.
    VmemColoured,
    /// A Pallas kernel was rejected for another reason than memory.
    Kernel,
    /// A SparseCore table or lookup was rejected.
    Sparsecore,
    /// A running program could not allocate device memory.
    RuntimeOom,
    /// The compiler itself failed.
    Crash,
}

impl Category {
    /// The word that outputs print.
    pub const fn as_str(self) -> &'static str {
        match self {
            Category::HbmOom => "hbm-oom",
            Category::VmemScopedOom => "vmem-scoped-oom",
            Category::VmemCapacity => "vmem-capacity",
            Category::SmemCapacity => "smem-capacity",
            Category::SflagCapacity => "sflag-capacity",
            Category::OtherCapacity => "other-capacity",
            Category::VmemColoured => "vmem-coloured",
            Category::Kernel => "kernel",
            Category::Sparsecore => "sparsecore",
            Category::RuntimeOom => "runtime-oom",
            Category::Crash => "crash",
        }
    }

    /// Whether it says that memory was missing.
    pub const fn is_memory(self) -> bool {
        !matches!(self, Category::Kernel | Category::Sparsecore | Category::Crash)
    }

    /// The category of a memory space that overflowed, by the name the compiler prints.
    pub(super) fn of_space(space: &str) -> Category {
        match space {
            "hbm" => Category::HbmOom,
            "vmem" => Category::VmemCapacity,
            "smem" => Category::SmemCapacity,
            "sflag" => Category::SflagCapacity,
            _ => Category::OtherCapacity,
        }
    }
}

/// In which words the failure was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `Used A of B hbm. Exceeded hbm capacity by C.`, often with tables.
    Used,
    /// `the total memory required for HLO temporaries (A) exceeds available HBM (B)`.
    TotalRequired,
    /// `Allocation (size=A) would exceed memory (size=B)`: one value is too large alone.
    SingleAllocation,
    /// TensorCore and SparseCore told apart.
    Split,
    /// The compiler gave up before it assigned memory.
    EarlyAbort,
    /// `Scoped allocation with size A and limit B exceeded scoped vmem limit by C`.
    Scoped,
    /// `Too many buffers are colored in the alternate memory`.
    Coloured,
    /// A device allocation at run time.
    DeviceAllocation,
    /// A reservation for a program at run time.
    ProgramReservation,
    /// A framework's own estimate, before the compiler is asked.
    Preflight,
    /// Anything else.
    Other,
}
