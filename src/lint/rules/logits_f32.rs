//! `logits-f32`.

use crate::config::bytes;
use crate::graph::Repetition;
use crate::hlo::{ArrayShape, AttributeName, ElementType, InstructionId, Module, Opcode};
use crate::lint::held::{Held, Together, at_peak, finding_about, held};
use crate::lint::producer::upstream;
use crate::lint::{
    Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold, is_backward,
};
use crate::memory::Edit;
use rustc_hash::FxHashSet;

/// See [`META`].
pub struct LogitsF32;

/// The declaration.
pub static META: Meta = Meta {
    name: "logits-f32",
    summary: "the logits of all tokens lie in HBM",
    documentation: "\
What it does: finds f32 arrays in HBM (16-bit ones where they take 1% of it) that come, element by element, from a product with a matrix that has a
dimension of a vocabulary, much wider than the model, where a softmax sums over that dimension. What a loop
computes part by part is left alone, unless the program hardly fits.
Why it costs memory: tokens times vocabulary times 4 bytes, often beside the same logits as bf16, where a
loss needs one number a token.
Example: a cross entropy over f32[16,1024,131072] holds 8 GiB, and 4 GiB of the same as bf16.
Remedy: the loss in parts of the tokens, each forgotten (lax.map over a jax.checkpoint): the claim is for 16
parts (measured as claimed: 12.56 to 1.31 GiB). Logits kept in bf16, with the sum of the loss in f32, save
what is f32 only.
References: E1000, scenario 3.A (bf16, micro-batching) and 3.E (rematerialization).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[
        Threshold {
            name: "vocabulary",
            default: 8192.0,
            documentation: "the smallest dimension that is taken for a vocabulary",
        },
        Threshold {
            name: "growth",
            default: 4.0,
            documentation: "how many times the model's width a vocabulary must be more than",
        },
    ],
    reference: Reference { code: "E1000", section: "3.A, configuration" },
};

/// How many parts of the tokens the remedy speaks of.
const PARTS: u64 = 16;

impl Rule for LogitsF32 {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let softmaxes = softmaxes(context);
        let logits: Vec<(u64, Held)> = held(context, context.min_bytes(&META))
            .filter_map(|held| Some((vocabulary(context, &held, &softmaxes)?, held)))
            .collect();
        let is_f32 = |held: &Held| {
            held.array(context).is_some_and(|array| array.element_type == ElementType::F32)
        };
        // Where XLA keeps them in 16 bits they are worth a word if they are a share of HBM.
        let has_f32 = logits.iter().any(|(_, held)| is_f32(held));
        let speaks = |held: &Held| match has_f32 {
            true => is_f32(held),
            false => context.is_material(&META, held.size_bytes),
        };
        // In a loop they are computed in parts already.
        let counts = |held: &Held| context.is_near_capacity() || !is_in_loop(context, held);
        let f32s = logits.iter().copied().filter(|(_, held)| speaks(held) && counts(held));
        for group in at_peak(context, &META, f32s, Together::size_bytes) {
            if let Some(finding) = report(context, &group, &logits) {
                context.push(findings, &META, finding);
            }
        }
    }
}

fn is_in_loop(context: &Context<'_>, held: &Held) -> bool {
    let made_by = context.profile.value(held.value).instruction;
    let computation = context.module.instruction(made_by).computation;
    context.graph.repetition(computation) != Repetition::Once
}

/// How many elements a softmax has, and the size of the dimension it sums over.
type Softmax = (u64, u64);

/// All sums of exponentials over a dimension of a vocabulary.
fn softmaxes(context: &Context<'_>) -> FxHashSet<Softmax> {
    let module = context.module;
    let smallest = context.threshold(&META, "vocabulary");
    let sums = module.ids().filter(|&id| module.opcode(id) == Opcode::Reduce);
    sums.filter_map(|id| {
        let operand = *module.operands(id).first()?;
        let array = module.shape(operand).array()?;
        let size = array.dimensions.get(summed(module, id)?)?.size;
        (size as f64 >= smallest && is_exponential(module, operand))
            .then_some((array.elements()?, size))
    })
    .collect()
}

