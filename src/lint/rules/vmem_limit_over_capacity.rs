//! `vmem-limit-over-capacity`.

use crate::config::bytes;
use crate::hlo::{InstructionId, Module};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};
use crate::target::tpu::mosaic::{Estimate, Kernels, LimitSource};

/// See [`META`].
pub struct VmemLimitOverCapacity;

/// The declaration.
pub static META: Meta = Meta {
    name: "vmem-limit-over-capacity",
    summary: "a kernel asks for more VMEM than the chip has left",
    documentation: "\
What it does: finds a Pallas kernel whose vmem_limit_bytes is larger than the VMEM that a program can
use on its chip, or larger than what the operands and results that it wants in VMEM leave. The text
before optimizations is read: later ones hold the smaller of limit and VMEM.
Why it costs memory: the limit is reserved, not the use. Arrays that the compiler would keep in VMEM
stay in HBM, and where operands are pinned to VMEM the compile fails: `too many buffers are colored
in the alternate memory`.
Example: vmem_limit_bytes=100 MiB and an operand of 32 MiB with memory_space VMEM, on a v5e with
128 MiB; the same kernel compiles with a limit of 64 MiB.
Remedy: the vmem_limit_bytes that the kernel needs, not the largest number there is.
References: E1001, retune the kernel.",
    level: Level::Warn,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1001", section: "retune the kernel" },
};

impl Rule for VmemLimitOverCapacity {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(circumstances) = context.kernels else { return };
        let Some(before) = context.before else {
            for (id, estimate) in context.kernel_estimates() {
                findings_of(context, estimate, Some(*id), findings);
            }
            return;
        };
        let (kernels, later) = (Kernels::new(before), Kernels::new(context.module));
        let mut free: Vec<InstructionId> = later.ids().to_vec();
        for &id in kernels.ids() {
            let Ok(estimate) = kernels.estimate(id, &circumstances) else { continue };
            let about = same_kernel(before, id, context.module, &free);
            free.retain(|&id| Some(id) != about);
            findings_of(context, &estimate, about, findings);
        }
    }
}

/// The call of the same kernel in the later module. Instructions are renamed on the way, op_names
/// are not.
fn same_kernel(
    before: &Module<'_>,
    id: InstructionId,
    module: &Module<'_>,
    free: &[InstructionId],
) -> Option<InstructionId> {
    let name = before.metadata(id)?.op_name;
    free.iter().copied().find(|&id| module.metadata(id).is_some_and(|m| m.op_name == name))
}

fn findings_of(
    context: &Context<'_>,
    kernel: &Estimate,
    about: Option<InstructionId>,
    findings: &mut Vec<Finding>,
) {
    let (Some(limit), Some(vmem)) = (kernel.limit_bytes, kernel.vmem_bytes) else { return };
    let reserved = limit.saturating_add(kernel.coloured_bytes);
    let is_asked_for = kernel.limit_source != LimitSource::Default || kernel.coloured_bytes > 0;
    if reserved <= vmem || !is_asked_for {
        return;
    }
    let mut finding = context.finding(&META, about);
    if kernel.coloured_bytes > 0 {
        // Measured: the compiler refuses it.
        finding.level = Level::Error;
        finding.message = format!(
            "kernel {} reserves {} of VMEM beside {} of operands, the chip has {}",
            kernel.name,
            bytes(limit),
            bytes(kernel.coloured_bytes),
            bytes(vmem)
        );
    } else {
        finding.message = format!(
            "kernel {} asks for {} of VMEM, the chip has {}",
            kernel.name,
            bytes(limit),
            bytes(vmem)
        );
    }
    finding.bytes = reserved - vmem;
    finding.details.push(format!("it needs {} at least", bytes(kernel.total_bytes)));
    finding.remedies.push(Remedy::new(match kernel.limit_to_ask_for(kernel.total_bytes, false) {
        Some(limit) if kernel.total_bytes > 0 => {
            format!("vmem_limit_bytes={limit}: what it needs, in whole MiB")
        }
        Some(_) => "no vmem_limit_bytes: the default is enough".to_owned(),
        None => "smaller blocks, or operands that stay in HBM".to_owned(),
    }));
    context.push(findings, &META, finding);
}
