//! `layout-copy-pads`.

use crate::config::bytes;
use crate::hlo::{InstructionId, Opcode};
use crate::lint::held::{Held, Together, at_peak, held};
use crate::lint::padding::{layout_text, packed_text, pads_text};
use crate::lint::rest::push_most;
use crate::lint::rules::tile_padding::kernel_at;
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};
use crate::memory::{Edit, Exactness};
use crate::target::Backend;

/// See [`META`].
pub struct LayoutCopyPads;

/// The declaration.
pub static META: Meta = Meta {
    name: "layout-copy-pads",
    summary: "a copy into another layout is far larger than what it copies",
    documentation: "\
What it does: finds copies and transposes in HBM whose result, by the tiles of its layout, takes far more
than the array they copy: the same data, moved so that a small dimension becomes the minor one.
Why it costs memory: the copy exists beside the original, and it alone is padded.
Example: a loop over the layers of a decoder reads its key/value cache bf16[4,8,2048,16,64] with the 64 on
the lanes: both caches are copied, 128 MiB each, into 256 MiB each, and back at the end.
Remedy: give the data a shape that fits the lanes however it is read: two heads of 64 side by side as one
of 128, or heads of 128. The claim is the copy at the size of what it copies. Measured on the pair, of
3.00 GiB: 2.00 with packed heads, as claimed; 1.00 with heads of 128, where the copies go away altogether;
2.25 with all heads merged into one dimension of 1024, as layers are then sliced out. A copy that a Pallas
kernel takes is a note: a kernel's operands have one layout.
References: E1000, scenario 3.C (padding and alignment).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[Threshold {
        name: "factor",
        default: 1.5,
        documentation: "how many times the size of what is copied a copy must take",
    }],
    reference: Reference { code: "E1000", section: "3.C, padding and alignment" },
};

/// How many pairs of layouts are reported one by one: each is priced by a run of the model.
const MOST: usize = 4;

impl Rule for LayoutCopyPads {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        if context.policy.backend != Backend::Tpu {
            return;
        }
        let copies = held(context, context.min_bytes(&META)).filter_map(|held| {
            let from = relayout(context, &held)?;
            Some(((context.module.instruction(from).shape, held.shape), held))
        });
        let groups = at_peak(context, &META, copies, Together::wasted_bytes);
        push_most(context, &META, findings, (MOST, "padded copies"), &groups, |group| {
            report(context, group)
        });
    }
}

/// What a buffer is a copy of, where the copy into its layout is what makes it larger.
pub(super) fn relayout(context: &Context<'_>, held: &Held) -> Option<InstructionId> {
    let factor = context.threshold(&META, "factor");
    let buffer = context.profile.buffer(held.buffer);
    let is_larger = |from: &InstructionId| {
        let Some(array) = context.module.shape(*from).array() else { return false };
        let elements = held.array(context).and_then(|array| array.elements());
        let from_bytes = context.policy.array_bytes(array).unwrap_or(u64::MAX);
        array.elements() == elements
            && held.size_bytes as f64 >= from_bytes as f64 * factor
            && held.size_bytes.saturating_sub(from_bytes) >= context.min_bytes(&META)
    };
    let defined = buffer.values.iter().map(|&id| context.profile.value(id));
    let whole = defined.filter(|value| value.size_bytes == held.size_bytes);
    whole.filter_map(|value| copied(context, value.instruction)).find(is_larger)
}

/// What an instruction copies or transposes, if it does nothing else.
fn copied(context: &Context<'_>, id: InstructionId) -> Option<InstructionId> {
    const STEPS: usize = 8;
    let module = context.module;
    // XLA's own: kept small while it waits, and unpacked again.
    if module.instruction(id).name.contains(".remat_") {
        return None;
    }
    let (mut at, mut moves) = (id, false);
    for _ in 0..STEPS {
        let operand = module.operands(at).first().copied();
        match module.opcode(at) {
            Opcode::Copy | Opcode::Transpose | Opcode::CopyDone | Opcode::CopyStart => moves = true,
            Opcode::Bitcast | Opcode::Reshape if at != id => {}
            Opcode::Fusion if at == id => {
                let (_, body) = module.calls(at).next()?;
                at = module.computation(body).root;
                continue;
            }
            Opcode::Parameter if at != id && moves => {
                let number = usize::try_from(module.parameter_number(at)?).ok()?;
                let inside =
                    module.instruction(at).computation != module.instruction(id).computation;
                let operand = module.operands(id).get(number).copied();
                return if inside { operand } else { Some(at) };
            }
            _ => return moves.then_some(at).filter(|_| same_computation(context, at, id)),
        }
        at = operand?;
    }
    None
}

fn same_computation(context: &Context<'_>, one: InstructionId, other: InstructionId) -> bool {
    let computation = |id| context.module.instruction(id).computation;
    computation(one) == computation(other)
}

fn report(context: &Context<'_>, group: &Together) -> Option<Finding> {
    let first = group.first()?;
    let from = relayout(context, first)?;
    let (to_array, from_array) = (first.array(context)?, context.module.shape(from).array()?);
    let from_bytes = context.policy.array_bytes(from_array)?;
    let count = group.members.len() as u64;
    let value = context.profile.value(first.value);
    let (origin, source) = context.origin(value);
    let mut finding = context.finding(&META, Some(value.instruction));
    finding.source = context.source(value.instruction).or(source).or(context.source_near(origin));
    finding.message = format!(
        "{}{} of {} copied into a layout of {}",
        group.times(),
        context.shape_text(first.shape),
        bytes(from_bytes.saturating_mul(count)),
        bytes(group.size_bytes()),
    );
    finding.details.push(pads_text(to_array));
    finding.bytes = group.size_bytes().saturating_sub(from_bytes.saturating_mul(count));
    finding.buffers = group.buffers();
    finding.details.push(format!("from {} to {}", layout_text(from_array), layout_text(to_array)));
    if let Some(kernel) = group.members.iter().find_map(|held| kernel_at(context, held)) {
        let name = context.module.instruction(kernel).name;
        finding.details.push(format!("the kernel {name} takes it in this layout"));
        finding.level = Level::Note;
    }
    let edits: Vec<Edit> = group
        .members
        .iter()
        .map(|held| Edit::Shrink { buffer: held.buffer, bytes: from_bytes })
        .collect();
    let action = match packed_text(to_array) {
        Some(text) => format!("pack its last dimensions: {text}"),
        None => "give it the shape in which it is read, with a large dimension last".to_owned(),
    };
    let is_scheduled = context.profile.exactness != Exactness::LowerBound;
    let remedy = context.priced(action.clone(), edits, false);
    finding.remedies = vec![remedy.or_else(|| (!is_scheduled).then(|| Remedy::new(action)))?];
    Some(finding)
}
