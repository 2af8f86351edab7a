//! `weight-convert`.

use crate::config::{bytes, total_bytes};
use crate::hlo::{ArrayShape, ElementType, InstructionId, Opcode};
use crate::lint::ends::aliased_parameters;
use crate::lint::readers::{is_narrow, is_narrowing, readers};
use crate::lint::upstream::argument_upstream;
use crate::lint::{
    Argument, Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Source,
};
use crate::memory::{AllocationKind, Edit, Value, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// See [`META`].
pub struct WeightConvert;

/// The declaration.
pub static META: Meta = Meta {
    name: "weight-convert",
    summary: "f32 arguments stand in HBM a second time, converted to bf16",
    documentation: "\
What it does: finds whole arguments that are converted to a narrower float and alive at the peak
in both types.
Why it costs memory: an f32 weight takes 4 bytes an element and its bf16 copy 2 more, for all
layers at once where they are stacked for a scan. Casting inside the scan's body does not help:
XLA moves the conversion out of the loop again, even from behind an optimisation barrier.
Example: 16 layers of f32[4096,4096] run in bf16: 1 GiB of weights and 512 MiB of copies.
Remedy: keep the weights in bf16. It is free where the program itself converts them and nothing
else reads the f32 values, as in inference (a warning where it is material); a training step that
updates f32 weights loses precision by it, so there it is a trade, warned of only where memory is
short. What an optimizer or gradients then need is not counted: the saving is an estimate there.
References: E1000, 3.A (bf16 for large tensors).",
    level: Level::Warn,
    kind: Kind::Trade,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "3.A, bf16 for large tensors" },
};

impl Rule for WeightConvert {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let all = copies(context);
        for price in [Price::None, Price::Rounded, Price::Precision] {
            let mut copies: Vec<&Copied<'_>> = all.iter().filter(|c| c.price == price).collect();
            copies.sort_by_key(|copied| (Reverse(copied.size_bytes), copied.value));
            if let Some(finding) = report(context, &copies) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// A narrower copy of a whole argument.
struct Copied<'c> {
    argument: &'c Argument,
    value: ValueId,
    size_bytes: u64,
    /// What it would cost to have the argument in the copy's type.
    price: Price,
}

/// What it costs to have an argument in a narrower type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Price {
    /// The program converts it before it does anything else with it.
    None,
    /// The compiler does, as products of default precision round what they read; what the program
    /// computes from it would become narrower, too.
    Rounded,
    /// Something reads it in f32.
    Precision,
}

fn copies<'c>(context: &'c Context<'_>) -> Vec<Copied<'c>> {
    let wide: FxHashMap<InstructionId, &Argument> = context
        .arguments
        .iter()
        .filter(|argument| {
            array(context, argument.instruction)
                .is_some_and(|array| array.element_type == ElementType::F32)
        })
        .map(|argument| (argument.instruction, argument))
        .collect();
    if wide.is_empty() {
        return Vec::new();
    }
    let mut seen = FxHashSet::default();
    let values = context.profile.values.iter().enumerate();
    values
        .filter(|(_, value)| may_be_copy(context, value))
        .filter(|(_, value)| seen.insert(value.buffer))
        .filter_map(|(at, value)| {
            let argument = *wide.get(&argument_upstream(context, value)?)?;
            let whole = array(context, argument.instruction)?.elements()?;
            let copied = context.module.shapes.get(value.shape).array()?.elements()?;
            (whole == copied).then(|| Copied {
                argument,
                value: ValueId(at as u32),
                size_bytes: value.size_bytes,
                price: price(context, argument, value),
            })
        })
        .collect()
}

fn array<'c>(context: &'c Context<'_>, id: InstructionId) -> Option<&'c ArrayShape> {
    context.module.shape(id).array()
}

/// Whether a value could be one: a large temporary of a narrow float, alive at the peak.
fn may_be_copy(context: &Context<'_>, value: &Value) -> bool {
    let is_temporary = || {
        value.place.is_some_and(|place| {
            let allocation = context.profile.allocation(place.allocation);
            allocation.kind == AllocationKind::Temporary && !allocation.maybe_live_out
        })
    };
    let shape = context.module.shapes.get(value.shape).array();
    value.memory_space == 0
        && !value.is_phi
        && value.size_bytes >= context.min_bytes(&META)
        && shape.is_some_and(|array| is_narrow(array.element_type))
        && is_temporary()
        && context.is_alive_at_peak(value)
}

