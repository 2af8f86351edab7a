//! An instruction.

use super::{ComputationId, IdRange, Opcode, ShapeId, Span};

/// An instruction. Operands and attributes stand in the module's arenas: see
/// [`Module::operands`](super::Module::operands) and
/// [`Module::attributes`](super::Module::attributes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction<'src> {
    /// The name without `%`; empty for a nested operand that the text does not name.
    pub name: &'src str,
    /// The whole instruction in the text, from its name (or `ROOT`) to the end of its last
    /// attribute. Empty for instructions that the text only implies (async sugar).
    pub span: Span,
    /// The shape of the result.
    pub shape: ShapeId,
    /// The computation it belongs to.
    pub computation: ComputationId,
    /// Run of [`Module::operand_arena`](super::Module::operand_arena).
    pub operands: IdRange,
    /// Run of [`Module::attribute_arena`](super::Module::attribute_arena).
    pub attributes: IdRange,
    /// The operation.
    pub opcode: Opcode,
}
