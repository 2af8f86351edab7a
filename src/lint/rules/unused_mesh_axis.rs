//! `unused-mesh-axis`.

use crate::config::{bytes, total_bytes};
use crate::hlo::{ArrayShape, InstructionId, Module};
use crate::lint::cause;
use crate::lint::context;
use crate::lint::sharding::{axes_by_dimension, nothing_is_split, split_bytes, used_axes};
use crate::lint::{
    Argument, Axis, Cause, Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule,
};
use crate::memory::{Edit, ValueId};
use rustc_hash::FxHashSet;

/// See [`META`].
pub struct UnusedMeshAxis;

/// The declaration.
pub static META: Meta = Meta {
    name: "unused-mesh-axis",
    summary: "no sharding of the program uses an axis of the mesh",
    documentation: "\
What it does: finds axes of the device mesh, with more than one device, that no sharding of an
argument, of a result or of a constraint splits anything over and that no shard_map takes.
Why it costs memory: devices along such an axis hold and compute the same values; memory is the
symptom, the compute is lost as well.
Example: a mesh \"data\"=8 x \"model\"=4 whose only sharding is P(\"data\") for the batch: each value is
computed four times.
Remedy: split the batch over both axes, P((\"data\", \"model\")), or name the axis in the shardings of
the weights. The figure shrinks the batch and the temporaries that have its dimension in front,
padding counted in, and nothing else: an upper bound.
References: E1000, scenario 2 (mesh shape, missing sharding annotations).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "scenario 2, replication: mesh shape" },
};

impl Rule for UnusedMeshAxis {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(before) = context.before.filter(|_| context.module.header.num_partitions > 1)
        else {
            return;
        };
        let used = used_axes(before);
        let (used, unused): (Vec<&Axis>, Vec<&Axis>) =
            context.axes().partition(|axis| used.contains(axis.name.as_str()));
        if !unused.is_empty() {
            context.push(findings, &META, finding(context, before, &used, &unused));
        }
    }
}

fn finding(
    context: &Context<'_>,
    before: &Module<'_>,
    used: &[&Axis],
    unused: &[&Axis],
) -> Finding {
    let ways = unused.iter().fold(1_u64, |all, axis| all.saturating_mul(axis.size));
    let splits = splits(context, before);
    let (edits, saved_bytes) = batch_edits(context, before, &splits, ways);
    let of_batch = batch(context, before, &splits).first().map(|(split, _)| *split);
    let split = of_batch.or(splits.iter().find(|split| split.dimension().is_some()));

    let mut finding = context.finding(&META, split.map(|split| split.argument.instruction));
    finding.confidence = Confidence::Heuristic;
    finding.message = format!(
        "no sharding uses {}: each group of {ways} devices computes the same values",
        quoted(unused, " or ")
    );
    finding.details = vec![split_arguments(before, &splits, split)];
    finding.bytes = match saved_bytes {
        0 => context.hbm().temporaries_live_bytes / ways * (ways - 1),
        saved => saved,
    };
    let batch = [used, unused].concat();
    finding.mistake = nothing_is_split(context);
    let action = match batch.as_slice() {
        [only] => format!("split the batch over {}", quoted(&[only], "")),
        all => format!("batch over ({})", quoted(all, ", ")),
    };
    let priced = context.priced(action.as_str(), edits, true);
    let after = priced.as_ref().and_then(|remedy| remedy.required_bytes_after);
    let available = context.capacity.available_bytes.filter(|_| context.exceeded_bytes() > 0);
    if let (Some(after), Some(available)) = (after, available)
        && after <= available
    {
        finding.details.push(format!("that fits with {} to spare", bytes(available - after)));
    }
    finding.help =
        format!("name {} in a sharding: of the batch or of the weights", quoted(unused, " and "));
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    finding
}

fn quoted(axes: &[&Axis], between: &str) -> String {
    let names: Vec<String> = axes.iter().map(|axis| format!("\"{}\"", axis.name)).collect();
    names.join(between)
}

/// How an argument is split.
struct Split<'c> {
    argument: &'c Argument,
    before: InstructionId,
    /// The axes of each dimension.
    axes: Vec<Vec<&'c str>>,
}

impl Split<'_> {
    /// The first dimension that is split.
    fn dimension(&self) -> Option<usize> {
        self.axes.iter().position(|axes| !axes.is_empty())
    }
}

fn splits<'c>(context: &'c Context<'_>, before: &'c Module<'_>) -> Vec<Split<'c>> {
    let pairs = context.arguments.iter().zip(&context.before_parameters);
    pairs
        .map(|(argument, &id)| Split {
            argument,
            before: id,
            axes: axes_by_dimension(before, id).unwrap_or_default(),
        })
        .collect()
}

