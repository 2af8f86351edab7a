//! Indices into a module's arenas, and positions in its text.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub struct $name(pub u32);

            impl $name {
                /// The position in the arena.
                pub const fn index(self) -> usize {
                    self.0 as usize
                }
            }
        )+
    };
}

ids! {
    /// An instruction: its position in [`Module::instructions`](crate::hlo::Module::instructions).
    InstructionId,
    /// A computation: its position in [`Module::computations`](crate::hlo::Module::computations).
    ComputationId,
    /// An interned shape of [`Module::shapes`](crate::hlo::Module::shapes).
    ShapeId,
    /// An interned sharding of [`Module::shardings`](crate::hlo::Module::shardings).
    ShardingId,
    /// Metadata of an instruction, in [`Module::metadata`](crate::hlo::Module::metadata).
    MetadataId,
}

/// A run of entries of one of a module's arenas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IdRange {
    /// The first entry.
    pub start: u32,
    /// One past the last entry.
    pub end: u32,
}

impl IdRange {
    /// The run as a range of positions.
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// How many entries the run has.
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Whether the run has no entry.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A stretch of the module's text, in bytes. Texts are shorter than 4 GiB (the reader refuses longer
/// ones).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just after the last byte.
    pub end: u32,
}

impl Span {
    /// The stretch as a range of offsets.
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}
