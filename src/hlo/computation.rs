//! A computation.

use super::{IdRange, InstructionId, ShapeId};

/// A computation: a run of the module's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation<'src> {
    /// The name without `%`; empty for an inline body.
    pub name: &'src str,
    /// Its instructions in text order, a run of [`Module::instructions`](super::Module::instructions).
    pub instructions: IdRange,
    /// The instruction marked `ROOT`, else the last.
    pub root: InstructionId,
    /// The result shape of the signature, where the text has one.
    pub result: Option<ShapeId>,
    /// `execution_thread`, empty for the main thread.
    pub execution_thread: &'src str,
}

impl Computation<'_> {
    /// Its instructions in text order.
    pub fn ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = InstructionId> + ExactSizeIterator + use<> {
        (self.instructions.start..self.instructions.end).map(InstructionId)
    }
}