/// Whether an instruction is an exponential, in whatever type or order of dimensions.
fn is_exponential(module: &Module<'_>, id: InstructionId) -> bool {
    const STEPS: usize = 8;
    let mut at = Some(id);
    for _ in 0..STEPS {
        let Some(id) = at else { return false };
        at = match module.opcode(id) {
            Opcode::Exponential => return true,
            Opcode::Convert | Opcode::Bitcast | Opcode::Copy | Opcode::Reshape => {
                module.operands(id).first().copied()
            }
            _ => return false,
        };
    }
    false
}

/// The one dimension that a reduce sums over.
fn summed(module: &Module<'_>, id: InstructionId) -> Option<usize> {
    let text = module.attribute(id, AttributeName::Dimensions)?;
    text.trim_matches(['{', '}']).trim().parse().ok()
}

/// The vocabulary of a buffer of logits.
fn vocabulary(context: &Context<'_>, held: &Held, softmaxes: &FxHashSet<Softmax>) -> Option<u64> {
    let array = held.array(context)?;
    let elements = array.elements()?;
    let mut sizes = array.dimensions.iter().map(|dimension| dimension.size);
    let size = sizes.find(|&size| softmaxes.contains(&(elements, size)))?;
    if array.dimensions.len() < 2 || !array.element_type.is_floating() {
        return None;
    }
    let values = context.profile.buffer(held.buffer).values.iter();
    let mut values = values.map(|&id| context.profile.value(id));
    let is_logits = values.any(|value| {
        let wanted = |id| is_head(context, size, id);
        upstream(context, value.instruction, value.index.clone(), wanted).is_some()
    });
    is_logits.then_some(size)
}

/// Whether an instruction multiplies activations with a matrix `[width, vocabulary]`.
fn is_head(context: &Context<'_>, vocabulary: u64, id: InstructionId) -> bool {
    let module = context.module;
    if !matches!(module.opcode(id), Opcode::Dot | Opcode::Convolution) {
        return false;
    }
    let has = |array: &ArrayShape| array.dimensions.iter().any(|d| d.size == vocabulary);
    let arrays: Vec<&ArrayShape> =
        module.operands(id).iter().filter_map(|&id| module.shape(id).array()).collect();
    let &[one, other] = arrays.as_slice() else { return false };
    let (activations, matrix) = match (has(one), has(other)) {
        (false, true) => (one, other),
        (true, false) => (other, one),
        _ => return false,
    };
    let result = module.shape(id).array().and_then(ArrayShape::elements).unwrap_or(0);
    let (Some(from), Some(weights)) = (activations.elements(), matrix.elements()) else {
        return false;
    };
    // Every row of activations becomes a row of logits: rows times width, rows times vocabulary.
    let (rows, width) = (result / vocabulary.max(1), weights / vocabulary.max(1));
    let growth = context.threshold(&META, "growth");
    rows.checked_mul(width) == Some(from) && vocabulary as f64 > width as f64 * growth
}

/// A finding about logits of one vocabulary; `all` are its logits of any type.
fn report(context: &Context<'_>, group: &Together, all: &[(u64, Held)]) -> Option<Finding> {
    let first = group.first()?;
    let elements = first.array(context)?.elements();
    let mut finding = finding_about(context, &META, group)?;
    finding.message = format!(
        "{}{} of logits {} {}",
        group.times(),
        context.shape_text(first.shape),
        group.verb("takes", "take"),
        bytes(group.size_bytes()),
    );
    let same = |held: &&Held| held.array(context).and_then(ArrayShape::elements) == elements;
    let edits: Vec<Edit> = all
        .iter()
        .map(|(_, held)| held)
        .filter(same)
        .map(|held| Edit::Shrink { buffer: held.buffer, bytes: held.size_bytes / PARTS })
        .collect();
    let module = context.module;
    let trains = module.ids().any(|id| module.metadata(id).is_some_and(|m| is_backward(m.op_name)));
    let each = if trains { ", each under jax.checkpoint" } else { "" };
    let action = format!("lax.map of the loss over {PARTS} parts of tokens{each}");
    let priced = context.priced(action.clone(), edits, false);
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}
