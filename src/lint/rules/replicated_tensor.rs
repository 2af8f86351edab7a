//! `replicated-tensor`.

use crate::config::{Unit, bytes, total_bytes};
use crate::hlo::{ArrayShape, InstructionId, Module};
use crate::lint::upstream::argument_upstream;
use crate::lint::{
    Argument, Cause, Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule,
    last_key, names_parameters,
};
use crate::memory::{AllocationKind, Edit, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// See [`META`].
pub struct ReplicatedTensor;

/// The declaration.
pub static META: Meta = Meta {
    name: "replicated-tensor",
    summary: "every device holds the whole of a large array",
    documentation: "\
What it does: finds in a program for several devices, large arguments that every device holds whole
because their sharding is missing or P(), grouped by the first key of the argument tree, and large
intermediates whose local shape is the global one.
Why it costs memory: n devices hold n copies of what one copy would do for.
Example: Adam's m and v given as P() on a mesh of 8 x 4 devices.
Remedy: name an axis of the mesh in in_shardings and out_shardings (or in the annotation of an
intermediate). What the arguments then need is exact; what gradients and temporaries do is the
partitioner's business, so the total is an upper bound.
References: E1000, scenario 2 (mesh shape, missing sharding annotations) and 3.B.",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference {
        code: "E1000",
        section: "scenario 2, replication: mesh shape or missing sharding annotations",
    },
};

impl Rule for ReplicatedTensor {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        if context.module.header.num_partitions <= 1 {
            return;
        }
        arguments(context, findings);
        intermediates(context, findings);
    }
}

/// A way to split an array: over so many devices, named as the user would.
struct Split {
    label: String,
    ways: u64,
}

/// One split for each axis of the mesh, and one for all together.
fn splits(context: &Context<'_>) -> Vec<Split> {
    let mut splits: Vec<Split> = context
        .axes()
        .map(|axis| Split { label: format!("\"{}\"", axis.name), ways: axis.size })
        .collect();
    let all = context.mesh.devices;
    match splits.len() {
        0 => splits.push(Split { label: format!("all {all} devices"), ways: all }),
        1 => {}
        2 => splits.push(Split { label: "both".to_owned(), ways: all }),
        _ => splits.push(Split { label: "all axes".to_owned(), ways: all }),
    }
    splits
}

/// A replicated argument.
struct Whole<'c> {
    argument: &'c Argument,
    value: ValueId,
    size_bytes: u64,
}

/// Replicated arguments with the same name and first key.
struct Group<'c> {
    name: &'c str,
    arrays: Vec<Whole<'c>>,
    /// How many of them are large enough to be counted.
    large: usize,
}

impl Group<'_> {
    fn bytes(&self) -> u64 {
        total_bytes(self.arrays.iter().map(|array| array.size_bytes))
    }

    fn bytes_after(&self, context: &Context<'_>, ways: u64) -> u64 {
        total_bytes(self.arrays.iter().map(|array| split_bytes(context, array.value, ways)))
    }

    /// The sizes of its arrays, for telling groups of the same arrays.
    fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.arrays.iter().map(|array| array.size_bytes).collect();
        sizes.sort_unstable();
        sizes
    }
}

fn arguments(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let groups = groups(context);
    let arrays: usize = groups.iter().map(|group| group.large).sum();
    let first = groups.iter().filter_map(|group| group.arrays.first());
    let Some(largest) =
        first.max_by_key(|array| (array.size_bytes, Reverse(array.argument.number)))
    else {
        return;
    };
    let total = total_bytes(groups.iter().map(Group::bytes));
    let mut finding = context.finding(&META, Some(largest.argument.instruction));
    let common = common_root(&groups);
    finding.message = format!(
        "{arrays} array{} of {common}, {}, whole on each of {} devices{}",
        if arrays == 1 { "" } else { "s" },
        bytes(total),
        context.mesh.devices,
        given_as(context, &groups)
    );
    finding.bytes = total;
    finding.buffers = groups
        .iter()
        .flat_map(|group| &group.arrays)
        .map(|array| context.profile.value(array.value).buffer)
        .collect();
    finding.details = table(context, &groups);
    finding.details.push(largest_arrays(&groups));
    finding.remedies = remedies(context, &groups);
    if let Some(example) = example(context, largest) {
        finding.details.push(example);
    }
    context.push(findings, &META, finding);
}

