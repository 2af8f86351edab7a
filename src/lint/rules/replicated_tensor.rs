//! `replicated-tensor`.

use crate::config::{Unit, bytes, total_bytes};
use crate::hlo::{ArrayShape, InstructionId, Module};
use crate::lint::gathers::{over_capacity, sliced};
use crate::lint::rest::push_most;
use crate::lint::rules::gather_over_capacity;
use crate::lint::sharding::{axes_by_dimension, best_split_bytes, nothing_is_split};
use crate::lint::splits::{Array, Split, State, priced, split_over, splits};
use crate::lint::stacked::stacked;
use crate::lint::upstream::argument_upstream;
use crate::lint::{
    Argument, Cause, Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule,
    last_key, names_parameters,
};
use crate::memory::{BufferId, Edit, ValueId};
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
because their sharding is missing or P(), grouped by the first key of the argument tree; large
intermediates whose local shape is the global one; and, as a note unless memory is short, optimizer
state that is split over some axes of the mesh but the same along the others (ZeRO).
Why it costs memory: n devices hold n copies of what one copy would do for.
Example: Adam's m and v given as P() on a mesh of 8 x 4 devices.
Remedy: name an axis of the mesh in in_shardings and out_shardings (or in the annotation of an
intermediate). What the arguments then need is exact (the table). What is split over an axis that splits
the batch too is gathered again where it is used, so the total is an upper bound: parameters count whole
(two slices of a stack that a loop goes through), and the update of whole parameters from split
optimizer state counts the gradients, the new values and a copy of the old ones. A split that may save nothing is not offered.
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
        partly_split(context, findings);
        intermediates(context, findings);
    }
}

/// Replicated arguments with the same name and first key.
struct Group<'c> {
    name: &'c str,
    arrays: Vec<Array<'c>>,
    /// How many of them are large enough to be counted.
    large: usize,
}

impl Group<'_> {
    fn bytes(&self) -> u64 {
        total_bytes(self.arrays.iter().map(|array| array.size_bytes))
    }

    fn bytes_after(&self, context: &Context<'_>, ways: u64) -> u64 {
        total_bytes(self.arrays.iter().map(|array| array.split_bytes(context, ways)))
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
    finding.mistake = nothing_is_split(context);
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
    all_groups(context, |argument| is_whole(context, argument))
}

/// The large arguments that are wanted, in groups, the largest group first.
fn all_groups<'c>(
    context: &'c Context<'_>,
    is_wanted: impl Fn(&Argument) -> bool,
) -> Vec<Group<'c>> {
    let values = context.parameter_values();
    let mut groups: Vec<Group<'c>> = Vec::new();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for argument in &context.arguments {
        let Some(&value) = values.get(&argument.number) else { continue };
        let size_bytes = context.profile.value(value).size_bytes;
        if !is_wanted(argument) {
            continue;
        }
        let whole = Array { argument, value, size_bytes };
        let place = *places.entry(argument.group()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.arrays.push(whole),
            None => groups.push(Group { name: argument.group(), arrays: vec![whole], large: 0 }),
        }
    }
    let is_large = |array: &Array<'_>| array.size_bytes >= context.min_bytes(&META);
    groups.retain(|group| group.arrays.iter().any(is_large));
    for group in &mut groups {
        group.large = group.arrays.iter().filter(|array| is_large(array)).count();
        group.arrays.sort_by_key(|array| (Reverse(array.size_bytes), array.argument.number));
    }
    groups.sort_by_key(|group| (Reverse(group.bytes()), group.name));
    groups
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
    let mut arrays: Vec<&Array<'_>> = groups.iter().flat_map(|group| &group.arrays).collect();
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
    let is_optimizer = |group: &Group<'_>| optimizer.iter().any(|other| other.name == group.name);
    let parameters = || {
        let groups = groups.iter().filter(|group| !is_optimizer(group));
        groups.flat_map(|group| &group.arrays).collect::<Vec<_>>()
    };
    let of_optimizer = || optimizer.iter().flat_map(|group| &group.arrays).collect::<Vec<_>>();
    if let (Some(first), false) = (splits.first(), optimizer.is_empty()) {
        let names: Vec<&str> = optimizer.iter().map(|group| short_name(group.name)).collect();
        let action = format!("{} over {}", names.join(" and "), first.label);
        let state = State {
            optimizer: of_optimizer(),
            kept: parameters(),
            are_kept_whole: true,
            ..State::default()
        };
        remedies.extend(priced(context, &state, first, action));
    }
    let what = match groups {
        [only] => only.name.to_owned(),
        _ => "all of it".to_owned(),
    };
    let state = State { parameters: parameters(), optimizer: of_optimizer(), ..State::default() };
    for split in &splits {
        let action = format!("{what} over {}", split.label);
        remedies.extend(priced(context, &state, split, action));
    }
    if remedies.is_empty() {
        remedies.push(Remedy::new(unpriced(context, groups, splits.first())));
    }
    remedies
}