/// `tok s32[64,1024] is split over "data" only, the other 31 arguments are whole`.
fn split_arguments(before: &Module<'_>, splits: &[Split<'_>], named: Option<&Split<'_>>) -> String {
    let count = splits.iter().filter(|split| split.dimension().is_some()).count();
    let whole = splits.len() - count;
    let are = |count: usize| if count == 1 { "argument is" } else { "arguments are" };
    let Some(named) = named.filter(|split| split.dimension().is_some()) else {
        return format!("all {whole} {} whole on each device", are(whole));
    };
    let mut axes: Vec<&str> = named.axes.iter().flatten().copied().collect();
    axes.dedup();
    let axes: Vec<String> = axes.iter().map(|axis| format!("\"{axis}\"")).collect();
    let shape = context::shape_text(before, before.instruction(named.before).shape);
    let more = match count - 1 {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    format!(
        "{} {shape}{more} is split over {} only, {whole} {} whole",
        named.argument.path,
        axes.join(" and "),
        are(whole)
    )
}

/// What splitting the batch so many ways more does to the batch and to the temporaries that have its
/// dimension: edits, and the bytes they take away at the peak.
fn batch_edits(
    context: &Context<'_>,
    before: &Module<'_>,
    splits: &[Split<'_>],
    ways: u64,
) -> (Vec<Edit>, u64) {
    let values = context.parameter_values();
    let mut sizes: FxHashSet<u64> = FxHashSet::default();
    let mut shrunk: Vec<(ValueId, u64)> = Vec::new();
    for (split, dimension) in batch(context, before, splits) {
        let array = context.module.shape(split.argument.instruction).array();
        let Some(size) = array.and_then(|array| array.dimensions.get(dimension)) else { continue };
        let Some(&value) = values.get(&split.argument.number) else { continue };
        if let Some(part) = split_bytes(context, value, dimension, ways) {
            sizes.insert(size.size);
            shrunk.push((value, part));
        }
    }
    for one in cause::all(context, context.min_bytes(&META)) {
        if matches!(one.cause, Cause::Gradient | Cause::ArgumentCopy) {
            continue;
        }
        let value = context.profile.value(one.value);
        let dimensions = context.module.shapes.get(value.shape).array().map(|a| &a.dimensions);
        // The batch comes first; in a stack behind the dimension that counts layers.
        let place = usize::from(one.stacked.is_some());
        let place = [place, 1].into_iter().find(|&at| {
            let size = dimensions.and_then(|dimensions| dimensions.get(at));
            size.is_some_and(|dimension| sizes.contains(&dimension.size))
        });
        if let Some(part) = place.and_then(|at| split_bytes(context, one.value, at, ways)) {
            shrunk.push((one.value, part));
        }
    }
    let at_peak = |id: ValueId| context.is_alive_at_peak(context.profile.value(id));
    let size = |id: ValueId| context.profile.value(id).size_bytes;
    let alive = shrunk.iter().filter(|(value, _)| at_peak(*value));
    let saved = total_bytes(alive.map(|&(value, part)| size(value).saturating_sub(part)));
    let edit = |&(value, bytes): &(ValueId, u64)| Edit::Shrink {
        buffer: context.profile.value(value).buffer,
        bytes,
    };
    (shrunk.iter().map(edit).collect(), saved)
}

/// The arguments that hold the batch, each with its dimension: neither donated nor named parameters;
/// those that are split, or all where none is.
fn batch<'s, 'c>(
    context: &Context<'_>,
    before: &Module<'_>,
    splits: &'s [Split<'c>],
) -> Vec<(&'s Split<'c>, usize)> {
    let donated: FxHashSet<i64> = context
        .module
        .header
        .input_output_alias
        .iter()
        .map(|alias| alias.parameter.parameter)
        .collect();
    let has_dimensions = |split: &Split<'_>| {
        let array = before.shape(split.before).array();
        array.is_some_and(|array: &ArrayShape| !array.dimensions.is_empty())
    };
    let candidates: Vec<&Split<'_>> = splits
        .iter()
        .filter(|split| !donated.contains(&split.argument.number))
        .filter(|split| !split.argument.is_parameters() && has_dimensions(split))
        .collect();
    let any_split = candidates.iter().any(|split| split.dimension().is_some());
    candidates
        .into_iter()
        .filter_map(|split| Some((split, split.dimension().or((!any_split).then_some(0))?)))
        .collect()
}
