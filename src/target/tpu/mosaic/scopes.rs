//! Allocations inside a kernel (`run_scoped`) in; the most of them that live at once out.

use super::Unknown;
use super::kernel::{Kernel, Space};
use super::operation::Kind;
use super::padding;

/// Allocations of the main function, in program order: values of memrefs in VMEM with bytes.
pub fn allocations(kernel: &Kernel<'_>) -> Result<Vec<(u32, u64)>, Unknown> {
    let Some(main) = kernel.operation(kernel.main) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for at in kernel.main + 1..main.end {
        let Some(operation) = kernel.operation(at).filter(|op| op.kind == Kind::Alloca) else {
            continue;
        };
        let value = operation.results.start;
        let Some(memref) = kernel.memref(value).filter(|memref| memref.space == Space::Vmem) else {
            continue;
        };
        let bytes = padding::scratch_bytes(&memref).and_then(padding::granules);
        found.push((value, bytes.ok_or(Unknown::Size { what: "an allocation" })?));
    }
    Ok(found)
}

/// The most bytes that live at once: those of a region end with it.
pub fn peak_bytes(kernel: &Kernel<'_>, bytes_of: &dyn Fn(u32) -> u64) -> u64 {
    kernel.body_of(kernel.main).map_or(0, |body| block_peak(kernel, body, bytes_of))
}

fn block_peak(kernel: &Kernel<'_>, block: u32, bytes_of: &dyn Fn(u32) -> u64) -> u64 {
    let (mut now, mut peak) = (0_u64, 0_u64);
    for at in kernel.ir.operations_of(block) {
        let Some(operation) = kernel.operation(at) else { continue };
        if operation.kind == Kind::Alloca {
            now = now.saturating_add(bytes_of(operation.results.start));
        }
        let inner =
            kernel.ir.inner_blocks(operation).map(|b| block_peak(kernel, b, bytes_of)).max();
        peak = peak.max(now.saturating_add(inner.unwrap_or(0)));
    }
    peak
}
