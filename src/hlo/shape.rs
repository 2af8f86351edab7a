//! Shapes, interned: an id names one shape of a module, equal ids mean equal shapes.

use super::{ElementType, Layout, ShapeId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What the text says of a dimension's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bound {
    /// `8`: always this size.
    #[default]
    Static,
    /// `<=8`: at most this size.
    Dynamic,
    /// `?`: any size.
    Unbounded,
}

/// One dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// The size, or its bound; 0 for an unbounded one.
    pub size: u64,
    /// Whether the size is fixed.
    pub bound: Bound,
}

/// An array: element type, dimensions (most major first, logical order), layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    /// The type of an element.
    pub element_type: ElementType,
    /// The logical dimensions.
    pub dimensions: SmallVec<[Dimension; 4]>,
    /// The layout, where the text gives one.
    pub layout: Option<Box<Layout>>,
}

impl ArrayShape {
    /// The memory space: `S(n)` of the layout, else 0.
    pub fn memory_space(&self) -> i64 {
        self.layout.as_ref().map_or(0, |layout| layout.memory_space)
    }

    /// Product of the dimensions; `None` when it does not fit 64 bits.
    pub fn elements(&self) -> Option<u64> {
        if self.dimensions.iter().any(|dimension| dimension.size == 0) {
            return Some(0);
        }
        self.dimensions.iter().try_fold(1_u64, |count, dimension| count.checked_mul(dimension.size))
    }
}

/// A shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An array (a scalar has no dimensions; `token[]` and `opaque[]` are arrays of those types).
    Array(ArrayShape),
    /// A tuple of shapes.
    Tuple(Box<[ShapeId]>),
    /// `b(array)`: a buffer that holds an array.
    Buffer(ArrayShape),
}

impl Shape {
    /// The array, for an array or a buffer.
    pub fn array(&self) -> Option<&ArrayShape> {
        match self {
            Shape::Array(array) | Shape::Buffer(array) => Some(array),
            Shape::Tuple(_) => None,
        }
    }

    /// The elements, for a tuple.
    pub fn elements(&self) -> Option<&[ShapeId]> {
        match self {
            Shape::Tuple(elements) => Some(elements),
            _ => None,
        }
    }
}

/// A path into nested tuples; empty for the shape itself.
pub type ShapeIndex = SmallVec<[u32; 2]>;

/// All shapes of a module, each once.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    shapes: Vec<Shape>,
    ids: FxHashMap<Shape, ShapeId>,
}

impl Shapes {
    /// The id of a shape; new where the shape was not seen before.
    pub fn intern(&mut self, shape: Shape) -> ShapeId {
        if let Some(&id) = self.ids.get(&shape) {
            return id;
        }
        let id = ShapeId(self.shapes.len() as u32);
        self.shapes.push(shape.clone());
        self.ids.insert(shape, id);
        id
    }

    /// The shape of an id of this module.
    pub fn get(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.index()]
    }

    /// How many distinct shapes there are.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether there is no shape.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// Every shape with its id; a tuple stands behind its elements.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ShapeId, &Shape)> {
        self.shapes.iter().enumerate().map(|(at, shape)| (ShapeId(at as u32), shape))
    }

    /// The shape at an index into nested tuples; `None` where there is none.
    pub fn subshape(&self, id: ShapeId, index: &[u32]) -> Option<ShapeId> {
        index.iter().try_fold(id, |id, &at| self.get(id).elements()?.get(at as usize).copied())
    }
}
