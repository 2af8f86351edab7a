//! `materialized-one-hot`.

use crate::config::bytes;
use crate::hlo::{AttributeName, InstructionId, Opcode, ShapeIndex};
use crate::lint::held::{Held, Together, at_peak, finding_about, held};
use crate::lint::producer::upstream;
use crate::lint::{Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};
use crate::memory::Edit;

/// See [`META`].
pub struct MaterializedOneHot;

/// The declaration.
pub static META: Meta = Meta {
    name: "materialized-one-hot",
    summary: "a one-hot encoding, or the iota it is compared with, lies in HBM",
    documentation: "\
What it does: finds arrays in HBM that come from jax.nn.one_hot, from a comparison for equality with an
iota, or that are an iota of two or more dimensions. XLA fuses most of them away; those are not reported.
Why it costs memory: n indices become n times the number of classes, in the type of the encoding, and few
classes along the lanes are padded to 128 on top.
Example: s32[29360128,10] of class numbers for a loss over all pixels, 1.09 GiB that took 14 GiB; labels
encoded before a loop over parts of the batch, f32[16,1024,32768] of 2 GiB.
Remedy: keep the indices and encode where the encoding is used, in the loop, so that it is fused; or do
without it: take, take_along_axis, segment_sum. The claim is the encoding alone (measured: as claimed).
References: E1000, scenario 2 (one unexpectedly large allocation) and 3.C.",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference {
        code: "E1000",
        section: "scenario 2, one unexpectedly large allocation",
    },
};

impl Rule for MaterializedOneHot {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let encodings = held(context, context.min_bytes(&META))
            .filter(|held| is_one_hot(context, held))
            .map(|held| (held.shape, held));
        for group in at_peak(context, &META, encodings, Together::size_bytes) {
            if let Some(finding) = report(context, &group) {
                context.push(findings, &META, finding);
            }
        }
    }
}

fn is_one_hot(context: &Context<'_>, held: &Held) -> bool {
    let rank = held.array(context).map_or(0, |array| array.dimensions.len());
    let value = context.profile.value(held.value);
    let (origin, _) = context.origin(value);
    rank > 1
        && (context.module.opcode(value.instruction) == Opcode::Iota
            || is_named(context, origin) && is_encoding(context.module.opcode(origin))
            || compares_with_iota(context, origin))
}

fn is_encoding(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Compare | Opcode::Convert | Opcode::Select)
}

/// Whether the user wrote an instruction as a one-hot encoding or a comparison for equality. XLA makes
/// the same of a scatter, which is written with indices already.
fn is_named(context: &Context<'_>, id: InstructionId) -> bool {
    let op_name = context.module.metadata(id).map_or("", |metadata| metadata.op_name);
    op_name.contains("one_hot") || op_name.ends_with("/eq")
}

/// Whether an instruction is a comparison for equality with an iota, or a conversion of one.
fn compares_with_iota(context: &Context<'_>, id: InstructionId) -> bool {
    let module = context.module;
    let compared = match module.opcode(id) {
        Opcode::Convert | Opcode::Select => module.operands(id).first().copied(),
        Opcode::Compare => Some(id),
        _ => None,
    };
    let Some(compared) = compared.filter(|&id| module.opcode(id) == Opcode::Compare) else {
        return false;
    };
    let is_equality = module.attribute(compared, AttributeName::Direction) == Some("EQ")
        && is_named(context, compared);
    let iotas = module.operands(compared).iter().filter(|&&id| is_iota(context, id)).count();
    is_equality && iotas == 1
}

/// Whether an instruction is an iota, or one broadcast to more dimensions.
fn is_iota(context: &Context<'_>, id: InstructionId) -> bool {
    let module = context.module;
    let found = upstream(context, id, ShapeIndex::new(), |id| {
        matches!(module.opcode(id), Opcode::Iota | Opcode::Broadcast)
    });
    match found.map(|id| (module.opcode(id), module.operands(id))) {
        Some((Opcode::Iota, _)) => true,
        Some((_, &[operand])) => module.opcode(operand) == Opcode::Iota,
        _ => false,
    }
}

fn report(context: &Context<'_>, group: &Together) -> Option<Finding> {
    let first = group.first()?;
    let mut finding = finding_about(context, &META, group)?;
    let made_by = context.profile.value(first.value).instruction;
    let is_iota = context.module.opcode(made_by) == Opcode::Iota;
    finding.confidence = Confidence::Heuristic;
    finding.message = format!(
        "{}{} {} {} {}",
        group.times(),
        context.shape_text(first.shape),
        if is_iota { "iota" } else { "one-hot" },
        group.verb("takes", "take"),
        bytes(group.size_bytes()),
    );
    let edits = group.members.iter().map(|held| Edit::Remove(held.buffer)).collect();
    let action = "keep the indices: encode where it is used, or take_along_axis";
    let priced = context.priced(action, edits, false);
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}
