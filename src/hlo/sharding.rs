//! How a value is spread over devices.

use super::ShardingId;

/// Device numbers, listed or generated: `0,1,2,3` or `<=[4,2]T(1,0)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceList {
    /// The numbers themselves.
    Explicit(Vec<i64>),
    /// The numbers 0.. reshaped, then transposed, then flattened.
    Iota {
        /// The reshape.
        reshape: Vec<i64>,
        /// The permutation; empty where the text gives none.
        transpose: Vec<i64>,
    },
}

/// `devices=[2,1,4]<=[8]` with what its last dimensions mean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileAssignment {
    /// Shards along each dimension; trailing ones that are subgroups are counted in `subgroups`.
    pub dimensions: Vec<i64>,
    /// The devices.
    pub devices: DeviceList,
    /// Meaning of the trailing dimensions (`last_tile_dims={..}`, or one `Replicated` for
    /// `last_tile_dim_replicate`).
    pub subgroups: Vec<ShardingKind>,
}

/// An axis of a named mesh.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeshAxis<'src> {
    /// The name, without quotes.
    pub name: &'src str,
    /// How many devices stand along it.
    pub size: i64,
}

/// `{mesh['x'=2,'y'=4], [{'x'}, {}]}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedSharding<'src> {
    /// The axes of the mesh, in order.
    pub mesh: Vec<MeshAxis<'src>>,
    /// For each dimension of the array the axes (names, sub-axes as written) that split it.
    pub dimensions: Vec<Vec<&'src str>>,
    /// Axes named as replicated.
    pub replicated: Vec<&'src str>,
}

/// What a sharding is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ShardingKind {
    /// Every device holds the whole value.
    Replicated,
    /// The program spreads the value by hand (inside shard_map).
    Manual,
    /// Not decided.
    Unknown,
    /// Partial results still to be added up.
    Unreduced,
    /// One device holds the value.
    Maximal,
}

/// The sharding of an instruction, as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sharding<'src> {
    /// One of the words. `Maximal` names its device.
    Kind {
        /// The word.
        kind: ShardingKind,
        /// The device of a maximal sharding.
        device: Option<i64>,
    },
    /// Split over devices.
    Tiled(TileAssignment),
    /// Split over named axes.
    Named(NamedSharding<'src>),
    /// One sharding for each leaf of a tuple.
    Tuple(Vec<ShardingId>),
}

impl Sharding<'_> {
    /// Whether every device holds the whole value.
    pub fn is_replicated(&self) -> bool {
        match self {
            Sharding::Kind { kind, .. } => *kind == ShardingKind::Replicated,
            Sharding::Tiled(tiles) => {
                let split = tiles.dimensions.len().saturating_sub(tiles.subgroups.len());
                tiles.subgroups.iter().all(|kind| *kind == ShardingKind::Replicated)
                    && tiles.dimensions.iter().take(split).all(|&shards| shards == 1)
            }
            Sharding::Named(named) => named.dimensions.iter().all(Vec::is_empty),
            Sharding::Tuple(_) => false,
        }
    }
}