/// What to do where no bound can be given: what is gathered again may be as much as is saved.
fn unpriced(context: &Context<'_>, groups: &[Group<'_>], split: Option<&Split>) -> String {
    let Some(split) = split else {
        return "name an axis of the mesh in in_shardings and out_shardings".to_owned();
    };
    let now = total_bytes(groups.iter().map(Group::bytes));
    let then = total_bytes(groups.iter().map(|group| group.bytes_after(context, split.ways)));
    format!(
        "name {} in in_shardings and out_shardings: {} of arguments become {} (what is gathered again \
         for a while is the partitioner's business)",
        split.label,
        bytes(now),
        bytes(then)
    )
}

/// The groups that are copies of the parameters' structure, one or several, and not the parameters:
/// optimizer state. Scalars such as a step counter may stand beside the copies.
fn optimizer_state<'g, 'c>(groups: &'g [Group<'c>]) -> Vec<&'g Group<'c>> {
    let is_parameters = |group: &Group<'_>| names_parameters(group.name);
    let Some(parameters) = groups.iter().find(|group| is_parameters(group)) else {
        return Vec::new();
    };
    let sizes = parameters.sizes();
    let copies = |group: &Group<'_>| {
        let own: Vec<u64> = group.sizes().into_iter().filter(|&size| size > SCALAR_BYTES).collect();
        let wanted: Vec<u64> = sizes.iter().copied().filter(|&size| size > SCALAR_BYTES).collect();
        let n = own.len().checked_div(wanted.len()).filter(|&n| n > 0)?;
        let repeated: Vec<u64> = wanted.iter().flat_map(|&size| vec![size; n]).collect();
        (own == repeated).then_some(())
    };
    groups.iter().filter(|group| !is_parameters(group) && copies(group).is_some()).collect()
}

/// The key of a group where it says something: `m` of `state['m']`, but `opt_state[0]` as it is.
fn short_name(group: &str) -> &str {
    let key = last_key(group);
    if key.chars().all(|c| c.is_ascii_digit()) { group } else { key }
}

/// What a scalar takes at most, padded.
const SCALAR_BYTES: u64 = 4096;

