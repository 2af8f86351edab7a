//! `donation-size-mismatch`.

use crate::config::bytes;
use crate::hlo::{ArrayShape, ShapeId};
use crate::lint::ends::{Output, aliased_parameters, outputs};
use crate::lint::{Argument, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};
use crate::memory::{Edit, ValueId};
use std::cmp::Reverse;

/// See [`META`].
pub struct DonationSizeMismatch;

/// The declaration.
pub static META: Meta = Meta {
    name: "donation-size-mismatch",
    summary: "a donated argument is of no use to any result",
    documentation: "\
What it does: finds donated arguments that no result could take, because none has the same type,
shape and sharding (buffer_donor in the header), and names the result that differs least.
Why it costs memory: the donated array stays until the program ends, beside the result that should
have replaced it.
Example: weights in bf16 and an update that is promoted to f32 by an f32 factor; weights quantised
to s8 in one jitted function; a new state that comes back with another sharding.
Remedy: return the array in the argument's type, shape and sharding (astype, out_shardings). Where
the type must change, as in a quantisation, convert array by array in calls of their own, so that
only one of them stands in HBM twice.
References: E1000, 3.A (donate inputs).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "3.A, donate inputs" },
};

/// How many programs are asked for: each runs the memory analysis again.
const QUESTIONS: usize = 8;

impl Rule for DonationSizeMismatch {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let mut unused = unused_donors(context);
        unused.sort_by_key(|donor| (Reverse(donor.size_bytes), donor.argument.number));
        let aliases = &context.module.header.input_output_alias;
        let mut free: Vec<Output> = outputs(context)
            .into_iter()
            .filter(|output| !aliases.iter().any(|alias| alias.output == output.index))
            .collect();
        for (at, donor) in unused.iter().enumerate() {
            let nearest = nearest(context, donor, &mut free);
            let finding = report(context, donor, nearest.as_ref(), at < QUESTIONS);
            context.push(findings, &META, finding);
        }
    }
}

/// A donated argument that no result took.
struct Donor<'c> {
    argument: &'c Argument,
    value: ValueId,
    size_bytes: u64,
}

fn unused_donors<'c>(context: &'c Context<'_>) -> Vec<Donor<'c>> {
    let taken = aliased_parameters(context);
    let donors = context.module.header.buffer_donor.iter().filter(|donor| donor.index.is_empty());
    donors
        .filter(|donor| !taken.contains(&donor.parameter))
        .filter_map(|donor| {
            let argument = context.arguments.iter().find(|a| a.number == donor.parameter)?;
            let value = context.value_at(argument.instruction)?;
            let size_bytes = context.profile.value(value).size_bytes;
            let is_large = size_bytes >= context.min_bytes(&META);
            is_large.then_some(Donor { argument, value, size_bytes })
        })
        .collect()
}

/// What keeps a result from taking an argument's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// As many elements, of another type.
    Type,
    /// The whole arrays are alike, the parts on a device are not.
    Sharding,
    /// As many elements in other dimensions.
    Shape,
    /// Alike in the text: only the layouts differ, or what the caller asked for.
    Layout,
}

impl Difference {
    /// What differs, and what to do.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Difference::Type => ("another type", "return it in the argument's type: x.astype(...)"),
            Difference::Sharding => (
                "sharded otherwise, on each device",
                "give both the same sharding, in in_shardings or out_shardings",
            ),
            Difference::Shape => ("another shape", "return it in the argument's shape"),
            Difference::Layout => (
                "laid out otherwise, or in other memory",
                "give both the same layout and memory kind",
            ),
        }
    }
}

struct Nearest {
    output: Output,
    difference: Difference,
}

/// The result that differs least from a donated argument; it is no candidate for the next one.
fn nearest(context: &Context<'_>, donor: &Donor<'_>, free: &mut Vec<Output>) -> Option<Nearest> {
    let module = context.module;
    let argument = module.shape(donor.argument.instruction).array()?;
    let (at, difference) = free
        .iter()
        .enumerate()
        .filter_map(|(at, output)| {
            let output_array = module.shapes.get(output.shape).array()?;
            let of = difference(context, donor.argument, argument, output, output_array)?;
            Some((at, of))
        })
        .min_by_key(|&(at, difference)| (Reverse(difference), at))?;
    Some(Nearest { output: free.remove(at), difference })
}

fn difference(
    context: &Context<'_>,
    argument: &Argument,
    array: &ArrayShape,
    output: &Output,
    output_array: &ArrayShape,
) -> Option<Difference> {
    let is_same_type = array.element_type == output_array.element_type;
    let is_same_size = array.elements() == output_array.elements();
    if is_same_type && array.dimensions == output_array.dimensions {
        Some(Difference::Layout)
    } else if is_same_type && is_same_size {
        Some(Difference::Shape)
    } else if is_same_type && is_same_whole(context, argument, output) {
        Some(Difference::Sharding)
    } else if array.dimensions == output_array.dimensions {
        Some(Difference::Type)
    } else {
        None
    }
}

/// Whether argument and result were alike before the program was spread over devices.
fn is_same_whole(context: &Context<'_>, argument: &Argument, output: &Output) -> bool {
    let Some(before) = context.before else { return false };
    let parameter = usize::try_from(argument.number)
        .ok()
        .and_then(|number| context.before_parameters.get(number))
        .and_then(|&id| before.shape(id).array());
    let result = before
        .subshape(before.entry().root, &output.index)
        .and_then(|shape| before.shapes.get(shape).array());
    match (parameter, result) {
        (Some(parameter), Some(result)) => {
            context.module.header.num_partitions > 1
                && parameter.element_type == result.element_type
                && parameter.dimensions == result.dimensions
        }
        _ => false,
    }
}

fn report(
    context: &Context<'_>,
    donor: &Donor<'_>,
    nearest: Option<&Nearest>,
    may_ask: bool,
) -> Finding {
    let shape_of = |shape: ShapeId| context.shape_text(shape);
    let argument = shape_of(context.module.instruction(donor.argument.instruction).shape);
    let mut finding = context.finding(&META, Some(donor.argument.instruction));
    finding.bytes = donor.size_bytes;
    finding.buffers = vec![context.profile.value(donor.value).buffer];
    finding.shape = Some(argument.clone());
    finding.message =
        format!("donated {}, {}, fits no result", donor.argument.path, bytes(donor.size_bytes));
    let Some(nearest) = nearest else {
        finding.details.push(format!("no result has the type and size of {argument}"));
        finding.remedies =
            vec![Remedy::new("do not count on it: the donated array stays until the program ends")];
        return finding;
    };
    let output = shape_of(nearest.output.shape);
    let (why, action) = nearest.difference.words();
    finding.details.push(format!("it is {argument}, the result {output}: {why}"));
    let or = (nearest.difference == Difference::Type)
        .then(|| Remedy::new("convert array by array, in calls of their own"));
    if let Some(value) = nearest.output.value {
        let value = context.profile.value(value);
        let (_, source) = context.origin(value);
        finding.source = source;
        finding.buffers.push(value.buffer);
        // In the argument's own type, shape and sharding it would have the argument's memory.
        let edits = vec![Edit::Remove(value.buffer)];
        let priced = may_ask.then(|| context.priced(action, edits, false)).flatten();
        finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    } else {
        finding.remedies = vec![Remedy::new(action)];
    }
    finding.remedies.extend(or);
    finding
}
