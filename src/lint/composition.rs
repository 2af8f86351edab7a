//! What is alive at the peak, grouped by cause. Arguments, results and constants live for the whole
//! program; temporaries are told apart by where their data comes from and who keeps them.

use super::cause::{Alive, Cause};
use super::stacked::Stacked;
use super::{Argument, Context, Source};
use crate::config::total_bytes;
use crate::hlo::{Dimension, ElementType, InstructionId, ShapeId};
use crate::memory::{Allocation, AllocationKind, ValueId};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Equal buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Bytes of all of them.
    pub bytes: u64,
    /// How many there are.
    pub count: u64,
    /// Bytes of all of them without padding.
    pub unpadded_bytes: u64,
    /// What they are: a shape, an argument's path.
    pub label: String,
    /// The operation that computes them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// The line that computes them.
    pub source: Option<Source>,
    /// One of them.
    #[serde(skip)]
    pub value: Option<ValueId>,
}

/// Bytes with one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The cause.
    pub cause: Cause,
    /// Bytes of the group.
    pub bytes: u64,
    /// The cause in words.
    pub title: String,
    /// The line that causes it, where it is one.
    pub source: Option<Source>,
    /// Its buffers, the largest first.
    pub rows: Vec<Row>,
}

/// What is alive at the peak: groups, the largest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Composition {
    /// The groups.
    pub groups: Vec<Group>,
}

impl Composition {
    /// The largest single buffer.
    pub fn largest(&self) -> Option<&Row> {
        let rows = self.groups.iter().flat_map(|group| &group.rows);
        rows.max_by_key(|row| row.bytes / row.count.max(1))
    }

    /// The bytes of all groups of a cause.
    pub fn bytes(&self, cause: Cause) -> u64 {
        total_bytes(
            self.groups.iter().filter(|group| group.cause == cause).map(|group| group.bytes),
        )
    }
}

/// Groups what is alive at the peak of HBM.
pub(super) fn compose(context: &Context<'_>) -> Composition {
    if context.hbm().peak_point.is_none() {
        return Composition::default();
    }
    let mut groups = whole_program(context);
    groups.extend(residuals(context, &context.alive));
    for cause in [Cause::Gradient, Cause::ArgumentCopy, Cause::Activation, Cause::Other] {
        groups.extend(plain_group(context, cause, &context.alive));
    }
    groups.retain(|group| group.bytes > 0);
    // What is left over stands last, unless it is most of all.
    let all = total_bytes(groups.iter().map(|group| group.bytes));
    groups.sort_by_key(|group| {
        let is_rest = group.cause == Cause::Other && group.bytes < all / 5;
        (is_rest, std::cmp::Reverse(group.bytes), group.cause)
    });
    Composition { groups }
}

/// Arguments, results and constants.
fn whole_program(context: &Context<'_>) -> Vec<Group> {
    let mut arguments: [Vec<Row>; 2] = Default::default();
    let (mut results, mut constants) = (Vec::new(), Vec::new());
    let paths: FxHashMap<i64, &Argument> =
        context.arguments.iter().map(|argument| (argument.number, argument)).collect();
    for allocation in context.profile.allocations.iter().filter(|a| a.memory_space == 0) {
        let size_bytes = allocation.size_bytes;
        match &allocation.kind {
            AllocationKind::Parameter { number, .. } => {
                let label = paths.get(number).map_or("?", |argument| argument.group());
                let donated = usize::from(allocation.maybe_live_out);
                let value = allocation.values.iter().copied().find(|&id| {
                    let instruction = context.profile.value(id).instruction;
                    context.module.parameter_number(instruction) == Some(*number)
                });
                arguments[donated].push(whole_row(label.to_owned(), size_bytes, value));
            }
            AllocationKind::Constant => {
                constants.push(buffer_row(context, allocation, size_bytes));
            }
            AllocationKind::Temporary if allocation.maybe_live_out => {
                results.push(buffer_row(context, allocation, size_bytes));
            }
            AllocationKind::Temporary | AllocationKind::ThreadLocal => {}
        }
    }
    let [kept, donated] = arguments;
    let group = |cause, title: &str, rows: Vec<Row>| {
        let rows = merge(rows, cause == Cause::Argument);
        let bytes = total_bytes(rows.iter().map(|row| row.bytes));
        Group { cause, bytes, title: title.to_owned(), source: None, rows }
    };
    let mut result = group(Cause::Output, "results", results);
    if result.rows.len() == 1 && result.rows.iter().all(|row| row.count == 1) {
        "result".clone_into(&mut result.title);
    }
    if result_is_carried(context) {
        result.title.push_str(", and the loop's carry");
    }
    vec![
        group(Cause::Argument, "arguments, donated", donated),
        group(Cause::Argument, "arguments, not donated", kept),
        result,
        group(Cause::Constant, "constants", constants),
    ]
}

