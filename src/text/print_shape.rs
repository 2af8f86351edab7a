//! Shapes and layouts as text.

use crate::hlo::{ArrayShape, Bound, Dimension, Layout, Shape, ShapeId, Shapes, Tile};
use std::fmt::{self, Display, Formatter};

/// A shape as text, with its layouts or without.
pub(super) struct ShapeText<'m> {
    pub(super) shapes: &'m Shapes,
    pub(super) id: ShapeId,
    pub(super) layouts: bool,
}

/// A shape with its layouts, as the text prints it.
pub fn shape_text(shapes: &Shapes, id: ShapeId) -> String {
    ShapeText { shapes, id, layouts: true }.to_string()
}

/// What is still to be written of nested tuples.
enum Pending<'m> {
    Shape(ShapeId),
    Elements(std::iter::Enumerate<std::slice::Iter<'m, ShapeId>>),
}

impl Display for ShapeText<'_> {
    /// Without recursion: tuples nest as deeply as the reader allows.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut pending = vec![Pending::Shape(self.id)];
        while let Some(next) = pending.pop() {
            match next {
                Pending::Shape(id) => match self.shapes.get(id) {
                    Shape::Array(array) => self.array(f, array)?,
                    Shape::Buffer(array) => {
                        f.write_str("b(")?;
                        self.array(f, array)?;
                        f.write_str(")")?;
                    }
                    Shape::Tuple(elements) => {
                        f.write_str("(")?;
                        pending.push(Pending::Elements(elements.iter().enumerate()));
                    }
                },
                Pending::Elements(mut elements) => match elements.next() {
                    None => f.write_str(")")?,
                    Some((at, &element)) => {
                        match at {
                            0 => {}
                            _ if at % 5 == 0 => write!(f, ", /*index={at}*/")?,
                            _ => f.write_str(", ")?,
                        }
                        pending.push(Pending::Elements(elements));
                        pending.push(Pending::Shape(element));
                    }
                },
            }
        }
        Ok(())
    }
}

impl ShapeText<'_> {
    fn array(&self, f: &mut Formatter<'_>, array: &ArrayShape) -> fmt::Result {
        write!(f, "{}[", array.element_type)?;
        for (at, dimension) in array.dimensions.iter().enumerate() {
            f.write_str(if at > 0 { "," } else { "" })?;
            write_dimension(f, dimension)?;
        }
        f.write_str("]")?;
        match &array.layout {
            Some(layout) if self.layouts => write_layout(f, layout),
            _ => Ok(()),
        }
    }
}

fn write_dimension(f: &mut Formatter<'_>, dimension: &Dimension) -> fmt::Result {
    match dimension.bound {
        Bound::Static => write!(f, "{}", dimension.size),
        Bound::Dynamic => write!(f, "<={}", dimension.size),
        Bound::Unbounded => f.write_str("?"),
    }
}

/// Numbers with commas between them.
fn write_numbers(
    f: &mut Formatter<'_>,
    numbers: &[i64],
    write_one: impl Fn(&mut Formatter<'_>, i64) -> fmt::Result,
) -> fmt::Result {
    for (at, &number) in numbers.iter().enumerate() {
        f.write_str(if at > 0 { "," } else { "" })?;
        write_one(f, number)?;
    }
    Ok(())
}

fn plain(f: &mut Formatter<'_>, number: i64) -> fmt::Result {
    write!(f, "{number}")
}

fn write_layout(f: &mut Formatter<'_>, layout: &Layout) -> fmt::Result {
    f.write_str("{")?;
    write_numbers(f, &layout.minor_to_major, plain)?;
    let parts = LayoutParts(layout).to_string();
    if !parts.is_empty() || layout.minor_to_major.is_empty() {
        write!(f, ":{parts}")?;
    }
    f.write_str("}")
}

/// What stands behind the colon.
struct LayoutParts<'m>(&'m Layout);

impl Display for LayoutParts<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let layout = self.0;
        for (at, tile) in layout.tiles.iter().enumerate() {
            f.write_str(if at > 0 { "(" } else { "T(" })?;
            write_numbers(f, &tile.dimensions, |f, number| match number {
                Tile::COMBINE => f.write_str("*"),
                number => plain(f, number),
            })?;
            f.write_str(")")?;
        }
        if layout.tail_padding_alignment_in_elements != 1 {
            write!(f, "L({})", layout.tail_padding_alignment_in_elements)?;
        }
        if let Some(index_type) = layout.index_type {
            write!(f, "#({index_type})")?;
        }
        if let Some(pointer_type) = layout.pointer_type {
            write!(f, "*({pointer_type})")?;
        }
        if layout.element_size_in_bits != 0 {
            write!(f, "E({})", layout.element_size_in_bits)?;
        }
        if layout.memory_space != 0 {
            write!(f, "S({})", layout.memory_space)?;
        }
        if !layout.split_configs.is_empty() {
            f.write_str("SC")?;
            for split in &layout.split_configs {
                write!(f, "({}:", split.dimension)?;
                write_numbers(f, &split.indices, plain)?;
                f.write_str(")")?;
            }
        }
        match layout.dynamic_shape_metadata_prefix_bytes {
            0 => Ok(()),
            bytes => write!(f, "M({bytes})"),
        }
    }
}
