//! `vmem-block-misaligned`.

use crate::config::{bytes, percent, total_bytes};
use crate::hlo::InstructionId;
use crate::lint::kernel;
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};
use crate::target::tpu::mosaic::{Estimate, WindowEstimate};

/// See [`META`].
pub struct VmemBlockMisaligned;

/// The declaration.
pub static META: Meta = Meta {
    name: "vmem-block-misaligned",
    summary: "blocks of a kernel are no multiples of the tile",
    documentation: "\
What it does: finds a Pallas kernel whose windows lose a twentieth of its scoped VMEM limit or more to
padding: the last dimension of a block takes whole multiples of 128, the one before whole multiples
of the rows of the tile (8, or 32 for types of 8 bits). From a quarter of the limit on it is a
warning.
Why it costs memory: padding takes VMEM in every buffer of the window, twice where it is double
buffered, and the bytes are copied, too.
Example: a block (4096, 64) of f32 takes 2 MiB for 1 MiB of data: 64 lanes of 128.
Remedy: blocks whose last two dimensions are multiples of the tile; where the array itself is
narrower, reshape or transpose it so that a large dimension is the last.
References: E1001, retune the kernel.",
    level: Level::Warn,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[
        Threshold {
            name: "padding_share",
            default: 0.05,
            documentation: "padding by the limit from which it is reported",
        },
        Threshold {
            name: "warn_padding_share",
            default: 0.25,
            documentation: "padding by the limit from which it is a warning",
        },
    ],
    reference: Reference { code: "E1001", section: "retune the kernel" },
};

impl Rule for VmemBlockMisaligned {
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

/// Bytes that padding takes in all buffers of a window.
fn lost_bytes(window: &WindowEstimate) -> u64 {
    match window.is_deleted {
        true => 0,
        false => window.padding_bytes.saturating_mul(window.buffers),
    }
}

fn report(context: &Context<'_>, id: InstructionId, kernel: &Estimate) -> Option<Finding> {
    let bound = kernel.bound_bytes()?;
    let lost = total_bytes(kernel.windows.iter().map(lost_bytes));
    let is_share = |name: &str| lost as f64 >= bound as f64 * context.threshold(&META, name);
    if lost == 0 || !is_share("padding_share") {
        return None;
    }
    let worst = kernel.windows.iter().max_by_key(|window| lost_bytes(window))?;
    let mut finding = kernel::finding(context, &META, id, kernel);
    if !is_share("warn_padding_share") {
        finding.level = Level::Note;
    }
    let name = kernel::name(context, id, kernel);
    finding.message = format!(
        "padding takes {} of kernel {name}, {} of its limit",
        bytes(lost),
        percent(lost, bound)
    );
    finding.bytes = lost;
    finding.details.push(format!(
        "{}, of {}: {} of each is padding",
        kernel::described(worst),
        context.shape_text(worst.shape),
        percent(worst.padding_bytes, worst.padded_bytes)
    ));
    finding.remedies.push(Remedy::new(remedy(worst)));
    Some(finding)
}

/// The dimension that loses most, and what to do with it.
fn remedy(window: &WindowEstimate) -> String {
    let array = kernel::array_of(window.role, window.number);
    let tile = window.tile;
    let (rows, lanes) = match window.block.as_slice() {
        [.., rows, lanes] => (*rows, *lanes),
        [lanes] => (tile.rows, *lanes),
        [] => (tile.rows, tile.lanes),
    };
    let filled = |size: u64, multiple: u64| {
        size as f64 / size.checked_next_multiple_of(multiple.max(1)).unwrap_or(size).max(1) as f64
    };
    if filled(lanes, tile.lanes) <= filled(rows, tile.rows) {
        format!(
            "reshape or transpose {array}: a last dimension that is a multiple of {}, not {lanes}",
            tile.lanes
        )
    } else {
        format!("blocks of {array} with a multiple of {} rows, not {rows}", tile.rows)
    }
}