/// How the user would write the sharding of the largest array.
fn example(context: &Context<'_>, largest: &Array<'_>) -> Option<String> {
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

/// Optimizer state that is split, like the parameters, but over some axes of the mesh only: it is
/// needed in the update alone and could be split over the others too (ZeRO). A note, unless memory is
/// short: it costs a gather or a scatter in each step.
fn partly_split(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let groups = all_groups(context, |argument| !is_whole(context, argument));
    let optimizer = optimizer_state(&groups);
    let mut found: Vec<(Vec<&str>, Vec<&Array<'_>>)> = Vec::new();
    for array in optimizer.iter().flat_map(|group| &group.arrays) {
        let missing = missing_axes(context, array.argument);
        if missing.is_empty() || array.size_bytes < context.min_bytes(&META) {
            continue;
        }
        match found.iter_mut().find(|(axes, _)| *axes == missing) {
            Some((_, arrays)) => arrays.push(array),
            None => found.push((missing, vec![array])),
        }
    }
    let is_parameters = |group: &&Group<'_>| names_parameters(group.name);
    let parameters = groups.iter().filter(is_parameters).flat_map(|group| &group.arrays);
    let kept: Vec<&Array<'_>> = parameters.collect();
    for (axes, optimizer) in found {
        let state = State { optimizer, kept: kept.clone(), ..State::default() };
        // In a small step gathering the update costs more than the split saves: nothing to say then.
        if let Some(finding) = partly_split_finding(context, &axes, &state) {
            context.push(findings, &META, finding);
        }
    }
}

/// The axes of the mesh that no dimension of an argument is split over.
fn missing_axes<'c>(context: &'c Context<'_>, argument: &Argument) -> Vec<&'c str> {
    let split = parameter_before(context, argument)
        .and_then(|(before, id)| axes_by_dimension(before, id))
        .unwrap_or_default();
    let split: Vec<&str> = split.into_iter().flatten().collect();
    if split.is_empty() {
        return Vec::new();
    }
    let axes = context.axes().map(|axis| axis.name.as_str());
    axes.filter(|axis| !split.contains(axis)).collect()
}

fn partly_split_finding(
    context: &Context<'_>,
    axes: &[&str],
    state: &State<'_, '_>,
) -> Option<Finding> {
    let split = split_over(context, axes);
    let arrays = &state.optimizer;
    let remedy = priced(context, state, &split, format!("split it over {} too", split.label))?;
    let now = total_bytes(arrays.iter().map(|array| array.size_bytes));
    let after = total_bytes(arrays.iter().map(|array| array.split_bytes(context, split.ways)));
    let mut names: Vec<&str> = arrays.iter().map(|array| array.argument.group()).collect();
    names.dedup();
    let mut finding =
        context.finding(&META, arrays.first().map(|array| array.argument.instruction));
    finding.message = format!(
        "{}, {}, the same on {} devices along {}",
        names.join(" and "),
        bytes(now),
        split.ways,
        split.label
    );
    finding.details = vec![format!(
        "optimizer state, which the update alone needs: {} on each device when split",
        bytes(after)
    )];
    if !context.is_near_capacity() {
        finding.level = Level::Note;
    }
    finding.bytes = now.saturating_sub(after);
    finding.buffers =
        arrays.iter().map(|array| context.profile.value(array.value).buffer).collect();
    finding.remedies = vec![remedy];
    Some(finding)
}

/// Large intermediates alive at the peak of which every device holds all elements. What has the shape
/// of an argument is left out: a device needs gathered weights whole while it uses them, and
/// gradients follow the arguments. So is what the rules about gathers speak of.
fn intermediates(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let Some(before) = context.before else { return };
    let globals = global_elements(before);
    let of_arguments: FxHashSet<_> = context
        .before_parameters
        .iter()
        .filter_map(|&id| before.shape(id).array().map(|array| &array.dimensions))
        .collect();
    let of_gathers = of_gathers(context);
    let is_whole = |id: ValueId, op_name: &str| {
        let value = context.profile.value(id);
        let array = context.module.shapes.get(value.shape).array();
        // A loop's stack of slices is as large as all layers together: one slice is what counts.
        let layers = stacked(context, value).map_or(1, |stacked| stacked.iterations.max(1));
        let slice = array.and_then(|array| Some(array.elements()? / layers));
        slice.is_some_and(|elements| globals.get(op_name) == Some(&elements))
    };
    // One operation can stand in several layouts: the largest speaks for all.
    let mut reported: FxHashSet<&str> = FxHashSet::default();
    let mut found: Vec<(ValueId, &str)> = Vec::new();
    let suspects = context.composition.groups.iter().filter(|group| {
        !matches!(group.cause, Cause::Argument | Cause::Gradient | Cause::ArgumentCopy)
    });
    for row in suspects.flat_map(|group| &group.rows) {
        let Some(id) = row.value else { continue };
        let value = context.profile.value(id);
        let op_name = origin_name(context, id);
        let dimensions =
            context.module.shapes.get(value.shape).array().map(|array| &array.dimensions);
        if op_name.is_empty()
            || reported.len() >= LOOKED_AT
            || reported.contains(op_name)
            || !is_whole(id, op_name)
            || !context.is_material(&META, value.size_bytes)
            || of_gathers.contains(&value.buffer)
            || dimensions.is_none_or(|dimensions| of_arguments.contains(dimensions))
            || argument_upstream(context, value).is_some()
        {
            continue;
        }
        reported.insert(op_name);
        found.push((id, op_name));
    }
    let what = "intermediates, whole on each device";
    push_most(context, &META, findings, (MOST, what), &found, |&(id, op_name)| {
        Some(intermediate(context, id, op_name, &is_whole))
    });
}

/// How many intermediates are reported one by one, the largest first.
const MOST: usize = 8;

/// How many intermediates are looked at: for each one all values are.
const LOOKED_AT: usize = 64;

/// The buffers that the rules about gathers speak of.
fn of_gathers(context: &Context<'_>) -> FxHashSet<BufferId> {
    let sliced = sliced(context, context.min_bytes(&META));
    let share = context.threshold(&gather_over_capacity::META, "share");
    let over = over_capacity(context, share).into_iter();
    let over = over.map(|id| context.profile.value(id).buffer);
    sliced.into_iter().flat_map(|found| found.buffers).chain(over).collect()
}

/// The framework's name of the operation that a value's data comes from.
fn origin_name<'c>(context: &Context<'c>, id: ValueId) -> &'c str {
    let (origin, _) = context.origin(context.profile.value(id));
    context.module.metadata(origin).map_or("", |metadata| metadata.op_name)
}

fn intermediate(
    context: &Context<'_>,
    id: ValueId,
    op_name: &str,
    is_whole: &dyn Fn(ValueId, &str) -> bool,
) -> Finding {
    let value = context.profile.value(id);
    let (origin, source) = context.origin(value);
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
    // The same in other layouts is split with it.
    let least = context.min_bytes(&META);
    let ids = (0..context.profile.values.len() as u32).map(ValueId);
    let same: Vec<ValueId> = ids
        .filter(|&other| {
            let other_value = context.profile.value(other);
            other_value.memory_space == 0
                && other_value.size_bytes >= least
                && is_whole(other, op_name)
                && origin_name(context, other) == op_name
        })
        .collect();
    let all = same.iter().map(|&same| context.profile.value(same).buffer);
    finding.buffers = std::iter::once(value.buffer).chain(all).collect();
    finding.buffers.dedup();
    let priced = splits(context).into_iter().filter_map(|split| {
        let edits = same.iter().map(|&same| Edit::Shrink {
            buffer: context.profile.value(same).buffer,
            bytes: best_split_bytes(context, same, split.ways),
        });
        let action = format!("split it over {} (with_sharding_constraint)", split.label);
        context.priced(action, edits.collect(), true)
    });
    finding.remedies = priced.collect();
    finding.remedies.sort_by_key(|remedy| remedy.required_bytes_after.unwrap_or(u64::MAX));
    finding.remedies.truncate(2);
    if finding.remedies.is_empty() {
        finding.remedies.push(Remedy::new(
            "annotate it with jax.lax.with_sharding_constraint, or shard what it is computed from",
        ));
    }
    finding
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
