//! A program with embedding tables on SparseCores in; the HBM that the SparseCores need beside every
//! allocation out (facts: sparsecore section 3: exact to 0.01 MiB on 7 of 9 programs, 0.16 MiB on the
//! others, where the stack is taken from the schedule).

use crate::hlo::Module;
use crate::memory::MemoryProfile;
use crate::target::tpu::mosaic::Circumstances;
use crate::target::tpu::space;
use crate::target::tpu::sparsecore::{Embeddings, cores_of, reserved_bytes};

/// What SparseCores need of HBM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseCore {
    /// SparseCores of a device.
    pub cores: u64,
    /// The stack of each of them.
    pub stack_bytes: u64,
    /// Where each of them sorts ids.
    pub sort_bytes: u64,
    /// Program code and what is reserved.
    pub reserved_bytes: u64,
    /// Whether the stack comes from a formula over the lookups and not from the schedule.
    pub is_estimate: bool,
    /// Groups of tables that run one after the other, by flag; 0 where it is not set.
    pub serialized: u64,
    /// The lookups and updates, where the dump has the module as it was handed in.
    pub embeddings: Embeddings,
}

impl SparseCore {
    /// Finds out what SparseCores need; `None` where a program has no tables there.
    pub fn of(
        module: &Module<'_>,
        before: Option<&Module<'_>>,
        profile: &MemoryProfile,
        kernels: Option<Circumstances>,
        serialized: u64,
    ) -> Option<SparseCore> {
        let chip = kernels?.chip?;
        let cores = Some(cores_of(chip)).filter(|&cores| cores > 0)?;
        let handed_in = if module.header.is_scheduled { before } else { before.or(Some(module)) };
        let embeddings = handed_in.and_then(|before| Embeddings::of(before, chip));
        if embeddings.is_none() && !module.text.contains("OFFLOAD_EMBEDDING") {
            return None;
        }
        let embeddings = embeddings.unwrap_or_default();
        let usage = profile.spaces.iter().find(|s| s.memory_space == space::SPARSE_CORE_HBM);
        let scheduled = usage.map(|usage| usage.required_bytes);
        let scheduled = scheduled.filter(|&bytes| bytes > 0 && module.header.is_scheduled);
        Some(SparseCore {
            cores,
            stack_bytes: scheduled.unwrap_or_else(|| embeddings.stack_bytes(serialized)),
            sort_bytes: embeddings.sort_bytes(),
            reserved_bytes: reserved_bytes(chip),
            is_estimate: scheduled.is_none(),
            serialized,
            embeddings,
        })
    }

    /// All of it on one device.
    pub fn bytes(&self) -> u64 {
        self.with_stack(self.stack_bytes)
    }

    /// All of it, were the stack so large.
    pub fn with_stack(&self, stack_bytes: u64) -> u64 {
        stack_bytes
            .saturating_add(self.sort_bytes)
            .saturating_mul(self.cores)
            .saturating_add(self.reserved_bytes)
    }

    /// The stack with other lookups or another flag: the formula says by how much it changes.
    pub fn stack_with(&self, embeddings: &Embeddings, serialized: u64) -> u64 {
        let now = self.embeddings.stack_bytes(self.serialized).max(1);
        let then = embeddings.stack_bytes(serialized);
        (self.stack_bytes as f64 * then as f64 / now as f64) as u64
    }
}
