//! `dense-attention-scores`.

use crate::config::bytes;
use crate::hlo::{ArrayShape, InstructionId, Opcode};
use crate::lint::held::{Held, Together, at_peak, finding_about, held};
use crate::lint::producer::upstream;
use crate::lint::stacked::stacked;
use crate::lint::{
    Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold, is_backward,
};
use crate::memory::Edit;

/// See [`META`].
pub struct DenseAttentionScores;

/// The declaration.
pub static META: Meta = Meta {
    name: "dense-attention-scores",
    summary: "attention scores of all positions with all positions in HBM",
    documentation: "\
What it does: finds arrays in HBM with two equal large dimensions [.., S, S] that come, element by element,
from a product of two arrays which have S once each and far fewer elements (a dot, or the convolution that
XLA makes of it), or from an exponential of such an array.
Why it costs memory: the scores grow with the square of the sequence; queries, keys and values with the
sequence only.
Example: bf16[4,16,8192,8192] of 8 GiB twice in one step of the backward pass, from queries and keys of
64 MiB, on a chip with 15.75 GiB.
Remedy: the claim is for eight chunks of the queries, one after the other, each forgotten (lax.map over a
jax.checkpoint); measured 2.51 GiB where 3.38 was claimed, of 16.38. The flash attention kernel that ships
with JAX holds no scores at all: 1.88 GiB for the same program. A jax.checkpoint around the whole attention
is no remedy: scores that XLA recomputes already, or that are born in the backward pass, stay as they are
(measured: no gain), so this rule does not name it.
References: E1000, scenario 3.B (architecture) and 3.E (rematerialization).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[
        Threshold {
            name: "length",
            default: 512.0,
            documentation: "the smallest S of [.., S, S]",
        },
        Threshold {
            name: "growth",
            default: 4.0,
            documentation: "how many times the elements of each operand the scores must have",
        },
    ],
    reference: Reference { code: "E1000", section: "3.B, architecture and sharding" },
};

/// How many chunks of the queries the remedy speaks of.
const CHUNKS: u64 = 8;

impl Rule for DenseAttentionScores {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let scores: Vec<(u64, Held)> = held(context, context.min_bytes(&META))
            .filter_map(|held| Some((length(context, held.array(context)?)?, held)))
            .filter(|(length, held)| are_scores(context, *length, held))
            .collect();
        for group in at_peak(context, &META, scores.iter().copied(), Together::size_bytes) {
            if let Some(finding) = report(context, &group, &scores) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// S of an array `[.., S, S]`: its largest size that two dimensions have.
fn length(context: &Context<'_>, array: &ArrayShape) -> Option<u64> {
    let sizes = array.dimensions.iter().map(|dimension| dimension.size);
    let smallest = context.threshold(&META, "length");
    let is_twice = |size: &u64| count(array, *size) > 1 && *size as f64 >= smallest;
    sizes.filter(is_twice).max().filter(|_| array.dimensions.len() > 2)
}

fn count(array: &ArrayShape, size: u64) -> usize {
    array.dimensions.iter().filter(|dimension| dimension.size == size).count()
}

/// Whether a buffer's elements are scores.
fn are_scores(context: &Context<'_>, length: u64, held: &Held) -> bool {
    let values = context.profile.buffer(held.buffer).values.iter();
    values.map(|&id| context.profile.value(id)).any(|value| {
        let found = upstream(context, value.instruction, value.index.clone(), |id| {
            is_outer_product(context, length, id) || is_softmax(context, id)
        });
        found.is_some()
    })
}

/// Whether a product has S twice, each operand S once less, and far fewer elements.
fn is_outer_product(context: &Context<'_>, length: u64, id: InstructionId) -> bool {
    let module = context.module;
    if !matches!(module.opcode(id), Opcode::Dot | Opcode::Convolution) {
        return false;
    }
    let growth = context.threshold(&META, "growth");
    let Some(result) = module.shape(id).array() else { return false };
    module.operands(id).iter().all(|&operand| {
        let Some(array) = module.shape(operand).array() else { return false };
        let grows = match (array.elements(), result.elements()) {
            (Some(from), Some(to)) => to as f64 >= from as f64 * growth,
            _ => false,
        };
        grows && (1..count(result, length)).contains(&count(array, length))
    })
}

/// Whether an instruction is the exponential of a softmax over `[.., heads, S, S]`.
fn is_softmax(context: &Context<'_>, id: InstructionId) -> bool {
    let array = context.module.shape(id).array();
    let sizes = array.map(|array| array.dimensions.as_slice());
    context.module.opcode(id) == Opcode::Exponential
        && sizes.is_some_and(|sizes| match sizes {
            [_, _, .., before, last] => before.size == last.size,
            _ => false,
        })
}

/// Whether a scan keeps scores of a length for the backward pass: those a checkpoint does save.
fn are_kept_by_a_scan(context: &Context<'_>, length: u64) -> bool {
    let least = context.min_bytes(&META);
    let large = context.profile.values.iter().filter(|value| value.size_bytes >= least);
    let of_length = large.filter(|value| {
        let array = context.module.shapes.get(value.shape).array();
        array.is_some_and(|array| array.dimensions.len() > 3 && count(array, length) > 1)
    });
    of_length.into_iter().any(|value| stacked(context, value).is_some())
}

/// A finding about scores of one length; `all` are all scores in HBM.
fn report(context: &Context<'_>, group: &Together, all: &[(u64, Held)]) -> Option<Finding> {
    let first = group.first()?;
    let length = length(context, first.array(context)?)?;
    let mut finding = finding_about(context, &META, group)?;
    finding.message = format!(
        "{}{} of scores {} {}",
        group.times(),
        context.shape_text(first.shape),
        group.verb("takes", "take"),
        bytes(group.size_bytes()),
    );
    let is_recomputed = |held: &Held| {
        let made_by = context.profile.value(held.value).instruction;
        context.module.instruction(made_by).name.contains(".remat")
    };
    if group.members.iter().any(is_recomputed) && !are_kept_by_a_scan(context, length) {
        let text = "XLA recomputes them by itself: jax.checkpoint around attention gains nothing";
        finding.details.push(text.to_owned());
    }
    // Those that are not at the peak grow to it once the others are gone.
    let same = || all.iter().filter(|(other, _)| *other == length);
    finding.buffers = same().map(|(_, held)| held.buffer).collect();
    let edits: Vec<Edit> = same()
        .map(|(_, held)| Edit::Shrink { buffer: held.buffer, bytes: held.size_bytes / CHUNKS })
        .collect();
    let module = context.module;
    let trains = module.ids().any(|id| module.metadata(id).is_some_and(|m| is_backward(m.op_name)));
    let each = if trains { ", each under jax.checkpoint" } else { "" };
    let action = format!("lax.map over {CHUNKS} chunks of the queries{each}");
    let priced = context.priced(action.clone(), edits, false);
    finding.remedies = vec![
        priced.unwrap_or_else(|| Remedy::new(action)),
        Remedy::new("a flash attention kernel, which never holds them"),
    ];
    Some(finding)
}
