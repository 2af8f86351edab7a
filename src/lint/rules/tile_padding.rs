//! `tile-padding`.

use crate::config::{bytes, total_bytes};
use crate::hlo::{ArrayShape, InstructionId, Opcode, ShapeId};
use crate::lint::held::{Held, Together, at_peak, finding_about, held};
use crate::lint::padding::{packed_text, pads, pads_text, row_major_text, smaller_layout};
use crate::lint::rest::push_most;
use crate::lint::stacked::stacked;
use crate::lint::{
    Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Source, Threshold,
};
use crate::memory::Edit;
use crate::target::Backend;

/// See [`META`].
pub struct TilePadding;

/// The declaration.
pub static META: Meta = Meta {
    name: "tile-padding",
    summary: "tiles pad a large array to a multiple of its data",
    documentation: "\
What it does: finds arrays in HBM (arguments, results and temporaries) whose size in memory, by the tiles
of their layout, is far more than their data, and names the dimension that is padded. A copy into a
padded layout is layout-copy-pads; an array that is no more than a quarter larger than its data is left
alone, and so is what is not alive at the peak. Where padding is less than a fifth of what is alive at the
peak, it is a note: other things are to be done first.
Why it costs memory: the minor dimension is stored in multiples of 128, the second-minor one in multiples
of 8 (1, 2 or 4 where the dimension is that small; more for types narrower than 32 bits). A minor
dimension of 3 takes 42 times its data, one of 64 twice, one of 129 twice.
Example: f32[18000000,3] in the layout {1,0:T(8,128)} takes 8.58 GiB for 0.20 GiB of data.
Remedy: let a large dimension be the minor one. XLA does so by itself unless the layout is pinned (by
with_layout_constraint, Format, a kernel's operands) or an operation forces it, so that the shape is to be
transposed, or two small dimensions to be packed into 128. The claim is the program's need with the array
in the layout that takes least; copies that vanish with it come on top (measured: 0.80 GiB where 1.07 was
claimed). What convolutions and kernels demand is a note: only another channel count or batch helps.
References: E1000, scenario 3.C (padding and alignment).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[
        Threshold {
            name: "factor",
            default: 1.25,
            documentation: "how many times its data an array must take",
        },
        Threshold {
            name: "share",
            default: 0.2,
            documentation: "the share of the bytes at the peak that must be padding for a warning",
        },
    ],
    reference: Reference { code: "E1000", section: "3.C, padding and alignment" },
};

/// How many shapes are reported one by one, those that lose most first: each is priced by a run of
/// the model.
const MOST: usize = 6;

impl Rule for TilePadding {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        if context.policy.backend != Backend::Tpu {
            return;
        }
        let factor = context.threshold(&META, "factor");
        let min_bytes = context.min_bytes(&META);
        let is_padded = |held: &Held| {
            held.wasted_bytes() >= min_bytes
                && held.size_bytes as f64 >= held.unpadded_bytes as f64 * factor
        };
        let padded: Vec<Held> = held(context, min_bytes).filter(is_padded).collect();
        let own = padded.iter().filter(|held| {
            super::layout_copy_pads::relayout(context, held).is_none()
                && !is_rather_residuals(context, held)
        });
        let shapes = own.map(|held| (held.shape, *held));
        let groups = at_peak(context, &META, shapes, Together::wasted_bytes);
        let is_the_story = is_the_story(context, &groups);
        push_most(context, &META, findings, (MOST, "padded shapes"), &groups, |group| {
            report(context, group, &padded, is_the_story)
        });
    }
}

/// A finding about arrays of one shape and layout; `padded` are all padded buffers.
fn report(
    context: &Context<'_>,
    group: &Together,
    padded: &[Held],
    is_the_story: bool,
) -> Option<Finding> {
    let first = group.first()?;
    let array = first.array(context)?;
    let remedy = remedy(context, first.shape, array, padded)?;
    let kernel = group.members.iter().find_map(|held| kernel_at(context, held));
    let mut finding = finding_about(context, &META, group)?;
    finding.message = format!(
        "{}{} {} {} for {} of data",
        group.times(),
        context.shape_text(first.shape),
        group.verb("takes", "take"),
        bytes(group.size_bytes()),
        bytes(group.unpadded_bytes()),
    );
    finding.details.push(pads_text(array));
    finding.bytes = group.wasted_bytes();
    if let Some(place) = pinned(context, array) {
        finding.details.push(format!("its layout is pinned by with_layout_constraint, {place}"));
    }
    if let Some(kernel) = kernel {
        let name = context.module.instruction(kernel).name;
        finding.details.push(format!("the kernel {name} takes it in this layout"));
    }
    finding.remedies = vec![remedy];
    if !is_the_story || kernel.is_some() {
        finding.level = Level::Note;
    }
    Some(finding)
}