/// Whether the largest result is carried by a loop all along.
fn result_is_carried(context: &Context<'_>) -> bool {
    let largest = context
        .profile
        .allocations
        .iter()
        .filter(|a| a.memory_space == 0 && a.maybe_live_out && a.kind == AllocationKind::Temporary)
        .max_by_key(|a| a.size_bytes);
    largest.is_some_and(|allocation| {
        allocation.values.iter().any(|&id| {
            let value = context.profile.value(id);
            value.is_phi && value.size_bytes == allocation.size_bytes
        })
    })
}

fn whole_row(label: String, bytes: u64, value: Option<ValueId>) -> Row {
    Row {
        bytes,
        count: 1,
        unpadded_bytes: bytes,
        label,
        operation: String::new(),
        source: None,
        value,
    }
}

/// The row of an allocation, named after its largest value.
fn buffer_row(context: &Context<'_>, allocation: &Allocation, bytes: u64) -> Row {
    let largest = allocation
        .values
        .iter()
        .copied()
        .max_by_key(|&id| (context.profile.value(id).size_bytes, std::cmp::Reverse(id)));
    match largest {
        Some(value) => value_row(context, value, bytes),
        None => whole_row(String::new(), bytes, None),
    }
}

/// What loops keep, one group for each line that loops.
fn residuals(context: &Context<'_>, alive: &[Alive]) -> Vec<Group> {
    let mut groups: Vec<(Stacked, Vec<&Alive>)> = Vec::new();
    for one in alive.iter().filter(|one| one.cause == Cause::Residual) {
        let Some(stacked) = &one.stacked else { continue };
        match groups.iter_mut().find(|(other, _)| {
            other.source == stacked.source
                && other.iterations == stacked.iterations
                && other.for_backward == stacked.for_backward
        }) {
            Some((_, members)) => members.push(one),
            None => groups.push((stacked.clone(), vec![one])),
        }
    }
    groups
        .into_iter()
        .map(|(stacked, members)| {
            let n = stacked.iterations;
            let title = if stacked.for_backward {
                format!("activations of {n} layers, kept for the backward pass by the scan")
            } else {
                format!("slices of {n} iterations, kept by the loop")
            };
            group_of(context, Cause::Residual, title, stacked.source, &members)
        })
        .collect()
}

/// Whether a copy of an argument has another element type than the argument.
fn is_conversion(context: &Context<'_>, one: &Alive) -> bool {
    let value = context.profile.value(one.value);
    let element_type = |shape| context.module.shapes.get(shape).array().map(|a| a.element_type);
    let argument = super::upstream::argument_upstream(context, value);
    argument.is_none_or(|id| {
        element_type(context.module.instruction(id).shape) != element_type(value.shape)
    })
}

fn plain_group(context: &Context<'_>, cause: Cause, alive: &[Alive]) -> Option<Group> {
    let members: Vec<&Alive> = alive.iter().filter(|one| one.cause == cause).collect();
    let count = members.len();
    let first = members.first()?;
    let element_type = |one: &Alive| {
        let shape = context.profile.value(one.value).shape;
        context.module.shapes.get(shape).array().map(|array| array.element_type)
    };
    let common = element_type(first)
        .filter(|_| members.iter().all(|one| element_type(one) == element_type(first)));
    let plural = if count == 1 { "" } else { "s" };
    let title = match cause {
        Cause::Gradient => match common {
            Some(of) => format!("gradients, {of}, of {count} argument{plural}"),
            None => format!("gradients of {count} argument{plural}"),
        },
        Cause::ArgumentCopy => match common {
            Some(of) if members.iter().all(|one| is_conversion(context, one)) => {
                format!("{of} copies of {count} argument{plural}")
            }
            Some(_) => format!("copies of {count} argument{plural}"),
            None => format!("copies of {count} argument{plural}"),
        },
        Cause::Activation => format!("{count} activation{plural} with a batch dimension"),
        _ => format!("{count} other{plural}"),
    };
    let group = group_of(context, cause, title, None, &members);
    Some(match group.rows.as_slice() {
        [row] if row.count == 1 && cause != Cause::Gradient && cause != Cause::ArgumentCopy => {
            Group {
                title: [row.label.as_str(), row.operation.as_str()]
                    .join("  ")
                    .trim_end()
                    .to_owned(),
                source: row.source.clone(),
                ..group
            }
        }
        _ => group,
    })
}

