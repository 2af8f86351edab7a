//! The two ends of a program: its results leaf by leaf, and which arguments' memory they take.

use super::Context;
use crate::hlo::InstructionId;
use crate::hlo::{ArrayShape, Opcode, ShapeId, ShapeIndex};
use crate::memory::ValueId;
use rustc_hash::FxHashSet;

/// One array of the program's result.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// Where it stands in the result.
    pub(super) index: ShapeIndex,
    /// The instruction that holds it, and where in that.
    pub(super) place: (InstructionId, ShapeIndex),
    /// Its shape.
    pub(super) shape: ShapeId,
    /// Its value.
    pub(super) value: Option<ValueId>,
}

/// The arrays of the program's result, in order. Elements that are tuples are left out.
pub(super) fn outputs(context: &Context<'_>) -> Vec<Output> {
    let module = context.module;
    let root = module.entry().root;
    let places: Vec<(ShapeIndex, (InstructionId, ShapeIndex))> = match module.shape(root).elements()
    {
        None => vec![(ShapeIndex::new(), (root, ShapeIndex::new()))],
        Some(elements) => (0..elements.len() as u32)
            .map(|at| {
                let index = ShapeIndex::from_slice(&[at]);
                let operand = (module.opcode(root) == Opcode::Tuple)
                    .then(|| module.operands(root).get(at as usize).copied())
                    .flatten();
                let place = operand
                    .map_or_else(|| (root, index.clone()), |operand| (operand, ShapeIndex::new()));
                (index, place)
            })
            .collect(),
    };
    places
        .into_iter()
        .filter_map(|(index, place)| {
            let shape = module.subshape(place.0, &place.1)?;
            module.shapes.get(shape).array()?;
            let value = context.value_at_index(place.0, &place.1);
            Some(Output { index, place, shape, value })
        })
        .collect()
}

/// Numbers of the parameters whose memory a result takes.
pub(super) fn aliased_parameters(context: &Context<'_>) -> FxHashSet<i64> {
    let aliases = &context.module.header.input_output_alias;
    aliases.iter().map(|alias| alias.parameter.parameter).collect()
}

/// Whether two arrays can have the same memory: type, dimensions and layout are equal, whatever the
/// memory space.
pub(super) fn is_same_array(a: &ArrayShape, b: &ArrayShape) -> bool {
    let is_same_layout = match (&a.layout, &b.layout) {
        (Some(a), Some(b)) => a.minor_to_major == b.minor_to_major && a.tiles == b.tiles,
        (None, None) => true,
        _ => false,
    };
    a.element_type == b.element_type && a.dimensions == b.dimensions && is_same_layout
}
