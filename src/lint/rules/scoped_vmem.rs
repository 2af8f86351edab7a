//! `scoped-vmem`.

use crate::config::{bytes, bytes_as_xla};
use crate::hlo::InstructionId;
use crate::lint::{
    Confidence, Context, Finding, Kind, Level, Meta, Provenance, Reference, Remedy, Rule,
};
use crate::target::tpu::mosaic::{Estimate, Kernels, LimitSource, Role, WindowEstimate};

/// See [`META`].
pub struct ScopedVmem;

/// The declaration.
pub static META: Meta = Meta {
    name: "scoped-vmem",
    summary: "a kernel's scoped VMEM exceeds its limit",
    documentation: "\
What it does: finds a Pallas kernel whose scoped VMEM (windows, scratch, run_scoped allocations, read from
the kernel itself, or what the compiler recorded) is larger than its limit or than the VMEM of the
chip. Registers that spill come on top: a need below the limit is a lower bound.
Why it costs memory: the compile fails with E1001, or with `would exceed memory` where even the
chip's VMEM is too small.
Example: a Pallas kernel with two double-buffered windows of f32[1024,8192] asks for 128 MiB against
a limit of 16 MiB.
Remedy: smaller blocks; or vmem_limit_bytes of that kernel, up to what the chip has.
References: E1001, retune the kernel.",
    level: Level::Error,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1001", section: "retune the kernel" },
};

impl Rule for ScopedVmem {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(circumstances) = context.kernels else { return };
        let kernels = Kernels::new(context.module);
        for &id in kernels.ids() {
            // A kernel that cannot be read is no finding.
            if let Ok(estimate) = kernels.estimate(id, &circumstances)
                && let Some(finding) = report(context, id, &estimate)
            {
                context.push(findings, &META, finding);
            }
        }
    }
}

fn report(context: &Context<'_>, id: InstructionId, kernel: &Estimate) -> Option<Finding> {
    let recorded = kernel.used_bytes.filter(|&used| used > kernel.total_bytes);
    let need = recorded.unwrap_or(kernel.total_bytes);
    let limit = kernel.limit_bytes?;
    let bound = kernel.vmem_bytes.map_or(limit, |vmem| vmem.min(limit));
    let asks_too_much = kernel.limit_source == LimitSource::Kernel
        && kernel.vmem_bytes.is_some_and(|vmem| limit > vmem);
    if need <= bound && !asks_too_much {
        return None;
    }
    let mut finding = context.finding(&META, Some(id));
    let name =
        if kernel.name.is_empty() { context.module.instruction(id).name } else { &kernel.name };
    if need > bound {
        let quoted = kernel.quoted_bytes.unwrap_or(need);
        finding.message = format!(
            "kernel {name} needs {} of scoped VMEM, the limit is {}",
            bytes_as_xla(quoted),
            bytes_as_xla(bound)
        );
        finding.bytes = need - bound;
        if quoted != need {
            finding
                .details
                .push(format!("that is where the compiler stops; in all {}", bytes(need)));
        }
    } else {
        finding.message = format!(
            "kernel {name} asks for {} of scoped VMEM, the chip has {}",
            bytes_as_xla(limit),
            bytes_as_xla(kernel.vmem_bytes.unwrap_or(0))
        );
        finding.bytes = limit.saturating_sub(kernel.vmem_bytes.unwrap_or(0));
    }
    if recorded.is_some() {
        finding.provenance = Provenance::Recorded;
    } else {
        finding.confidence = Confidence::Estimate;
    }
    finding.details.extend(split(context, kernel));
    finding.remedies = remedies(context, kernel, need);
    Some(finding)
}

/// What the need is made of, and where the limit comes from.
fn split(context: &Context<'_>, kernel: &Estimate) -> Vec<String> {
    let windows = kernel.scratch_plus_windows_bytes.saturating_sub(kernel.scratch_bytes);
    let mut parts = vec![format!("windows {}", bytes(windows))];
    for (what, size) in [
        ("scratch", kernel.scratch_bytes),
        ("run_scoped", kernel.run_scoped_bytes),
        ("internal scratch", kernel.internal_bytes),
    ] {
        if size > 0 {
            parts.push(format!("{what} {}", bytes(size)));
        }
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
        lines.push("before layouts are assigned: an upper bound".to_owned());
    }
    lines
}

fn largest_window(kernel: &Estimate) -> Option<&WindowEstimate> {
    kernel
        .windows
        .iter()
        .filter(|window| window.bytes > 0 && !window.is_deleted)
        .max_by_key(|window| (window.bytes, std::cmp::Reverse(window.number)))
}

/// `operand 0, block (1024, 2048), 2 x 8.00 MiB`.
fn described(window: &WindowEstimate) -> String {
    let role = match window.role {
        Role::Operand => "operand",
        Role::Result => "result",
    };
    let block: Vec<String> = window.block.iter().map(u64::to_string).collect();
    let size = bytes(window.padded_bytes);
    format!("{role} {}, block ({}), {} x {size}", window.number, block.join(", "), window.buffers)
}

fn remedies(context: &Context<'_>, kernel: &Estimate, need: u64) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if let Some(window) = largest_window(kernel) {
        remedies.push(Remedy::new(format!(
            "a smaller block, first of {} {}",
            if window.role == Role::Operand { "operand" } else { "result" },
            window.number
        )));
    } else {
        remedies.push(Remedy::new("less scratch"));
    }
    let chip = context.kernels.and_then(|kernels| kernels.chip).map_or("chip", |chip| chip.name());
    if kernel.vmem_bytes.is_some_and(|vmem| need <= vmem) && need > 0 {
        remedies.push(Remedy::new(format!(
            "vmem_limit_bytes={need} or more in the kernel's compiler parameters ({chip} has {})",
            bytes(kernel.vmem_bytes.unwrap_or(0))
        )));
    }
    remedies
}
