//! `scoped-vmem`.

use crate::config::{bytes, bytes_as_xla};
use crate::hlo::InstructionId;
use crate::lint::kernel::{self, need_bytes};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};
use crate::target::tpu::mosaic::{Estimate, Exceeded};

/// See [`META`].
pub struct ScopedVmem;

/// The declaration.
pub static META: Meta = Meta {
    name: "scoped-vmem",
    summary: "a kernel's scoped VMEM exceeds its limit",
    documentation: "\
What it does: finds a Pallas kernel whose scoped VMEM (windows, scratch, run_scoped allocations, read from
the kernel itself, or what the compiler recorded) is larger than its limit or than the VMEM of the
chip. Registers that spill come on top: a need below the limit is a lower bound. Before layouts are
assigned it is a warning: arrays that are placed in VMEM later need no window. The size in the
message is the one that the error names; it stops at the first scope that passes the limit, so that
less of it may not be enough.
Why it costs memory: the compile fails with E1001, or without a code where even the chip's VMEM is
too small.
Example: a Pallas kernel with two double-buffered windows of f32[1024,8192] asks for 128 MiB against
a limit of 16 MiB.
Remedy: smaller blocks: the help names the largest that fit when those that the grid moves are
halved, with a quarter of the limit left for spilled registers where large matrices are multiplied or
large values reduced; or vmem_limit_bytes of that kernel, up to what the chip has.
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
        for (id, estimate) in context.kernel_estimates() {
            if let Some(finding) = report(context, *id, estimate) {
                context.push(findings, &META, finding);
            }
        }
    }
}

fn report(context: &Context<'_>, id: InstructionId, kernel: &Estimate) -> Option<Finding> {
    let need = need_bytes(kernel);
    let bound = kernel.bound_bytes()?;
    if need <= bound {
        return None;
    }
    let mut finding = kernel::finding(context, &META, id, kernel);
    let quoted = kernel.quoted_bytes.unwrap_or(need);
    let name = kernel::name(context, id, kernel);
    // Arrays that are placed in VMEM later need no window.
    let word = if kernel.has_tiles { "needs" } else { "needs up to" };
    if !kernel.has_tiles {
        finding.level = Level::Warn;
    }
    finding.message = format!(
        "kernel {name} {word} {} of VMEM, its limit is {}",
        bytes_as_xla(quoted),
        bytes_as_xla(bound)
    );
    finding.bytes = need - bound;
    if quoted != need {
        finding.details.push(format!("that is where the compiler stops; in all {}", bytes(need)));
    }
    if kernel.exceeds == Some(Exceeded::Vmem) {
        finding.details.push("more than the chip's VMEM: the error has no code".to_owned());
    }
    finding.details.extend(kernel::split(context, kernel));
    finding.remedies.push(Remedy::new(kernel::smaller_blocks(context, kernel)));
    finding.remedies.extend(kernel::larger_limit(kernel, need).map(Remedy::new));
    Some(finding)
}
