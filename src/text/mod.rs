//! Bytes in; an [`hlo::Module`](crate::hlo::Module) out, and back to text.
