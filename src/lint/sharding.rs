//! Which axes of the mesh the shardings of a module name, as the user wrote them: a module as it was
//! handed to the compiler in; names of axes out. The optimized text does not have the names.

use crate::hlo::{ArrayShape, InstructionId, Module};
use crate::memory::ValueId;
use rustc_hash::FxHashSet;

use super::Context;

/// The attribute that holds a sharding by axis names.
const SHARDING: &str = "xla.sdy.sharding=";

/// The axes that any sharding of a module splits something over. An axis that `shard_map` takes is
/// one: what happens along it is written by hand.
pub(super) fn used_axes<'m>(before: &Module<'m>) -> FxHashSet<&'m str> {
    let attributes = before.ids().filter_map(|id| before.frontend_attributes(id));
    attributes
        .filter(|text| text.contains("sdy"))
        .flat_map(|text| split_axes(text).chain(manual_axes(text)))
        .collect()
}

/// The mistake behind every finding about whole arrays, where no sharding of the program splits
/// anything over any axis of the mesh.
pub(super) fn nothing_is_split(context: &Context<'_>) -> Option<&'static str> {
    let used = used_axes(context.before?);
    let mut axes = context.axes().peekable();
    let has_axes = axes.peek().is_some();
    (has_axes && !axes.any(|axis| used.contains(axis.name.as_str())))
        .then_some("no sharding splits anything")
}

/// The axes that split each dimension of an entry parameter; `None` where its sharding has no names.
pub(super) fn axes_by_dimension<'m>(
    before: &Module<'m>,
    parameter: InstructionId,
) -> Option<Vec<Vec<&'m str>>> {
    let text = before.frontend_attributes(parameter)?;
    let at = text.find(SHARDING)?;
    let dimensions = text[at..].split_once(", [")?.1.split(']').next()?;
    // Dimensions are `{"x", "y"}` or, where the partitioner may add axes, `{"x", ?}`.
    Some(
        dimensions
            .split('}')
            .filter(|part| part.contains('{'))
            .map(|d| names(d).collect())
            .collect(),
    )
}

/// The axes in the lists of dimensions of all shardings in a text: `[{"x"}, {"y", ?}]`. Those named
/// as replicated stand behind the list.
fn split_axes(text: &str) -> impl Iterator<Item = &str> {
    let lists = text.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    lists.filter(|list| list.trim_start().starts_with('{')).flat_map(names)
}

/// The axes in `manual_axes{"x", "y"}`.
fn manual_axes(text: &str) -> impl Iterator<Item = &str> {
    let lists = text.split("manual_axes{").skip(1).filter_map(|rest| rest.split('}').next());
    lists.flat_map(names)
}

/// The names in quotes, which may be escaped: `\"x\":(1)2` is a part of the axis x.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2).map(|name| name.trim_end_matches('\\'))
}

/// Bytes of a value whose one dimension is split so many ways, in its layout; `None` where it is no
/// array or the dimension is not long enough.
pub(super) fn split_bytes(
    context: &Context<'_>,
    value: ValueId,
    dimension: usize,
    ways: u64,
) -> Option<u64> {
    let value = context.profile.value(value);
    let array = context.module.shapes.get(value.shape).array()?;
    let part = split(array, dimension, ways)?;
    Some(context.policy.array_bytes(&part)?.min(value.size_bytes))
}

fn split(array: &ArrayShape, dimension: usize, ways: u64) -> Option<ArrayShape> {
    let mut part = array.clone();
    let size = &mut part.dimensions.get_mut(dimension)?.size;
    if *size < ways {
        return None;
    }
    *size = size.div_ceil(ways.max(1));
    Some(part)
}

/// Bytes of a value split so many ways along the dimension that pads least; as it is where no
/// dimension is long enough.
pub(super) fn best_split_bytes(context: &Context<'_>, value: ValueId, ways: u64) -> u64 {
    let found = context.profile.value(value);
    let rank = context.module.shapes.get(found.shape).array().map_or(0, |a| a.dimensions.len());
    let split = (0..rank).filter_map(|at| split_bytes(context, value, at, ways));
    split.min().unwrap_or(found.size_bytes)
}

#[cfg(test)]
mod tests {
    use super::{axes_by_dimension, used_axes};

    const TEXT: &str = r##"HloModule m

body {
  p = f32[4]{0} parameter(0)
  ROOT c = f32[4]{0} custom-call(p), custom_call_target="xla.sdy.GlobalToLocalShape", frontend_attributes={xla.sdy.manual_axes="#sdy<manual_axes{\"hand\"}>"}
}

ENTRY e {
  p0 = f32[4,8,16]{2,1,0} parameter(0), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\"x\", \"y\":(1)2}, {}, {\"z\", ?}], replicated={\"r\"}>"}
  p1 = f32[4]{0} parameter(1), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{}]>"}
  p2 = f32[4]{0} parameter(2), frontend_attributes={broken="xla.sdy.sharding=[{\"q"}
  c = f32[4]{0} custom-call(p1), custom_call_target="xla.sdy.FuncResultSharding", frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{\"out\"}]>]>"}
  ROOT t = f32[4]{0} call(c), to_apply=body
}
"##;

    #[test]
    fn axes_that_shardings_name() {
        let module = crate::text::parse(TEXT).unwrap().module;
        let mut used: Vec<&str> = used_axes(&module).into_iter().collect();
        used.sort_unstable();
        assert_eq!(used, ["hand", "out", "q", "x", "y", "z"]);
    }

    #[test]
    fn axes_of_a_parameter() {
        let module = crate::text::parse(TEXT).unwrap().module;
        let parameters = module.parameters(module.entry);
        let axes: Vec<_> = parameters.iter().map(|&id| axes_by_dimension(&module, id)).collect();
        assert_eq!(axes, [Some(vec![vec!["x", "y"], vec![], vec!["z"]]), Some(vec![vec![]]), None]);
    }
}
