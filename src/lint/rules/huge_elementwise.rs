//! `huge-elementwise`.

use crate::config::bytes;
use crate::graph::ComputationKind;
use crate::hlo::{ArrayShape, InstructionId, Opcode};
use crate::lint::{
    Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold,
};
use crate::memory::Exactness;
use crate::target::natural_bytes;

/// See [`META`].
pub struct HugeElementwise;

/// The declaration.
pub static META: Meta = Meta {
    name: "huge-elementwise",
    summary: "a value that only fits if the compiler fuses it away",
    documentation: "\
What it does: in a text from before optimisation, where that is all there is of a program, finds broadcasts
to more than a quarter of the chip's HBM (4 GiB where the chip is not known), divided by the number of
devices: what is computed from them element by element is as large.
Why it costs memory: such a value costs nothing as long as it is fused with what makes and reads it. When
the compiler splits the fusion, for two users or a larger kernel, all of it is written to memory; programs
that compiled have stopped to with a new release for that.
Example: the differences of 32768 points with each other, f32[32768,32768,16], are 64 GiB; XLA:TPU fuses them.
Remedy: compute it in blocks (lax.map over rows), or in a form without it: |a-b|² as |a|² + |b|² - 2ab.
References: E1000, scenario 2 (one unexpectedly large allocation).",
    level: Level::Note,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[Threshold {
        name: "share",
        default: 0.25,
        documentation: "the share of the chip's HBM above which a value is huge",
    }],
    reference: Reference {
        code: "E1000",
        section: "scenario 2, one unexpectedly large allocation",
    },
};

/// What stands for a share of the chip where the chip is not known.
const HUGE_BYTES: u64 = 4 << 30;

impl Rule for HugeElementwise {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        if context.profile.exactness != Exactness::LowerBound {
            return;
        }
        let share = context.threshold(&META, "share");
        let capacity = context.capacity.capacity_bytes;
        let limit_bytes = capacity.map_or(HUGE_BYTES, |capacity| (capacity as f64 * share) as u64);
        let mut huge: Vec<(u64, InstructionId)> = context
            .module
            .ids()
            .filter(|&id| is_fusible(context, id))
            .filter_map(|id| Some((device_bytes(context, id)?, id)))
            .filter(|(size, _)| *size > limit_bytes)
            .collect();
        huge.sort_by_key(|&(size, id)| (std::cmp::Reverse(size), id));
        let Some(&(size, largest)) = huge.first() else { return };
        let mut finding = context.finding(&META, Some(largest));
        let shape = context.shape_text(context.module.instruction(largest).shape);
        let each = if context.mesh.devices > 1 { " on each device" } else { "" };
        finding.message = format!("{shape} of {}{each} fits only if it is fused away", bytes(size));
        finding.confidence = Confidence::Heuristic;
        finding.bytes = size;
        finding.source = context.source_near(largest);
        if let more @ 1.. = huge.len() - 1 {
            let smallest = huge.last().map_or(0, |(size, _)| *size);
            finding.details.push(format!("and {more} more of {} or more", bytes(smallest)));
        }
        finding.remedies = vec![Remedy::new(
            "compute it in blocks, e.g. lax.map over parts of its first dimension",
        )];
        context.push(findings, &META, finding);
    }
}

/// Whether an instruction of a text before fusion makes a value from a smaller one that need not exist.
fn is_fusible(context: &Context<'_>, id: InstructionId) -> bool {
    let module = context.module;
    let kind = context.graph.kind(module.instruction(id).computation);
    let operand = module.operands(id).first().and_then(|&id| module.shape(id).array());
    // A constant filled into a shape exists nowhere.
    let is_filled = operand.is_some_and(|operand| operand.dimensions.is_empty());
    module.opcode(id) == Opcode::Broadcast && !is_filled && kind == ComputationKind::Control
}

/// The bytes of a value on one device, evenly split.
fn device_bytes(context: &Context<'_>, id: InstructionId) -> Option<u64> {
    let array: &ArrayShape = context.module.shape(id).array()?;
    let whole = natural_bytes(array)?;
    Some(whole / context.mesh.devices.max(1))
}
