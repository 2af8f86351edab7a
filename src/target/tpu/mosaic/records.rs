//! The module behind code generation in; the scoped VMEM that the compiler recorded for each kernel
//! out.

use super::Kernels;
use crate::hlo::Module;
use rustc_hash::FxHashMap;

/// What the compiler recorded, by the name of the call.
#[derive(Clone, Debug, Default)]
pub struct Records(FxHashMap<String, u64>);

impl Records {
    /// Takes the records of a module.
    pub fn of(module: &Module<'_>) -> Records {
        let kernels = Kernels::new(module);
        let record = |&id| {
            let used = kernels.used_bytes(id)?;
            Some((module.instruction(id).name.to_owned(), used))
        };
        Records(kernels.ids().iter().filter_map(record).collect())
    }

    /// Bytes recorded for a call.
    pub fn used_bytes(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }
}
