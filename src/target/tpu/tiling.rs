//! Padded sizes of arrays (facts: tpu-memory section 1).

use super::space;
use crate::hlo::{ArrayShape, Tile};
use crate::target::policy::element_bits;
use smallvec::SmallVec;

/// Elements that an array without tiles is padded to (measured).
const UNTILED_GRANULE: u64 = 1024;

/// The size of an array on a TPU, padding included; `None` when it does not fit 64 bits or the tiles
/// make no sense.
pub fn padded_bytes(array: &ArrayShape) -> Option<u64> {
    if !array.element_type.is_array() {
        return Some(0);
    }
    let sizes = sizes(array);
    let elements = product(&sizes)?;
    if elements == 0 {
        return Some(0);
    }
    let bits = element_bits(array)?;
    let Some(layout) = array.layout.as_deref() else {
        return elements.checked_next_multiple_of(UNTILED_GRANULE)?.checked_mul(bits).map(bytes);
    };
    let padded = if space::is_unpadded(layout.memory_space) {
        elements
    } else if layout.tiles.is_empty() {
        elements.checked_next_multiple_of(UNTILED_GRANULE)?
    } else {
        let mut dimensions = physical(sizes, &layout.minor_to_major)?;
        for tile in &layout.tiles {
            apply(tile, &mut dimensions)?;
        }
        product(&dimensions)?
    };
    let tail = u64::try_from(layout.tail_padding_alignment_in_elements).ok()?.max(1);
    let prefix = u64::try_from(layout.dynamic_shape_metadata_prefix_bytes).ok()?;
    padded.checked_next_multiple_of(tail)?.checked_mul(bits).map(bytes)?.checked_add(prefix)
}

fn bytes(bits: u64) -> u64 {
    bits.div_ceil(8)
}

type Sizes = SmallVec<[u64; 8]>;

fn product(sizes: &[u64]) -> Option<u64> {
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.iter().try_fold(1_u64, |count, &size| count.checked_mul(size))
}

/// The logical dimensions. Of one that is split (`SC(0:512)`, over the two cores of v5p) the largest
/// part counts (measured).
fn sizes(array: &ArrayShape) -> Sizes {
    let mut sizes: Sizes = array.dimensions.iter().map(|dimension| dimension.size).collect();
    for split in array.layout.iter().flat_map(|layout| &layout.split_configs) {
        let size = usize::try_from(split.dimension).ok().and_then(|at| sizes.get_mut(at));
        let Some(size) = size else { continue };
        let (mut from, mut largest) = (0, 0);
        for &index in &split.indices {
            let to = u64::try_from(index).unwrap_or(0).min(*size);
            largest = to.saturating_sub(from).max(largest);
            from = to.max(from);
        }
        *size = largest.max(*size - from);
    }
    sizes
}

/// The dimensions, the most major first.
fn physical(sizes: Sizes, minor_to_major: &[i64]) -> Option<Sizes> {
    if minor_to_major.len() != sizes.len() {
        return Some(sizes);
    }
    minor_to_major.iter().rev().map(|&at| sizes.get(usize::try_from(at).ok()?).copied()).collect()
}

/// Replaces each of the last dimensions by its count of tiles and appends the tile's numbers. A `*`
/// combines a dimension with the next more minor one.
fn apply(tile: &Tile, dimensions: &mut Sizes) -> Option<()> {
    let numbers = &tile.dimensions;
    while dimensions.len() < numbers.len() {
        dimensions.insert(0, 1);
    }
    let first = dimensions.len() - numbers.len();
    let mut carried = 1_u64;
    for (at, &number) in numbers.iter().enumerate() {
        let size = dimensions[first + at].checked_mul(carried)?;
        if number == Tile::COMBINE {
            dimensions[first + at] = 1;
            carried = size;
        } else {
            dimensions[first + at] = size.div_ceil(u64::try_from(number).ok().filter(|n| *n > 0)?);
            carried = 1;
        }
    }
    for &number in numbers {
        dimensions.push(if number == Tile::COMBINE { 1 } else { u64::try_from(number).ok()? });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::padded_bytes;
    use crate::hlo::{ArrayShape, Bound, Dimension, ElementType, Layout, Tile};

    fn array(element_type: ElementType, sizes: &[u64], layout: Option<Layout>) -> ArrayShape {
        ArrayShape {
            element_type,
            dimensions: sizes
                .iter()
                .map(|&size| Dimension { size, bound: Bound::Static })
                .collect(),
            layout: layout.map(Box::new),
        }
    }

    fn layout(
        minor_to_major: &[i64],
        tiles: &[&[i64]],
        space: i64,
        tail: i64,
        bits: i64,
    ) -> Layout {
        Layout {
            minor_to_major: minor_to_major.iter().copied().collect(),
            tiles: tiles
                .iter()
                .map(|tile| Tile { dimensions: tile.iter().copied().collect() })
                .collect(),
            memory_space: space,
            tail_padding_alignment_in_elements: tail,
            element_size_in_bits: bits,
            ..Layout::default()
        }
    }

    #[test]
    fn sizes() {
        use ElementType::*;
        let cases = [
            (array(F32, &[1000, 1000], Some(layout(&[1, 0], &[&[8, 128]], 0, 1, 0))), 4_096_000),
            (
                array(Bf16, &[1000, 1000], Some(layout(&[1, 0], &[&[8, 128], &[2, 1]], 0, 1, 0))),
                2_048_000,
            ),
            (array(S32, &[], Some(layout(&[], &[&[128]], 0, 1, 0))), 512),
            (array(Pred, &[], Some(layout(&[], &[&[512]], 0, 1, 0))), 512),
            (array(Bf16, &[], None), 2048),
            (array(S32, &[], Some(layout(&[], &[], 4, 1, 0))), 4096),
            (array(U32, &[], Some(layout(&[], &[&[128]], 2, 1, 0))), 4),
            (array(S4, &[8, 128], Some(layout(&[1, 0], &[&[8, 128], &[8, 1]], 0, 1, 4))), 512),
            (array(F32, &[100_000, 4], Some(layout(&[1, 0], &[&[8]], 0, 1024, 0))), 3_203_072),
            (array(F32, &[0, 4], Some(layout(&[1, 0], &[&[8, 128]], 0, 1, 0))), 0),
            (array(Token, &[], None), 0),
        ];
        for (array, expected) in cases {
            assert_eq!(padded_bytes(&array), Some(expected), "{array:?}");
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let huge =
            array(ElementType::F32, &[u64::MAX, 2], Some(layout(&[1, 0], &[&[8, 128]], 0, 1, 0)));
        assert_eq!(padded_bytes(&huge), None);
        let zero_tile = array(ElementType::F32, &[8], Some(layout(&[0], &[&[0]], 0, 1, 0)));
        assert_eq!(padded_bytes(&zero_tile), None);
    }
}