/// Whether a buffer is more than half data that a loop keeps: to keep less of it saves more.
fn is_rather_residuals(context: &Context<'_>, held: &Held) -> bool {
    held.wasted_bytes() < held.unpadded_bytes
        && stacked(context, context.profile.value(held.value)).is_some()
}

/// Whether all padding is a share of what is alive at the peak that is worth a warning.
fn is_the_story(context: &Context<'_>, groups: &[Together]) -> bool {
    let wasted_bytes = total_bytes(groups.iter().map(Together::wasted_bytes));
    let share = context.threshold(&META, "share");
    let is_scheduled = context.hbm().peak_point.is_some();
    !is_scheduled || wasted_bytes as f64 >= context.hbm().peak_live_bytes as f64 * share
}

/// The line at which the program pins this layout for an array of these dimensions.
fn pinned(context: &Context<'_>, array: &ArrayShape) -> Option<Source> {
    let before = context.before?;
    let order = &array.layout.as_deref()?.minor_to_major;
    let id = before.ids().find(|&id| {
        before.custom_call_target(id) == Some("LayoutConstraint")
            && before.shape(id).array().is_some_and(|pinned| {
                pinned.dimensions == array.dimensions
                    && pinned
                        .layout
                        .as_deref()
                        .is_some_and(|layout| layout.minor_to_major == *order)
            })
    })?;
    context.source_before(id)
}

/// A Pallas kernel that makes or reads a value: its operands have one layout only.
pub(super) fn kernel_at(context: &Context<'_>, held: &Held) -> Option<InstructionId> {
    const STEPS: usize = 16;
    let module = context.module;
    let mut seen = vec![context.profile.value(held.value).instruction];
    let mut next = 0;
    while let Some(&at) = seen.get(next) {
        next += 1;
        if module.custom_call_target(at) == Some("tpu_custom_call") {
            return Some(at);
        }
        let hands_on = next == 1 || matches!(module.opcode(at), Opcode::Bitcast | Opcode::Reshape);
        let users = context.graph.users(at).map(|(user, _)| user).filter(|_| hands_on);
        seen.extend(users.take(STEPS.saturating_sub(seen.len())));
    }
    None
}

/// Packed or transposed, whichever the shape allows, with all buffers of that shape and layout in the
/// layout that takes least; `None` where hardly anything can be done.
fn remedy(
    context: &Context<'_>,
    shape: ShapeId,
    array: &ArrayShape,
    padded: &[Held],
) -> Option<Remedy> {
    const ROUNDING: u64 = 2;
    if array.dimensions.len() >= 4 && has_convolutions(context) {
        let action = "give the convolutions channels, or a batch, that fill 128 lanes";
        return Some(Remedy::new(action));
    }
    let Some((best, best_bytes)) = smaller_layout(array) else {
        let longest = *pads(array).iter().max_by_key(|pad| pad.padded / pad.size.max(1))?;
        let is_much = longest.padded >= longest.size.saturating_mul(ROUNDING);
        let action = format!("make dimension {} fill its {}", longest.dimension, longest.padded);
        return is_much.then(|| Remedy::new(action));
    };
    let edits: Vec<Edit> = padded
        .iter()
        .filter(|held| held.shape == shape)
        .map(|held| Edit::Shrink { buffer: held.buffer, bytes: best_bytes })
        .collect();
    let transposed = format!("hold it as {}, or leave its layout to XLA", row_major_text(&best));
    let packed = packed_text(array).map(|text| format!("pack its last dimensions: {text}"));
    let action = packed.unwrap_or(transposed);
    Some(context.priced(action.clone(), edits, false).unwrap_or_else(|| Remedy::new(action)))
}

/// Whether the program convolves images, which decides the layouts of all around.
fn has_convolutions(context: &Context<'_>) -> bool {
    let module = context.module;
    module.ids().any(|id| {
        module.opcode(id) == Opcode::Convolution
            && module.metadata(id).is_some_and(|m| m.op_name.contains("conv_general_dilated"))
    })
}
