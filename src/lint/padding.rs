//! What tiles cost an array: which dimensions are padded, and the layout in which it would be
//! smallest.

use crate::hlo::{ArrayShape, Tile};
use crate::target::tpu::{default_layout, padded_bytes};
use smallvec::SmallVec;

/// A dimension that tiles make longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pad {
    /// The number of the dimension, from 0.
    pub(super) dimension: usize,
    /// Its size.
    pub(super) size: u64,
    /// Its size in memory.
    pub(super) padded: u64,
}

/// The dimensions that the first tile of an array's layout makes longer, the most minor first.
pub(super) fn pads(array: &ArrayShape) -> SmallVec<[Pad; 2]> {
    let Some(layout) = array.layout.as_deref() else { return SmallVec::new() };
    let tile = layout.tiles.first().map_or(&[][..], |tile| &tile.dimensions);
    let of_dimension = |(&dimension, &number): (&i64, &i64)| {
        let dimension = usize::try_from(dimension).ok()?;
        let size = array.dimensions.get(dimension)?.size;
        let padded =
            size.checked_next_multiple_of(u64::try_from(number).ok().filter(|&n| n > 0)?)?;
        Some(Pad { dimension, size, padded })
    };
    layout
        .minor_to_major
        .iter()
        .zip(tile.iter().rev().take_while(|&&number| number != Tile::COMBINE))
        .filter_map(of_dimension)
        .filter(|pad| pad.padded != pad.size)
        .collect()
}

/// Pads in words: `dimension 1 of 3 padded to 128`.
pub(super) fn pads_text(array: &ArrayShape) -> String {
    let pads: Vec<String> = pads(array)
        .iter()
        .map(|pad| format!("dimension {} of {} padded to {}", pad.dimension, pad.size, pad.padded))
        .collect();
    pads.join(", ")
}

/// The array in the layout in which it takes least, with its bytes, where that is less than now.
pub(super) fn smaller_layout(array: &ArrayShape) -> Option<(ArrayShape, u64)> {
    let best = default_layout(array);
    let (now, then) = (padded_bytes(array)?, padded_bytes(&best)?);
    (then < now).then_some((best, then))
}

/// The dimensions of an array in the order in which they lie in memory, as a row-major shape:
/// `f32[3,18000000]` for `f32[18000000,3]{0,1}`.
pub(super) fn row_major_text(array: &ArrayShape) -> String {
    let order = array.layout.as_deref().map_or(&[][..], |layout| &layout.minor_to_major);
    let sizes: Vec<String> = order
        .iter()
        .rev()
        .filter_map(|&at| Some(array.dimensions.get(usize::try_from(at).ok()?)?.size.to_string()))
        .collect();
    format!("{}[{}]", array.element_type, sizes.join(","))
}

/// `{1,0:T(8,128)}`: the order of dimensions and the tiles of an array.
pub(super) fn layout_text(array: &ArrayShape) -> String {
    let Some(layout) = array.layout.as_deref() else { return "{}".to_owned() };
    let numbers = |numbers: &[i64]| {
        let texts: Vec<String> = numbers
            .iter()
            .map(
                |&number| if number == Tile::COMBINE { "*".to_owned() } else { number.to_string() },
            )
            .collect();
        texts.join(",")
    };
    let tiles: String =
        layout.tiles.iter().map(|tile| format!("({})", numbers(&tile.dimensions))).collect();
    let tiles = if tiles.is_empty() { tiles } else { format!(":T{tiles}") };
    format!("{{{}{tiles}}}", numbers(&layout.minor_to_major))
}

/// The shape with the last dimension filled up to 128 lanes from the one before, where it is padded
/// and the two are small parts of the whole: `bf16[4,2048,8,128]` for `bf16[4,2048,16,64]`.
pub(super) fn packed_text(array: &ArrayShape) -> Option<String> {
    const LANES: u64 = 128;
    let [rest @ .., before, last] = array.dimensions.as_slice() else { return None };
    let minor = *array.layout.as_deref()?.minor_to_major.first()?;
    let is_last = usize::try_from(minor).ok()? == array.dimensions.len().checked_sub(1)?;
    let side_by_side = LANES.checked_div(last.size)?;
    let fits = side_by_side > 1
        && LANES.is_multiple_of(last.size)
        && before.size.is_multiple_of(side_by_side);
    if !is_last || rest.is_empty() || before.size >= LANES || !fits {
        return None;
    }
    let sizes: Vec<String> = rest
        .iter()
        .map(|dimension| dimension.size)
        .chain([before.size / side_by_side, LANES])
        .map(|size| size.to_string())
        .collect();
    Some(format!("{}[{}]", array.element_type, sizes.join(",")))
}

#[cfg(test)]
mod tests {
    use super::{layout_text, packed_text, pads_text, row_major_text, smaller_layout};
    use crate::text;

    #[test]
    fn words() {
        let cases = [
            (
                "f32[18000000,3]{1,0:T(8,128)}",
                "dimension 1 of 3 padded to 128",
                Some(("f32[3,18000000]", 288_000_000)),
                None,
            ),
            (
                "f32[128,256,896,18]{0,3,2,1:T(8,128)}",
                "dimension 3 of 18 padded to 24",
                Some(("f32[128,18,256,896]", 2_113_929_216)),
                None,
            ),
            (
                "bf16[4,8,2048,16,64]{4,3,1,2,0:T(8,128)(2,1)}",
                "dimension 4 of 64 padded to 128",
                Some(("bf16[4,8,16,64,2048]", 134_217_728)),
                Some("bf16[4,8,2048,8,128]"),
            ),
            ("f32[8,128]{1,0:T(8,128)}", "", None, None),
        ];
        for (shape, pads, smaller, packed) in cases {
            let text = format!("HloModule m\n\nENTRY e {{\n  ROOT p = {shape} parameter(0)\n}}\n");
            let parsed = text::parse(&text).unwrap();
            let array = parsed.module.shape(parsed.module.entry().root).array().unwrap();
            assert_eq!(pads_text(array), pads, "{shape}");
            let found = smaller_layout(array);
            let found = found.as_ref().map(|(array, bytes)| (row_major_text(array), *bytes));
            let found = found.as_ref().map(|(text, bytes)| (text.as_str(), *bytes));
            assert_eq!(found, smaller, "{shape}");
            assert_eq!(packed_text(array).as_deref(), packed, "{shape}");
            assert!(shape.ends_with(&layout_text(array)), "{shape}");
        }
    }
}
