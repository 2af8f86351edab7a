//! `gather-index-padding`.

use crate::config::bytes;
use crate::hlo::{ArrayShape, ElementType, InstructionId, Opcode};
use crate::lint::held::{Held, Together, at_peak, finding_about, held};
use crate::lint::padding::{pads_text, row_major_text, smaller_layout};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};
use crate::memory::Edit;
use crate::target::Backend;

/// See [`META`].
pub struct GatherIndexPadding;

/// The declaration.
pub static META: Meta = Meta {
    name: "gather-index-padding",
    summary: "index vectors of a gather lie along the lanes",
    documentation: "\
What it does: finds integer arrays in HBM whose minor dimension is a handful of coordinates, padded to 128,
and that are the indices of a gather or scatter, or the parts they are concatenated from.
Why it costs memory: 3 of 128 lanes hold data, so that the indices take 42 times their size, often more
than what is gathered.
Example: take_along_axis of f32[2048,1,128,128] once made s32[2048,1,128,128,4] of 512 MiB that took
16 GiB, and three parts of as much. Today XLA lays such indices out the other way, unless the layout is
pinned, as it is for points s32[2097152,3] given in a row-major Format.
Remedy: the points along the lanes: hold them as s32[3,2097152], or as one array a coordinate, or leave the
layout to XLA; in place of take_along_axis with a wide index, a gather along one axis. The claim is the
program with these arrays in the layout that takes least.
References: E1000, scenario 3.C (padding and alignment).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[Threshold {
        name: "coordinates",
        default: 8.0,
        documentation: "the largest minor dimension that is taken for coordinates",
    }],
    reference: Reference { code: "E1000", section: "3.C, padding and alignment" },
};

impl Rule for GatherIndexPadding {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        if context.policy.backend != Backend::Tpu {
            return;
        }
        let indices: Vec<Held> = held(context, context.min_bytes(&META))
            .filter(|held| held.array(context).is_some_and(|array| are_vectors(context, array)))
            .collect();
        let shapes = indices.iter().map(|held| (held.shape, *held));
        for group in at_peak(context, &META, shapes, Together::wasted_bytes) {
            if !group.members.iter().any(|held| is_index(context, held)) {
                continue;
            }
            if let Some(finding) = report(context, &group, &indices) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// Whether an array holds integers, a few of them along the lanes.
fn are_vectors(context: &Context<'_>, array: &ArrayShape) -> bool {
    use ElementType::{S32, S64, U32, U64};
    let most = context.threshold(&META, "coordinates");
    let minor = array.layout.as_deref().and_then(|layout| layout.minor_to_major.first());
    let minor = minor.and_then(|&at| array.dimensions.get(usize::try_from(at).ok()?));
    matches!(array.element_type, S32 | U32 | S64 | U64)
        && array.dimensions.len() > 1
        && minor.is_some_and(|minor| minor.size as f64 <= most)
        && smaller_layout(array).is_some()
}

/// Whether a buffer's data ends up as the indices of a gather or scatter, or it is (part of) a
/// concatenation of coordinates.
fn is_index(context: &Context<'_>, held: &Held) -> bool {
    let made_by = context.profile.value(held.value).instruction;
    let is_iota = |id: InstructionId| context.module.opcode(id) == Opcode::Iota;
    let joins = |id: InstructionId| {
        let module = context.module;
        module.opcode(id) == Opcode::Concatenate
            && module.operands(id).iter().any(|&part| is_iota(part))
    };
    let users = context.graph.users(made_by).map(|(user, _)| user);
    std::iter::once(made_by).chain(users).any(joins) || reaches_gather(context, made_by)
}

/// Whether data flows from an instruction to the indices of a gather or scatter, through fusions.
fn reaches_gather(context: &Context<'_>, from: InstructionId) -> bool {
    const STEPS: usize = 128;
    let module = context.module;
    let mut seen = vec![from];
    let mut next = 0;
    while let Some(&at) = seen.get(next) {
        next += 1;
        let mut reached = Vec::new();
        for (user, number) in context.graph.users(at) {
            match module.opcode(user) {
                Opcode::Gather | Opcode::Scatter if number == 1 => return true,
                Opcode::Gather | Opcode::Scatter | Opcode::Dot | Opcode::Convolution => {}
                Opcode::Fusion => {
                    let body = module.calls(user).next().map(|(_, callee)| callee);
                    let parameters = body.map_or(&[][..], |body| context.graph.parameters(body));
                    reached.extend(parameters.get(number as usize).copied());
                }
                _ => reached.push(user),
            }
        }
        if let Some(caller) = fused_into(context, at) {
            reached.push(caller);
        }
        for id in reached {
            if seen.len() < STEPS && !seen.contains(&id) {
                seen.push(id);
            }
        }
    }
    false
}

/// The fusion whose root an instruction is.
fn fused_into(context: &Context<'_>, id: InstructionId) -> Option<InstructionId> {
    let [caller] = context.graph.callers(context.module.instruction(id).computation) else {
        return None;
    };
    let is_fusion = context.module.opcode(caller.instruction) == Opcode::Fusion;
    (is_fusion && context.module.is_root(id)).then_some(caller.instruction)
}

/// A finding about indices of one shape; `all` are all integer vectors in HBM.
fn report(context: &Context<'_>, group: &Together, all: &[Held]) -> Option<Finding> {
    let first = group.first()?;
    let array = first.array(context)?;
    let (best, best_bytes) = smaller_layout(array)?;
    let mut finding = finding_about(context, &META, group)?;
    finding.message = format!(
        "indices {}{} of {} take {}",
        group.times(),
        context.shape_text(first.shape),
        bytes(group.unpadded_bytes()),
        bytes(group.size_bytes()),
    );
    finding.details.push(pads_text(array));
    finding.bytes = group.wasted_bytes();
    let edits: Vec<Edit> = all
        .iter()
        .filter(|held| held.shape == first.shape)
        .map(|held| Edit::Shrink { buffer: held.buffer, bytes: best_bytes })
        .collect();
    let action = format!("hold them as {}, or leave the layout to XLA", row_major_text(&best));
    let priced = context.priced(action.clone(), edits, false);
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}
