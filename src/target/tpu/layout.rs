//! The layout that entry parameters and results get where nothing pins one (facts: tpu-memory
//! section 9; the same on every chip tried).

use super::tiling::padded_bytes;
use crate::hlo::{ArrayShape, Layout, Tile};
use crate::target::policy::element_bits;
use smallvec::{SmallVec, smallvec};

/// The array with its default layout (types of two bits: s2 and u2 of six shapes on v5e, libtpu 0.0.52); the memory space stays. Unchanged where the rule does not know
/// the element type (64 bits and more) or there is nothing to lay out.
pub fn default_layout(array: &ArrayShape) -> ArrayShape {
    let bits = element_bits(array).unwrap_or(0);
    if bits == 0 || bits > 64 {
        return array.clone();
    }
    // Elements that share 32 bits; one for wider types.
    let packed = (32 / bits).max(1);
    let rank = array.dimensions.len();
    match rank {
        0 => laid_out(array, smallvec![], smallvec![tile(&[128 * packed])], bits),
        1 => {
            let size = array.dimensions[0].size.clamp(1, 1024).next_power_of_two();
            let mut tiles = smallvec![tile(&[size.max(128 * packed)])];
            if packed > 1 {
                tiles.push(tile(&[128]));
                tiles.push(tile(&[packed, 1]));
            }
            laid_out(array, smallvec![0], tiles, bits)
        }
        _ => smallest(array, packed, bits),
    }
}

/// The first of all orders of dimensions with the smallest padded size: every ordered pair of minor
/// and second-minor dimension, the others behind them, most minor first.
fn smallest(array: &ArrayShape, packed: u64, bits: u64) -> ArrayShape {
    let rank = array.dimensions.len() as i64;
    let mut best: Option<(u64, ArrayShape)> = None;
    for minor in (0..rank).rev() {
        for second in (0..rank).rev().filter(|&second| second != minor) {
            let others = (0..rank).rev().filter(|&at| at != minor && at != second);
            let order = [minor, second].into_iter().chain(others).collect();
            let rows = array.dimensions[second as usize].size;
            let mut tiles = smallvec![tile(&[sublanes(rows, packed), 128])];
            if packed > 1 {
                tiles.push(tile(&[packed, 1]));
            }
            let candidate = laid_out(array, order, tiles, bits);
            let bytes = padded_bytes(&candidate).unwrap_or(u64::MAX);
            if best.as_ref().is_none_or(|(smallest, _)| bytes < *smallest) {
                best = Some((bytes, candidate));
            }
        }
    }
    best.map_or_else(|| array.clone(), |(_, array)| array)
}

/// The first number of the tile, from the size of the second-minor dimension.
fn sublanes(rows: u64, packed: u64) -> u64 {
    let large = 8 * packed;
    if packed >= 4 && rows != 0 && rows.is_multiple_of(large) {
        large
    } else {
        rows.clamp(1, 8).next_power_of_two().max(packed).min(packed.max(8))
    }
}

fn tile(numbers: &[u64]) -> Tile {
    Tile { dimensions: numbers.iter().map(|&number| number as i64).collect() }
}

fn laid_out(
    array: &ArrayShape,
    minor_to_major: SmallVec<[i64; 4]>,
    tiles: SmallVec<[Tile; 2]>,
    bits: u64,
) -> ArrayShape {
    let layout = Layout {
        minor_to_major,
        tiles,
        tail_padding_alignment_in_elements: 1,
        element_size_in_bits: if bits < 8 { bits as i64 } else { 0 },
        memory_space: array.memory_space(),
        ..Layout::default()
    };
    ArrayShape { layout: Some(Box::new(layout)), ..array.clone() }
}

#[cfg(test)]
mod tests {
    use super::default_layout;
    use crate::hlo::{ArrayShape, Bound, Dimension, ElementType};
    use crate::target::tpu::padded_bytes;

    /// Lines of type, dimensions, minor_to_major, tiles and bytes, between tabs. Returns those that
    /// the rule misses, and how many there are.
    fn misses(table: &str) -> (Vec<String>, usize) {
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        let mut count = 0;
        let missed = lines.inspect(|_| count += 1).filter(|line| !agrees(line).unwrap_or(false));
        (missed.map(str::to_owned).collect(), count)
    }

    fn agrees(line: &str) -> Option<bool> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        let element_type = ElementType::from_text(next()?)?;
        let numbers = |text: &str| -> Vec<i64> {
            text.split(',').filter_map(|number| number.trim().parse().ok()).collect()
        };
        let dimensions = numbers(next()?);
        let array = ArrayShape {
            element_type,
            dimensions: dimensions
                .iter()
                .map(|&size| Dimension { size: size as u64, bound: Bound::Static })
                .collect(),
            layout: None,
        };
        let found = default_layout(&array);
        let layout = found.layout.as_deref()?;
        let tiles: String = layout
            .tiles
            .iter()
            .map(|tile| {
                let numbers: Vec<String> = tile.dimensions.iter().map(i64::to_string).collect();
                format!("({})", numbers.join(","))
            })
            .collect();
        Some(
            layout.minor_to_major.as_slice() == numbers(next()?)
                && tiles == next()?
                && padded_bytes(&found) == next()?.parse().ok(),
        )
    }

    #[test]
    fn ranks_and_types() {
        let table = "bf16\t\t\t(256)\t512\n\
                     bf16\t1\t0\t(256)(128)(2,1)\t512\n\
                     bf16\t1,1\t1,0\t(2,128)(2,1)\t512\n\
                     f32\t128,64\t0,1\t(8,128)\t32768\n\
                     f32\t1000,1000\t1,0\t(8,128)\t4096000\n\
                     f32\t18000000,3\t0,1\t(4,128)\t288000000\n\
                     s2\t1\t0\t(2048)(128)(16,1)\t512\n\
                     s2\t24,256\t1,0\t(16,128)(16,1)\t2048\n\
                     s2\t128,256\t1,0\t(128,128)(16,1)\t8192\n";
        assert_eq!(misses(table), (Vec::new(), 9));
    }

    /// The whole table of measured layouts, if a file is given.
    #[test]
    #[ignore = "takes a table of layouts: HLOLINT_LAYOUTS=FILE cargo test -- --ignored measured_layouts --nocapture"]
    fn measured_layouts() {
        let Some(path) = std::env::var_os("HLOLINT_LAYOUTS") else {
            println!("skipped: HLOLINT_LAYOUTS is not set");
            return;
        };
        let table = std::fs::read_to_string(path).unwrap();
        let (missed, count) = misses(&table);
        println!("{} of {count} layouts", count - missed.len());
        assert_eq!(missed, Vec::<String>::new());
    }
}
