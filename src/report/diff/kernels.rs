//! Kernels of two sides in; those whose scoped VMEM changed out.

use super::Change;
use crate::lint::Source;
use crate::report::report::Kernel;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Kernels of one operation whose scoped VMEM changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KernelChange {
    /// The operation in the user's program.
    pub op_name: String,
    /// The user's line.
    pub source: Option<Source>,
    /// How many there were.
    pub old_count: u64,
    /// How many there are.
    pub new_count: u64,
    /// The most that one of them needs: recorded by XLA, else estimated.
    pub vmem: Change,
}

/// What changed, by operation.
pub(super) fn changes(old: &[Kernel], new: &[Kernel]) -> Vec<KernelChange> {
    let mut by_name: BTreeMap<&str, KernelChange> = BTreeMap::new();
    for (is_new, kernel) in
        old.iter().map(|kernel| (false, kernel)).chain(new.iter().map(|kernel| (true, kernel)))
    {
        let change = by_name.entry(&kernel.op_name).or_insert_with(|| KernelChange {
            op_name: kernel.op_name.clone(),
            source: None,
            old_count: 0,
            new_count: 0,
            vmem: Change::default(),
        });
        let vmem_bytes = kernel.recorded_vmem_bytes.or(kernel.estimated_vmem_bytes).unwrap_or(0);
        let (count, bytes) = match is_new {
            true => (&mut change.new_count, &mut change.vmem.new_bytes),
            false => (&mut change.old_count, &mut change.vmem.old_bytes),
        };
        *count += 1;
        *bytes = vmem_bytes.max(*bytes);
        change.source = kernel.source.clone().or(change.source.take());
    }
    let is_changed =
        |change: &KernelChange| change.old_count != change.new_count || !change.vmem.is_none();
    by_name.into_values().filter(is_changed).collect()
}
