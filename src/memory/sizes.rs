//! Sizes of values (facts: tpu-memory section 1).

use super::MemoryError;
use super::tree::Trees;
use super::values::Values;
use crate::graph::{ComputationKind, Dataflow};
use crate::hlo::{InstructionId, Shape, ShapeId};
use crate::target::{Policy, TableOwner, unpadded_bytes};

/// Size and memory space of every value.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Per value its bytes: the largest over all positions that hold it.
    pub(super) bytes: Vec<u64>,
    /// Per value its memory space.
    pub(super) space: Vec<i64>,
    /// Per shape its bytes without padding, and a tuple's table with 8 bytes an element.
    pub(super) unpadded: Vec<u64>,
}

impl Sizes {
    pub(super) fn new(
        graph: &Dataflow<'_>,
        policy: &Policy,
        trees: &Trees,
        values: &Values,
    ) -> Result<Sizes, MemoryError> {
        let module = graph.module();
        let arrays: Vec<Option<u64>> = module
            .shapes
            .iter()
            .map(|(_, shape)| shape.array().map_or(Some(0), |array| policy.array_bytes(array)))
            .collect();
        let unpadded = module
            .shapes
            .iter()
            .map(|(id, _)| unpadded_bytes(&module.shapes, id).unwrap_or(u64::MAX))
            .collect();
        let mut bytes = vec![0; values.len()];
        let mut space = vec![0; values.len()];
        for id in module.ids() {
            let owner = table_owner(graph, id);
            let shape = module.instruction(id).shape;
            for (&node, &value) in trees.nodes(shape).iter().zip(values.all(id)) {
                let size = match module.shapes.get(node) {
                    Shape::Tuple(elements) => policy.table_bytes(elements.len() as u64, owner),
                    _ => arrays[node.index()],
                };
                let size = size.ok_or_else(|| MemoryError::Size {
                    instruction: module.instruction(id).name.to_owned(),
                })?;
                let largest: &mut u64 = &mut bytes[value.0 as usize];
                *largest = (*largest).max(size);
            }
        }
        for (value, definition) in values.definitions.iter().enumerate() {
            let shape = module.instruction(definition.instruction).shape;
            let node: ShapeId = trees.nodes(shape)[definition.offset as usize];
            space[value] = match module.shapes.get(node) {
                Shape::Array(array) | Shape::Buffer(array) => array.memory_space(),
                Shape::Tuple(_) => policy.table_space(table_owner(graph, definition.instruction)),
            };
        }
        Ok(Sizes { bytes, space, unpadded })
    }
}

fn table_owner(graph: &Dataflow<'_>, id: InstructionId) -> TableOwner {
    let computation = graph.module().instruction(id).computation;
    if graph.module().computation(computation).execution_thread != "sparsecore" {
        TableOwner::Main
    } else if graph.kind(computation) == ComputationKind::Control {
        TableOwner::SparseCoreControl
    } else {
        TableOwner::SparseCoreEmbedded
    }
}