/// All large replicated arguments, in groups, the largest group first.
fn groups<'c>(context: &'c Context<'_>) -> Vec<Group<'c>> {
    let values = parameter_values(context);
    let mut groups: Vec<Group<'c>> = Vec::new();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for argument in &context.arguments {
        let Some(&value) = values.get(&argument.number) else { continue };
        let size_bytes = context.profile.value(value).size_bytes;
        if !is_whole(context, argument) {
            continue;
        }
        let whole = Whole { argument, value, size_bytes };
        let place = *places.entry(argument.group()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.arrays.push(whole),
            None => groups.push(Group { name: argument.group(), arrays: vec![whole], large: 0 }),
        }
    }
    let is_large = |array: &Whole<'_>| array.size_bytes >= context.min_bytes(&META);
    groups.retain(|group| group.arrays.iter().any(is_large));
    for group in &mut groups {
        group.large = group.arrays.iter().filter(|array| is_large(array)).count();
        group.arrays.sort_by_key(|array| (Reverse(array.size_bytes), array.argument.number));
    }
    groups.sort_by_key(|group| (Reverse(group.bytes()), group.name));
    groups
}

/// The value of each array argument in HBM, by parameter number.
fn parameter_values(context: &Context<'_>) -> FxHashMap<i64, ValueId> {
    let mut values = FxHashMap::default();
    for allocation in context.profile.allocations.iter().filter(|a| a.memory_space == 0) {
        if let AllocationKind::Parameter { number, index } = &allocation.kind {
            let parameter = allocation.values.iter().copied().find(|&id| {
                let value = context.profile.value(id);
                value.index == *index
                    && context.module.parameter_number(value.instruction) == Some(*number)
            });
            if let Some(value) = parameter.filter(|_| index.is_empty()) {
                values.insert(*number, value);
            }
        }
    }
    values
}

/// Whether every device holds the whole argument.
fn is_whole(context: &Context<'_>, argument: &Argument) -> bool {
    match context.module.sharding(argument.instruction) {
        Some(sharding) => sharding.is_replicated(),
        None => parameter_before(context, argument).is_some_and(|(before, id)| {
            same_dimensions(context.module, argument.instruction, before, id)
        }),
    }
}

fn parameter_before<'c>(
    context: &Context<'c>,
    argument: &Argument,
) -> Option<(&'c Module<'c>, InstructionId)> {
    let before = context.before?;
    let position = usize::try_from(argument.number).ok()?;
    Some((before, *context.before_parameters.get(position)?))
}

fn same_dimensions(
    module: &Module<'_>,
    id: InstructionId,
    other: &Module<'_>,
    other_id: InstructionId,
) -> bool {
    match (module.shape(id).array(), other.shape(other_id).array()) {
        (Some(here), Some(there)) => here.dimensions == there.dimensions,
        _ => false,
    }
}

/// `(given as P())`, `(no sharding given)`, both, or nothing where the dump does not tell.
fn given_as(context: &Context<'_>, groups: &[Group<'_>]) -> &'static str {
    let (mut explicit, mut nothing) = (0, 0);
    for array in groups.iter().flat_map(|group| &group.arrays) {
        match nothing_given(context, array.argument) {
            Some(true) => nothing += 1,
            Some(false) => explicit += 1,
            None => return "",
        }
    }
    match (explicit, nothing) {
        (_, 0) => " (given as P())",
        (0, _) => " (no sharding given)",
        _ => " (some given as P(), some without a sharding)",
    }
}

/// Whether the user gave no sharding: the header lets the partitioner choose and the module as it was
/// handed in names none.
fn nothing_given(context: &Context<'_>, argument: &Argument) -> Option<bool> {
    let (before, id) = parameter_before(context, argument)?;
    let allowed = &before.header.allow_spmd_sharding_propagation_to_parameters;
    let position = usize::try_from(argument.number).ok()?;
    let may_choose = match allowed.as_slice() {
        [] => return None,
        [all] => *all,
        each => *each.get(position)?,
    };
    let says = before.sharding(id).is_some()
        || before.frontend_attributes(id).is_some_and(|text| text.contains("xla.sdy.sharding"));
    Some(may_choose && !says)
}