fn group_of(
    context: &Context<'_>,
    cause: Cause,
    title: String,
    source: Option<Source>,
    members: &[&Alive],
) -> Group {
    let by_shape = match cause {
        Cause::Gradient => arguments_by_shape(context),
        _ => ArgumentsByShape::default(),
    };
    let row = |one: &&Alive| {
        let row = value_row(context, one.value, one.size_bytes);
        match gradient_of(context, &by_shape, one.value) {
            Some(path) => Row { label: format!("gradient of {path}"), ..row },
            None => row,
        }
    };
    let rows = merge(members.iter().map(row).collect(), false);
    Group { cause, bytes: total_bytes(rows.iter().map(|row| row.bytes)), title, source, rows }
}

/// Arguments by element type and dimensions.
type ArgumentsByShape<'c> = FxHashMap<(ElementType, &'c [Dimension]), Vec<&'c Argument>>;

fn arguments_by_shape<'c>(context: &'c Context<'_>) -> ArgumentsByShape<'c> {
    let mut by_shape = ArgumentsByShape::default();
    for argument in &context.arguments {
        if let Some(array) = context.module.shape(argument.instruction).array() {
            let key = (array.element_type, array.dimensions.as_slice());
            by_shape.entry(key).or_default().push(argument);
        }
    }
    by_shape
}

/// The argument that a gradient is of: the only one of its type and dimensions that is no part of
/// the optimizer's state, which has the same shapes.
fn gradient_of<'c>(
    context: &Context<'_>,
    by_shape: &ArgumentsByShape<'c>,
    gradient: ValueId,
) -> Option<&'c str> {
    let shape = context.profile.value(gradient).shape;
    let gradient = context.module.shapes.get(shape).array()?;
    let same = by_shape.get(&(gradient.element_type, gradient.dimensions.as_slice()))?;
    let mut named = same.iter().filter(|argument| argument.is_parameters());
    match (same.as_slice(), named.next(), named.next()) {
        ([only], ..) => Some(&only.path),
        (_, Some(only), None) => Some(&only.path),
        _ => None,
    }
}

/// The row of one value.
pub(super) fn value_row(context: &Context<'_>, id: ValueId, bytes: u64) -> Row {
    let value = context.profile.value(id);
    let (origin, source) = context.origin(value);
    Row {
        bytes,
        count: 1,
        unpadded_bytes: value.unpadded_bytes.min(bytes),
        label: label(context, value.shape),
        operation: operation(context, origin),
        source,
        value: Some(id),
    }
}

fn label(context: &Context<'_>, shape: ShapeId) -> String {
    context.shape_text(shape)
}

/// The last part of the framework's name of an operation, `exp` of `jit(f)/attention/exp`, else the
/// opcode.
pub(super) fn operation(context: &Context<'_>, id: InstructionId) -> String {
    let op_name = context.module.metadata(id).map_or("", |metadata| metadata.op_name);
    match op_name.rsplit('/').next() {
        Some(last) if !last.is_empty() => super::unescape(last),
        _ => context.module.opcode(id).as_str().to_owned(),
    }
}

/// Rows of equal label, size and line as one, the largest first. For arguments, which have no line,
/// rows of equal label are one whatever their sizes.
fn merge(rows: Vec<Row>, sizes_differ: bool) -> Vec<Row> {
    let mut merged: Vec<Row> = Vec::new();
    let mut places: FxHashMap<(String, u64, Option<Source>), usize> = FxHashMap::default();
    for row in rows {
        let size = if sizes_differ { 0 } else { row.bytes };
        let line = row.source.clone().map(|source| Source { inferred: false, ..source });
        let key = (row.label.clone(), size, line);
        match places.get(&key) {
            Some(&at) => {
                merged[at].bytes = merged[at].bytes.saturating_add(row.bytes);
                merged[at].count += 1;
                merged[at].unpadded_bytes =
                    merged[at].unpadded_bytes.saturating_add(row.unpadded_bytes);
            }
            None => {
                places.insert(key, merged.len());
                merged.push(row);
            }
        }
    }
    merged.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.label.cmp(&b.label)));
    merged
}
