//! `scoped-vmem-near-limit`.

use crate::config::{bytes, percent};
use crate::hlo::InstructionId;
use crate::lint::kernel::{self, need_bytes};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};
use crate::target::tpu::mosaic::Estimate;

/// See [`META`].
pub struct ScopedVmemNearLimit;

/// The declaration.
pub static META: Meta = Meta {
    name: "scoped-vmem-near-limit",
    summary: "a kernel's scoped VMEM is close to its limit",
    documentation: "\
What it does: finds a Pallas kernel that needs 90% of its scoped VMEM limit or more, or 75% where large
matrices are multiplied and nothing is recorded yet: the slots of spilled registers, which the text
does not show, then add 17% in the middle of measured kernels and more than the rest at worst. It is
65% where large values are reduced as well (attention, cross-entropy): flash attention with blocks
of 512 by 1024 needed 69% of a v5e's limit by its text; spilled registers, 46% on top, passed it.
Why it costs memory: a little more (a longer row, another release that spills more) and the compile
fails with E1001; a kernel of large matrices may fail already.
Example: a row softmax with two double-buffered windows of f32[256,4096] uses 16 MiB of 16 MiB.
Remedy: half the block along the grid; or vmem_limit_bytes of that kernel, up to what the chip has.
References: E1001, retune the kernel.",
    level: Level::Warn,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[
        Threshold { name: "limit_share", default: 0.9, documentation: "the need by the limit" },
        Threshold {
            name: "limit_share_with_matmul",
            default: 0.75,
            documentation: "the same where spilled registers are usual and nothing is recorded",
        },
        Threshold {
            name: "limit_share_with_attention",
            default: 0.65,
            documentation: "the same where large values are reduced as well",
        },
    ],
    reference: Reference { code: "E1001", section: "retune the kernel" },
};

impl Rule for ScopedVmemNearLimit {
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
    let may_spill = kernel.has_large_matmul && kernel.used_bytes.is_none();
    let threshold = match (may_spill, kernel.has_large_reduction) {
        (false, _) => "limit_share",
        (true, false) => "limit_share_with_matmul",
        (true, true) => "limit_share_with_attention",
    };
    let share = context.threshold(&META, threshold);
    if need == 0 || need > bound || (need as f64) < bound as f64 * share {
        return None;
    }
    let mut finding = kernel::finding(context, &META, id, kernel);
    let name = kernel::name(context, id, kernel);
    let word = if kernel.used_bytes.is_some() { "uses" } else { "needs at least" };
    finding.message = format!(
        "kernel {name} {word} {} of VMEM, {} of its limit",
        bytes(need),
        percent(need, bound)
    );
    finding.bytes = need;
    if may_spill {
        finding.details.push("large matrices are multiplied: registers usually spill".to_owned());
    }
    finding.details.extend(kernel::split(context, kernel));
    if let Some(window) = kernel::largest_window(kernel) {
        let array = kernel::array_of(window.role, window.number);
        finding.remedies.push(Remedy::new(format!("smaller blocks, first of {array}")));
    }
    finding.remedies.extend(larger_limit(kernel, need).map(Remedy::new));
    if finding.remedies.is_empty() {
        finding.remedies.push(Remedy::new("less scratch"));
    }
    Some(finding)
}

/// A limit that leaves a third more than the need.
fn larger_limit(kernel: &Estimate, need_bytes: u64) -> Option<String> {
    let roomy = need_bytes.checked_add(need_bytes / 3)?;
    (roomy > kernel.limit_bytes?).then(|| kernel::larger_limit(kernel, roomy))?
}
