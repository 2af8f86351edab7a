//! Shapes flattened: every shape's subshapes in pre-order, so that an index into nested tuples is one
//! number, its offset.

use super::MemoryError;
use crate::hlo::{Shape, ShapeId, ShapeIndex, Shapes};

/// The subshapes of every shape of a module.
#[derive(Clone, Debug, Default)]
pub(super) struct Trees {
    /// Per shape: how many subshapes it has, itself included.
    counts: Vec<u32>,
    /// Per shape: where its subshapes start in `nodes`.
    starts: Vec<u32>,
    nodes: Vec<ShapeId>,
    /// Per shape: where its elements' offsets start in `offsets`.
    offset_starts: Vec<u32>,
    /// Offsets of tuples' elements: summing them anew for each element of a tuple is quadratic.
    offsets: Vec<u32>,
}

/// Subshapes of all distinct shapes together; a text of 4 GiB stays far below.
const MAX_NODES: usize = 1 << 28;

impl Trees {
    /// Flattens all shapes. A tuple stands behind its elements in the arena.
    pub(super) fn new(shapes: &Shapes) -> Result<Trees, MemoryError> {
        let mut trees = Trees::default();
        for (id, shape) in shapes.iter() {
            trees.starts.push(trees.nodes.len() as u32);
            trees.nodes.push(id);
            trees.offset_starts.push(trees.offsets.len() as u32);
            let mut offset = 1;
            for element in shape.elements().unwrap_or(&[]) {
                if element.index() >= id.index() {
                    return Err(MemoryError::MalformedShape);
                }
                let range = trees.range(*element);
                if trees.nodes.len() + range.len() > MAX_NODES {
                    return Err(MemoryError::TooLarge);
                }
                trees.offsets.push(offset);
                offset += range.len() as u32;
                trees.nodes.extend_from_within(range);
            }
            let start = trees.starts[id.index()] as usize;
            trees.counts.push((trees.nodes.len() - start) as u32);
        }
        Ok(trees)
    }

    fn range(&self, id: ShapeId) -> std::ops::Range<usize> {
        let start = self.starts[id.index()] as usize;
        start..start + self.counts[id.index()] as usize
    }

    /// How many subshapes a shape has, itself included.
    pub(super) fn count(&self, id: ShapeId) -> u32 {
        self.counts[id.index()]
    }

    /// The subshapes in pre-order; the position of one is its offset.
    pub(super) fn nodes(&self, id: ShapeId) -> &[ShapeId] {
        &self.nodes[self.range(id)]
    }

    /// The offsets of a tuple's elements, in ascending order; none of an array.
    fn element_offsets(&self, shapes: &Shapes, id: ShapeId) -> &[u32] {
        let start = self.offset_starts[id.index()] as usize;
        &self.offsets[start..start + shapes.get(id).elements().map_or(0, <[_]>::len)]
    }

    /// The offset of a tuple's element; `None` where there is none.
    pub(super) fn element(&self, shapes: &Shapes, id: ShapeId, element: u32) -> Option<u32> {
        self.element_offsets(shapes, id).get(element as usize).copied()
    }

    /// The offset of an index into nested tuples; `None` where there is none.
    pub(super) fn offset(&self, shapes: &Shapes, id: ShapeId, index: &[u32]) -> Option<u32> {
        let (mut offset, mut at) = (0, id);
        for &element in index {
            offset += self.element(shapes, at, element)?;
            at = *shapes.get(at).elements()?.get(element as usize)?;
        }
        Some(offset)
    }

    /// The index of an offset.
    pub(super) fn index(&self, shapes: &Shapes, id: ShapeId, offset: u32) -> ShapeIndex {
        let mut index = ShapeIndex::new();
        let (mut rest, mut at) = (offset, id);
        while rest > 0 {
            let Shape::Tuple(elements) = shapes.get(at) else { break };
            let offsets = self.element_offsets(shapes, at);
            let Some(number) = offsets.partition_point(|&start| start <= rest).checked_sub(1)
            else {
                break;
            };
            index.push(number as u32);
            rest -= offsets[number];
            at = elements[number];
        }
        index
    }
}
