//! Block or buffer sizes in; bytes in VMEM out (facts: mosaic-vmem section 3).

use super::kernel::MemRef;
use crate::hlo::ArrayShape;

const LANES: u64 = 128;

/// What windows and `run_scoped` buffers take is a multiple of this.
pub const GRANULE_BYTES: u64 = 1024;

/// The tile of an array's last two dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows.
    pub rows: u64,
    /// Lanes.
    pub lanes: u64,
}

/// Elements of 32 bits.
fn packing(bits: u64) -> u64 {
    (32 / bits.max(1)).max(1)
}

fn round_up(value: u64, multiple: u64) -> Option<u64> {
    value.checked_next_multiple_of(multiple.max(1))
}

/// Rounds up to [`GRANULE_BYTES`].
pub fn granules(bytes: u64) -> Option<u64> {
    round_up(bytes, GRANULE_BYTES)
}

/// The tile of an operand: as its layout states, or as the compiler will choose it where the text
/// has no tiles yet.
pub fn operand_tile(shape: &ArrayShape, bits: u64) -> Tile {
    let sizes: Vec<u64> = shape.dimensions.iter().map(|dimension| dimension.size).collect();
    let stated = shape.layout.as_ref().and_then(|layout| layout.tiles.first());
    let stated = stated.and_then(|tile| {
        let number = |at: usize| tile.dimensions.get(at).and_then(|&n| u64::try_from(n).ok());
        match tile.dimensions.len() {
            2 => Some(Tile { rows: number(0)?.max(1), lanes: number(1)?.max(1) }),
            1 => Some(Tile { rows: 1, lanes: number(0)?.max(1) }),
            _ => None,
        }
    });
    stated.unwrap_or_else(|| default_tile(&sizes, bits))
}

fn default_tile(sizes: &[u64], bits: u64) -> Tile {
    let pack = packing(bits);
    match sizes {
        [.., rows, _] => {
            let rows = match bits {
                8 if rows % 32 == 0 => 32,
                4 if rows % 64 == 0 => 64,
                _ => rows.clamp(&1, &8).next_power_of_two().max(pack).min(pack.max(8)),
            };
            Tile { rows, lanes: LANES }
        }
        [size] => {
            let smallest = LANES * pack;
            let mut lanes = smallest;
            while lanes < 1024 && lanes < *size {
                lanes *= 2;
            }
            Tile { rows: 1, lanes: lanes.max(smallest) }
        }
        [] => Tile { rows: 1, lanes: LANES },
    }
}

/// Bytes of one buffer of a window.
pub fn window_bytes(block: &[u64], tile: Tile, bits: u64) -> Option<u64> {
    let elements = match block {
        [leading @ .., rows, lanes] => {
            let padded = round_up(*rows, tile.rows)?.checked_mul(round_up(*lanes, tile.lanes)?)?;
            product(leading)?.checked_mul(padded)?
        }
        [size] => round_up(*size, LANES * packing(bits))?,
        [] => LANES,
    };
    Some(elements.checked_mul(bits)?.div_ceil(8))
}

fn product(sizes: &[u64]) -> Option<u64> {
    sizes.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
}

/// Bits that an element of scratch takes: below a byte a whole one, booleans 32.
pub fn scratch_bits(bits: u64) -> u64 {
    match bits {
        1 => 32,
        2..8 => 8,
        _ => bits,
    }
}

/// Rows of the tile of a buffer that Mosaic lays out: the smallest power of two that holds them,
/// from what a 32-bit element packs up to 8 (for types of less than a byte up to 64).
pub fn scratch_tile_rows(rows: u64, bits: u64) -> u64 {
    let pack = packing(bits);
    let most = if bits < 8 { 64 } else { 8 };
    rows.clamp(1, most).next_power_of_two().clamp(pack.min(most), most)
}

/// Bytes of a scratch or `run_scoped` buffer; `None` where a size or its type is unknown.
pub fn scratch_bytes(memref: &MemRef) -> Option<u64> {
    let bits = memref.element_bits?;
    let sizes = sizes(&memref.dimensions)?;
    let stored = scratch_bits(bits);
    let elements = match sizes.as_slice() {
        [leading @ .., rows, lanes] => {
            let rows =
                round_up(*rows, scratch_tile_rows(*rows, if bits == 1 { 32 } else { bits }))?;
            product(leading)?.checked_mul(rows)?.checked_mul(round_up(*lanes, LANES)?)?
        }
        [size] => round_up(*size, LANES * packing(stored))?,
        [] => LANES * packing(stored),
    };
    Some(elements.checked_mul(stored)?.div_ceil(8))
}

/// Sizes as unsigned numbers; `None` where one is not static.
pub fn sizes(dimensions: &[i64]) -> Option<Vec<u64>> {
    dimensions.iter().map(|&size| u64::try_from(size).ok()).collect()
}

/// Whether a buffer of this shape consists of whole vector registers, so that what is stored can be
/// handed on without the memory (facts: mosaic-vmem section 11, correction 1). `is_large_tiled`:
/// 16-bit types may have 16 rows.
pub fn is_whole_registers(memref: &MemRef, has_wide_16_bit_tiles: bool) -> bool {
    is_whole_part(memref, &memref.dimensions, has_wide_16_bit_tiles)
}

/// Whether a part of such a size is: it lies in the tiles of the whole buffer.
pub fn is_whole_part(memref: &MemRef, part: &[i64], has_wide_16_bit_tiles: bool) -> bool {
    let (Some(bits), Some(whole), Some(part)) =
        (memref.element_bits, sizes(&memref.dimensions), sizes(part))
    else {
        return false;
    };
    let bits = scratch_bits(bits);
    let pack = packing(bits);
    let full = 8 * pack;
    match (whole.as_slice(), part.as_slice()) {
        ([.., all_rows, _], [.., rows, lanes]) => {
            let large = match bits {
                8 => all_rows.is_multiple_of(full),
                16 => has_wide_16_bit_tiles && all_rows.is_multiple_of(16),
                _ => false,
            };
            let tile = if large { full } else { scratch_tile_rows(*all_rows, bits) };
            rows.is_multiple_of(tile) && lanes.is_multiple_of(LANES * (full / tile).max(1))
                || *lanes == LANES && rows.is_multiple_of(full)
        }
        ([_], [size]) => size.is_multiple_of(1024 * pack),
        _ => false,
    }
}

/// Whether a block is one run of the array's tiles, so that an operand in VMEM needs no window.
pub fn is_contiguous(array: &[u64], block: &[u64], tile: Tile, is_result: bool) -> bool {
    if array.len() != block.len() {
        return false;
    }
    let rank = array.len();
    let unit = |at: usize| match rank - at {
        1 => tile.lanes,
        2 => tile.rows,
        _ => 1,
    };
    let mut must_be_whole = false;
    for (at, (&array, &block)) in array.iter().zip(block).enumerate() {
        let (array, block) = (array.div_ceil(unit(at).max(1)), block.div_ceil(unit(at).max(1)));
        if must_be_whole && array != block {
            return false;
        }
        if is_result && (block == 0 || array % block != 0) {
            return false;
        }
        must_be_whole |= block > 1;
    }
    true
}