/// The name all groups start with, `state` of `state['m']` and `state['v']`, or "the arguments".
fn common_root(groups: &[Group<'_>]) -> String {
    let root = |name: &str| name[..name.find(['[', '.']).unwrap_or(name.len())].to_owned();
    let mut roots: Vec<String> = groups.iter().map(|group| root(group.name)).collect();
    roots.dedup();
    match roots.as_slice() {
        [one] => one.clone(),
        _ => "the arguments".to_owned(),
    }
}

/// Bytes of each group now and after each split, in one unit.
fn table(context: &Context<'_>, groups: &[Group<'_>]) -> Vec<String> {
    let splits = splits(context);
    let shown = &groups[..groups.len().min(8)];
    let unit = Unit::of(shown.first().map_or(0, Group::bytes));
    let heads: Vec<String> = splits.iter().map(|split| format!("over {}", split.label)).collect();
    let name_width = shown.iter().map(|group| group.name.chars().count()).max().unwrap_or(0);
    let mut lines = vec![format!(
        "{:name_width$}  {:>9}  on each device   {}",
        "",
        "",
        heads.iter().map(|head| format!("{head:>13}")).collect::<Vec<_>>().join(" ")
    )];
    for (at, group) in shown.iter().enumerate() {
        let after: Vec<String> = splits
            .iter()
            .map(|split| format!("{:>13}", unit.number(group.bytes_after(context, split.ways))))
            .collect();
        lines.push(format!(
            "{:name_width$}  {:>9}  {:>14}   {}{}",
            group.name,
            format!("{} array{}", group.large, if group.large == 1 { " " } else { "s" }),
            unit.number(group.bytes()),
            after.join(" "),
            if at == 0 { format!(" {}", unit.as_str()) } else { String::new() }
        ));
    }
    if groups.len() > shown.len() {
        let rest = &groups[shown.len()..];
        let size = total_bytes(rest.iter().map(Group::bytes));
        lines.push(format!("and {} more groups, {}", rest.len(), bytes(size)));
    }
    lines
}

fn largest_arrays(groups: &[Group<'_>]) -> String {
    let mut arrays: Vec<&Whole<'_>> = groups.iter().flat_map(|group| &group.arrays).collect();
    arrays.sort_by_key(|array| (Reverse(array.size_bytes), array.argument.number));
    let named: Vec<String> = arrays
        .iter()
        .take(2)
        .map(|array| format!("{} {}", array.argument.path, bytes(array.size_bytes)))
        .collect();
    format!("largest: {}", named.join(", "))
}

/// The splits, priced: optimizer state alone first, then everything over each axis.
fn remedies(context: &Context<'_>, groups: &[Group<'_>]) -> Vec<Remedy> {
    let splits = splits(context);
    let mut remedies = Vec::new();
    let optimizer = optimizer_state(groups);
    if let (Some(first), false) = (splits.first(), optimizer.is_empty()) {
        let names: Vec<&str> = optimizer.iter().map(|group| last_key(group.name)).collect();
        let action = format!("{} over {}", names.join(" and "), first.label);
        remedies.extend(priced(context, &optimizer, first.ways, action));
    }
    let all: Vec<&Group<'_>> = groups.iter().collect();
    let what = if groups.len() == 1 { groups[0].name.to_owned() } else { "all of it".to_owned() };
    for split in &splits {
        let action = format!("{what} over {}", split.label);
        remedies.extend(priced(context, &all, split.ways, action));
    }
    remedies
}

fn priced(
    context: &Context<'_>,
    groups: &[&Group<'_>],
    ways: u64,
    action: String,
) -> Option<Remedy> {
    let edits: Vec<Edit> = groups
        .iter()
        .flat_map(|group| &group.arrays)
        .map(|array| Edit::Shrink {
            buffer: context.profile.value(array.value).buffer,
            bytes: split_bytes(context, array.value, ways),
        })
        .collect();
    context.priced(action, edits, true)
}

/// The groups that are copies of the parameters' structure and not the parameters: optimizer state.
fn optimizer_state<'g, 'c>(groups: &'g [Group<'c>]) -> Vec<&'g Group<'c>> {
    let is_parameters = |group: &Group<'_>| names_parameters(group.name);
    let Some(parameters) = groups.iter().find(|group| is_parameters(group)) else {
        return Vec::new();
    };
    let sizes = parameters.sizes();
    groups.iter().filter(|group| !is_parameters(group) && group.sizes() == sizes).collect()
}