fn price(context: &Context<'_>, argument: &Argument, copy: &Value) -> Price {
    let is_only_converted = readers(context, argument.instruction)
        .is_some_and(|readers| readers.iter().all(|&reader| is_narrowing(context, reader)));
    let to = context.module.shapes.get(copy.shape).array().map(|array| array.element_type);
    match to {
        Some(to) if is_only_converted => {
            if is_converted_before(context, argument, to) {
                Price::None
            } else {
                Price::Rounded
            }
        }
        _ => Price::Precision,
    }
}

/// Whether the program as it was handed in converts an array of an argument's size, whole or a slice
/// of its first dimension at a time.
fn is_converted_before(context: &Context<'_>, argument: &Argument, to: ElementType) -> bool {
    let Some(before) = context.before else { return false };
    let parameter = usize::try_from(argument.number)
        .ok()
        .and_then(|number| context.before_parameters.get(number))
        .and_then(|&id| before.shape(id).array());
    let Some((parameter, whole)) = parameter.and_then(|array| Some((array, array.elements()?)))
    else {
        return false;
    };
    let slices = parameter.dimensions.first().map_or(1, |dimension| dimension.size.max(1));
    before.ids().filter(|&id| before.opcode(id) == Opcode::Convert).any(|id| {
        let from = before.operands(id).first().and_then(|&from| before.shape(from).array());
        let result = before.shape(id).array();
        from.zip(result).is_some_and(|(from, result)| {
            from.element_type == ElementType::F32
                && result.element_type == to
                && result.elements().is_some_and(|part| part == whole || part == whole / slices)
        })
    })
}

fn report(context: &Context<'_>, copies: &[&Copied<'_>]) -> Option<Finding> {
    let largest = copies.first()?;
    let value = context.profile.value(largest.value);
    let (origin, source) = context.origin(value);
    let total = total_bytes(copies.iter().map(|copied| copied.size_bytes));
    let arguments: FxHashSet<i64> = copies.iter().map(|copied| copied.argument.number).collect();
    let to = context.module.shapes.get(value.shape).array()?.element_type;
    let mut finding = context.finding(&META, Some(origin));
    finding.instruction = Some(context.module.instruction(value.instruction).name.to_owned());
    let scan = loop_source(context, value.instruction);
    finding.source =
        source.or_else(|| scan.clone()).or_else(|| context.source_near(value.instruction));
    finding.shape = Some(context.shape_text(value.shape));
    finding.message = match arguments.len() {
        1 => format!("{to} copy of {}, {}, all at once", largest.argument.path, bytes(total)),
        count => format!("{to} copies of {count} f32 arguments, {}, all at once", bytes(total)),
    };
    finding.bytes = total;
    finding.buffers =
        copies.iter().map(|copied| context.profile.value(copied.value).buffer).collect();
    if scan.is_some() && largest.price != Price::Rounded {
        finding
            .details
            .push("casting inside the scan does not help: XLA moves it out again".to_owned());
    }
    let is_updated = aliased_parameters(context).contains(&largest.argument.number);
    let action = match largest.price {
        Price::None => format!("give them in {to}: nothing reads the f32 values"),
        Price::Rounded => format!("give them in {to}: products of default precision round them so"),
        Price::Precision if is_updated => {
            format!("keep them in {to}: the update loses precision")
        }
        Price::Precision => format!("give them in {to}, if nothing needs the f32 values"),
    };
    if largest.price != Price::None {
        finding.confidence = Confidence::Estimate;
    }
    let priced = context.priced(action.clone(), edits(context, copies), false);
    finding.is_urgent =
        largest.price == Price::None && priced.is_some() && context.is_material(&META, total);
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}

/// The line of the loop that a value is handed to.
fn loop_source(context: &Context<'_>, id: InstructionId) -> Option<Source> {
    let users = |id| context.graph.users(id).map(|(user, _)| user);
    let opcode = |id| context.module.opcode(id);
    let loops = users(id)
        .filter(|&tuple| opcode(tuple) == Opcode::Tuple)
        .flat_map(users)
        .find(|&user| opcode(user) == Opcode::While)?;
    let source = context.source_near(loops)?;
    Some(Source { inferred: true, ..source })
}

/// The arguments in the copies' type, and no copies.
fn edits(context: &Context<'_>, copies: &[&Copied<'_>]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for copied in copies {
        let value = context.profile.value(copied.value);
        edits.push(Edit::Remove(value.buffer));
        if let Some(parameter) = context.value_at(copied.argument.instruction) {
            let buffer = context.profile.value(parameter).buffer;
            edits.push(Edit::Shrink { buffer, bytes: value.size_bytes });
        }
    }
    edits
}
