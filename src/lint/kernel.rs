//! What the rules on Pallas kernels share: how a kernel is named, what it needs, of what.

use super::{Confidence, Context, Finding, Meta, Provenance};
use crate::config::bytes;
use crate::hlo::InstructionId;
use crate::target::tpu::mosaic::{Estimate, LimitSource, Role, WindowEstimate};

/// What a kernel needs: what the compiler recorded where that is more than the estimate.
pub fn need_bytes(kernel: &Estimate) -> u64 {
    kernel.total_bytes.max(kernel.used_bytes.unwrap_or(0))
}

/// The kernel's own name; the instruction's where it has none.
pub fn name<'a>(context: &Context<'a>, id: InstructionId, kernel: &'a Estimate) -> &'a str {
    if kernel.name.is_empty() { context.module.instruction(id).name } else { &kernel.name }
}

/// A finding about a kernel.
pub fn finding(
    context: &Context<'_>,
    meta: &Meta,
    id: InstructionId,
    kernel: &Estimate,
) -> Finding {
    let mut finding = context.finding(meta, Some(id));
    if kernel.used_bytes.is_some() {
        finding.provenance = Provenance::Recorded;
    } else {
        finding.confidence = Confidence::Estimate;
    }
    finding
}

/// What the need is made of, and where the limit comes from.
pub fn split(context: &Context<'_>, kernel: &Estimate) -> Vec<String> {
    let windows = kernel.scratch_plus_windows_bytes.saturating_sub(kernel.scratch_bytes);
    let mut parts = vec![format!("windows {}", bytes(windows))];
    let spilled = kernel.used_bytes.map_or(0, |used| used.saturating_sub(kernel.total_bytes));
    for (what, size) in [
        ("scratch", kernel.scratch_bytes),
        ("run_scoped", kernel.run_scoped_bytes),
        ("internal scratch", kernel.internal_bytes),
        ("spilled registers", spilled),
    ] {
        if size > 0 {
            parts.push(format!("{what} {}", bytes(size)));
        }
    }
    if kernel.deleted_bytes > 0 {
        parts.push(format!("less {} that the compiler deletes", bytes(kernel.deleted_bytes)));
    }
    let source = match kernel.limit_source {
        LimitSource::Kernel => "the kernel's vmem_limit_bytes",
        LimitSource::Flag => "the flag xla_tpu_scoped_vmem_limit_kib",
        LimitSource::Default => "the default",
    };
    let vmem = kernel
        .vmem_bytes
        .map_or(String::new(), |vmem| format!(", VMEM of the chip {}", bytes(vmem)));
    let mut lines = vec![format!("{}; limit: {source}{vmem}", parts.join(", "))];
    lines.extend(largest_window(kernel).map(|window| {
        format!("largest window: {}, of {}", described(window), context.shape_text(window.shape))
    }));
    if !kernel.has_tiles {
        lines.push("before layouts are assigned: windows are an upper bound".to_owned());
    }
    lines
}

/// The window that takes most.
pub fn largest_window(kernel: &Estimate) -> Option<&WindowEstimate> {
    kernel
        .windows
        .iter()
        .filter(|window| window.bytes > 0 && !window.is_deleted)
        .max_by_key(|window| (window.bytes, std::cmp::Reverse(window.number)))
}

/// `operand 0`.
pub fn array_of(role: Role, number: usize) -> String {
    match role {
        Role::Operand => format!("operand {number}"),
        Role::Result => format!("result {number}"),
    }
}

/// `(1024, 4096)`.
pub fn tuple(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("({})", sizes.join(", "))
}

/// `operand 0, block (1024, 2048), 2 x 8.00 MiB`.
pub fn described(window: &WindowEstimate) -> String {
    format!(
        "{}, block {}, {} x {}",
        array_of(window.role, window.number),
        tuple(&window.block),
        window.buffers,
        bytes(window.padded_bytes)
    )
}

/// Smaller blocks that fit, in one line; what is meant by them where none is found.
pub fn smaller_blocks(context: &Context<'_>, kernel: &Estimate) -> String {
    let Some(found) = kernel.fitting_blocks(context.module) else {
        return match largest_window(kernel) {
            Some(window) if kernel.scratch_bytes <= kernel.scratch_plus_windows_bytes / 2 => {
                let array = array_of(window.role, window.number);
                format!("a grid over smaller blocks, first of {array}")
            }
            _ => format!("less scratch than {}", bytes(kernel.scratch_bytes)),
        };
    };
    // Arrays of one block together: most kernels read and write the same one.
    let mut by_block: Vec<(&[u64], Vec<String>)> = Vec::new();
    for block in &found.blocks {
        let array = array_of(block.role, block.number);
        match by_block.iter_mut().find(|(to, _)| *to == block.to.as_slice()) {
            Some((_, arrays)) => arrays.push(array),
            None => by_block.push((&block.to, vec![array])),
        }
    }
    let blocks: Vec<String> = by_block
        .iter()
        .map(|(to, arrays)| format!("{} of {}", tuple(to), arrays.join(", ")))
        .collect();
    let scratch = if found.has_scratch { ", scratch alike" } else { "" };
    format!("blocks {}{scratch}: {} at least", blocks.join("; "), bytes(found.total_bytes))
}

/// `vmem_limit_bytes=33554432`, where the chip has so much.
pub fn larger_limit(kernel: &Estimate, need_bytes: u64) -> Option<String> {
    let limit = kernel.limit_to_ask_for(need_bytes, kernel.used_bytes.is_some())?;
    let vmem = bytes(kernel.vmem_bytes?);
    Some(format!("vmem_limit_bytes={limit}, {} of the chip's {vmem}", bytes(limit)))
}