/// Bytes of an array split so many ways along the dimension that pads least; as it is where no
/// dimension is long enough.
fn split_bytes(context: &Context<'_>, value: ValueId, ways: u64) -> u64 {
    let value = context.profile.value(value);
    let Some(array) = context.module.shapes.get(value.shape).array() else {
        return value.size_bytes;
    };
    (0..array.dimensions.len())
        .filter(|&at| array.dimensions[at].size >= ways)
        .filter_map(|at| context.policy.array_bytes(&split(array, at, ways)))
        .min()
        .map_or(value.size_bytes, |size_bytes| size_bytes.min(value.size_bytes))
}

fn split(array: &ArrayShape, dimension: usize, ways: u64) -> ArrayShape {
    let mut part = array.clone();
    part.dimensions[dimension].size = part.dimensions[dimension].size.div_ceil(ways.max(1));
    part
}

/// How the user would write the sharding of the largest array.
fn example(context: &Context<'_>, largest: &Whole<'_>) -> Option<String> {
    let axis = context.axes().last()?;
    let array = context.module.shape(largest.argument.instruction).array()?;
    let at = (0..array.dimensions.len())
        .filter(|&at| array.dimensions[at].size.is_multiple_of(axis.size))
        .max_by_key(|&at| (array.dimensions[at].size, at))?;
    let entries: Vec<String> = (0..=at)
        .map(
            |dimension| {
                if dimension == at { format!("\"{}\"", axis.name) } else { "None".to_owned() }
            },
        )
        .collect();
    Some(format!(
        "e.g. P({}) for {}, in in_shardings and out_shardings",
        entries.join(", "),
        largest.argument.path
    ))
}

/// Large intermediates alive at the peak of which every device holds all elements. What has the shape
/// of an argument is left out: a device needs gathered weights whole while it uses them, and
/// gradients follow the arguments.
fn intermediates(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let Some(before) = context.before else { return };
    let globals = global_elements(before);
    let of_arguments: FxHashSet<_> = context
        .before_parameters
        .iter()
        .filter_map(|&id| before.shape(id).array().map(|array| &array.dimensions))
        .collect();
    // One operation can stand in several layouts: the largest speaks for all.
    let mut reported: FxHashSet<&str> = FxHashSet::default();
    let suspects = context.composition.groups.iter().filter(|group| {
        !matches!(group.cause, Cause::Argument | Cause::Gradient | Cause::ArgumentCopy)
    });
    for row in suspects.flat_map(|group| &group.rows) {
        let Some(value) = row.value.map(|id| context.profile.value(id)) else { continue };
        let (origin, source) = context.origin(value);
        let op_name = context.module.metadata(origin).map_or("", |metadata| metadata.op_name);
        let Some(array) = context.module.shapes.get(value.shape).array() else { continue };
        let global = globals.get(op_name).copied();
        if op_name.is_empty()
            || reported.contains(op_name)
            || global.is_none()
            || array.elements() != global
            || !context.is_material(&META, value.size_bytes)
            || of_arguments.contains(&array.dimensions)
            || argument_upstream(context, value).is_some()
        {
            continue;
        }
        reported.insert(op_name);
        let mut finding = context.finding(&META, Some(origin));
        finding.source = source;
        finding.confidence = Confidence::Heuristic;
        let shape = context.shape_text(value.shape);
        finding.message = format!(
            "intermediate {shape}, {}, whole on each of {} devices",
            bytes(value.size_bytes),
            context.mesh.devices
        );
        finding.shape = Some(shape);
        finding.bytes = value.size_bytes;
        finding.buffers = vec![value.buffer];
        finding.remedies = vec![Remedy::new(
            "annotate it with jax.lax.with_sharding_constraint, or shard what it is computed from",
        )];
        context.push(findings, &META, finding);
    }
}

/// The largest element count of each operation's results in the module as it was handed in, by
/// op_name: shapes there are those of whole arrays.
fn global_elements<'m>(before: &'m Module<'m>) -> FxHashMap<&'m str, u64> {
    let mut largest: FxHashMap<&str, u64> = FxHashMap::default();
    for id in before.ids() {
        let elements = before.shape(id).array().and_then(ArrayShape::elements);
        if let (Some(metadata), Some(elements)) = (before.metadata(id), elements) {
            let known = largest.entry(metadata.op_name).or_default();
            *known = (*known).max(elements);
        }
    }
    largest
}
