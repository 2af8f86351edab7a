//! The module as plain data. Nothing here reads text, and a shape knows nothing of bytes.
//!
//! A [`Module`] borrows the text it was read from. Instructions of all computations stand in one
//! `Vec`; ids index it, so that an analysis is a `Vec` beside it. Shapes and shardings are interned:
//! equal ids mean equal shapes.

mod attribute;
mod computation;
mod element_type;
mod header;
mod ids;
mod instruction;
mod layout;
mod metadata;
mod module;
mod opcode;
mod shape;
mod sharding;

pub use attribute::{AliasPair, Attribute, AttributeName, CallRole};
pub use computation::Computation;
pub use element_type::ElementType;
pub use header::{AliasKind, Header, InputOutputAlias, ParameterIndex};
pub use ids::{ComputationId, IdRange, InstructionId, MetadataId, ShapeId, ShardingId, Span};
pub use instruction::Instruction;
pub use layout::{Layout, SplitConfig, Tile};
pub use metadata::{FileLocation, FrameTables, Metadata, SourceLocation, StackFrame};
pub use module::{Form, Module};
pub use opcode::Opcode;
pub use shape::{ArrayShape, Bound, Dimension, Shape, ShapeIndex, Shapes};
pub use sharding::{DeviceList, MeshAxis, NamedSharding, Sharding, ShardingKind, TileAssignment};
