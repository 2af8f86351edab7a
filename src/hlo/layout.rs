//! How an array lies in memory, as the text states it.

use smallvec::SmallVec;

/// One tile of a layout, `T(8,128)`: its numbers, most major first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// The numbers; [`Tile::COMBINE`] stands for `*` (combine with the next more minor dimension).
    pub dimensions: SmallVec<[i64; 2]>,
}

impl Tile {
    /// The value that stands for `*`.
    pub const COMBINE: i64 = i64::MIN;
}

/// A dimension that is split at fixed indices, `SC(0:1,2)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitConfig {
    /// The dimension.
    pub dimension: i64,
    /// The indices at which it is split.
    pub indices: Vec<i64>,
}

/// How an array lies in memory: what stands in braces behind the dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Dimension numbers, the most minor first. As long as the rank; the values are not checked.
    pub minor_to_major: SmallVec<[i64; 4]>,
    /// `T(..)(..)`: tiles, the outermost first.
    pub tiles: SmallVec<[Tile; 2]>,
    /// `L(n)`: the element count is rounded up to a multiple of n. 1 where absent.
    pub tail_padding_alignment_in_elements: i64,
    /// `E(n)`: bits an element takes. 0 where absent.
    pub element_size_in_bits: i64,
    /// `S(n)`: the memory space. 0 where absent.
    pub memory_space: i64,
    /// `M(n)`: bytes of the metadata prefix of a dynamic shape. 0 where absent.
    pub dynamic_shape_metadata_prefix_bytes: i64,
    /// `SC(..)`: split configurations.
    pub split_configs: Vec<SplitConfig>,
    /// `#(type)`: the index type.
    pub index_type: Option<super::ElementType>,
    /// `*(type)`: the pointer type.
    pub pointer_type: Option<super::ElementType>,
}
