//! `rng-bits`.

use crate::config::bytes;
use crate::hlo::{ElementType, InstructionId, Opcode};
use crate::lint::held::{Held, Together, at_peak, finding_about, held};
use crate::lint::producer::upstream;
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};
use crate::memory::Edit;

/// See [`META`].
pub struct RngBits;

/// The declaration.
pub static META: Meta = Meta {
    name: "rng-bits",
    summary: "random bits are written to HBM before they become what they are for",
    documentation: "\
What it does: finds unsigned integers in HBM that come, element by element, from rng-bit-generator, from the
generator of jax.random, or from rotations of bits as such generators are made of. Bytes are as narrow as it
gets, and are reported only where the program hardly fits.
Why it costs memory: a dropout mask needs one bit an element, and the generator writes 32. The generator of
the chip (rbg, unsafe_rbg) cannot be fused: all bits exist at once.
Example: dropout of bf16[16384,8192] with an rbg key holds u32[16384,8192] of 512 MiB, twice the activation.
Remedy: bits of the width that the decision needs: jax.random.bits(key, shape, jnp.uint8) < 230 keeps 0.9
(measured: as claimed to the MiB). The default generator (threefry) is fused into its user and holds none,
at the price of compute.
References: E1000, scenario 3.A (narrower types).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "3.A, configuration" },
};

impl Rule for RngBits {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let bits = held(context, context.min_bytes(&META))
            .filter(|held| is_random(context, held))
            .map(|held| (held.shape, held));
        for group in at_peak(context, &META, bits, Together::size_bytes) {
            if let Some(finding) = report(context, &group) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// Bits of an element of an array of unsigned integers.
fn width(context: &Context<'_>, held: &Held) -> Option<u64> {
    use ElementType::{U8, U16, U32, U64};
    let element_type = held.array(context)?.element_type;
    matches!(element_type, U8 | U16 | U32 | U64).then(|| element_type.bits())
}

fn is_random(context: &Context<'_>, held: &Held) -> bool {
    if width(context, held).is_none() {
        return false;
    }
    // As narrow as bits get: worth a word only where the program hardly fits.
    if width(context, held) == Some(8) && !context.is_near_capacity() {
        return false;
    }
    let value = context.profile.value(held.value);
    let generates = |id: InstructionId| {
        matches!(context.module.opcode(id), Opcode::RngBitGenerator | Opcode::Rng)
            || is_rotation(context, id)
            || context.module.metadata(id).is_some_and(|metadata| {
                ["random_bits", "threefry2x32", "rng_"]
                    .iter()
                    .any(|name| metadata.op_name.contains(name))
            })
    };
    upstream(context, value.instruction, value.index.clone(), generates).is_some()
}

/// Whether an instruction rotates bits, as counter-based generators do.
fn is_rotation(context: &Context<'_>, id: InstructionId) -> bool {
    let module = context.module;
    let has = |wanted| module.operands(id).iter().any(|&id| module.opcode(id) == wanted);
    module.opcode(id) == Opcode::Or && has(Opcode::ShiftLeft) && has(Opcode::ShiftRightLogical)
}

fn report(context: &Context<'_>, group: &Together) -> Option<Finding> {
    let first = group.first()?;
    let width = width(context, first)?;
    let mut finding = finding_about(context, &META, group)?;
    finding.message = format!(
        "{}{} of random bits {} {}",
        group.times(),
        context.shape_text(first.shape),
        group.verb("takes", "take"),
        bytes(group.size_bytes()),
    );
    let shrunk = |left: fn(u64, u64) -> u64| -> Vec<Edit> {
        let edit =
            |held: &Held| Edit::Shrink { buffer: held.buffer, bytes: left(held.size_bytes, width) };
        group.members.iter().map(edit).collect()
    };
    let mut offer = |action: &str, edits: Vec<Edit>| {
        let priced = context.priced(action, edits, false);
        finding.remedies.push(priced.unwrap_or_else(|| Remedy::new(action)));
    };
    if width > 8 {
        let narrow = "8 bits an element: jax.random.bits(key, shape, 'uint8') for a mask";
        offer(narrow, shrunk(|size, width| size / width.max(1) * 8));
    }
    offer("a threefry key, whose bits are fused into their user", shrunk(|_, _| 0));
    Some(finding)
}
