//! An array's layout in; the same in words for a person out.

use crate::hlo::{ArrayShape, Layout, Tile};
use std::fmt::Write;

/// How an array lies in memory: `dimension 1 (4096) varies fastest, then 0 (8); tiles of 8 x 128`,
/// and what the tiles pad.
pub(super) fn words(array: &ArrayShape) -> String {
    let Some(layout) = array.layout.as_deref().filter(|_| !array.dimensions.is_empty()) else {
        return String::new();
    };
    let size = |dimension: i64| {
        let at = usize::try_from(dimension).ok()?;
        array.dimensions.get(at).map(|dimension| dimension.size)
    };
    let order: Vec<String> = layout
        .minor_to_major
        .iter()
        .filter_map(|&dimension| Some(format!("{dimension} ({})", size(dimension)?)))
        .collect();
    let Some((first, rest)) = order.split_first() else { return String::new() };
    let mut words = format!("dimension {first} varies fastest");
    if !rest.is_empty() {
        _ = write!(words, ", then {}", rest.join(", "));
    }
    if let Some((outer, inner)) = layout.tiles.split_first() {
        _ = write!(words, "; in tiles of {}", tile(outer));
        for inner in inner {
            _ = write!(words, ", each in tiles of {}", tile(inner));
        }
        let padded = padded(layout, outer, &size);
        if !padded.is_empty() {
            _ = write!(words, "; padded: {}", padded.join(", "));
        }
    }
    if layout.element_size_in_bits > 0 {
        _ = write!(words, "; {} bits an element", layout.element_size_in_bits);
    }
    words
}

fn tile(tile: &Tile) -> String {
    let sizes: Vec<String> = tile
        .dimensions
        .iter()
        .map(|&size| if size == Tile::COMBINE { "*".to_owned() } else { size.to_string() })
        .collect();
    sizes.join(" x ")
}

/// `dimension 1 from 1 to 128`: what the outermost tile rounds up.
fn padded(layout: &Layout, outer: &Tile, size: &dyn Fn(i64) -> Option<u64>) -> Vec<String> {
    let minor_first = outer.dimensions.iter().rev();
    layout
        .minor_to_major
        .iter()
        .zip(minor_first)
        .filter_map(|(&dimension, &tile)| {
            let (size, tile) = (size(dimension)?, u64::try_from(tile).ok().filter(|&t| t > 0)?);
            let full = size.checked_next_multiple_of(tile)?;
            (full != size).then(|| format!("dimension {dimension} from {size} to {full}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn layouts() {
        let cases = [
            (
                "bf16[32,65536,1]{1,2,0:T(8,128)(2,1)}",
                "dimension 1 (65536) varies fastest, then 2 (1), 0 (32); in tiles of 8 x 128, each in \
                 tiles of 2 x 1; padded: dimension 2 from 1 to 8",
            ),
            ("f32[8,128]{1,0}", "dimension 1 (128) varies fastest, then 0 (8)"),
            ("f32[]", ""),
        ];
        for (shape, expected) in cases {
            let text = format!("HloModule m\nENTRY e {{ ROOT p = {shape} parameter(0) }}");
            let parsed = crate::text::parse_with(&text, crate::text::Strictness::Lenient).unwrap();
            let array = parsed.module.shape(parsed.module.entry().root).array().unwrap();
            assert_eq!(words(array), expected, "{shape}");
        }
    }
}
