//! The questions that the memory analysis asks of a machine and its compiler.

/// The compiler backend that wrote a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// XLA:TPU.
    Tpu,
    /// XLA:GPU.
    Gpu,
    /// XLA:CPU.
    Cpu,
}
