//! Why a kernel has no estimate.

use thiserror::Error;

/// Why a kernel has no estimate. Nothing of it is an error of the program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unknown {
    /// The instruction calls no kernel.
    #[error("not a kernel")]
    NotAKernel,
    /// A Triton or Mosaic GPU kernel.
    #[error("not a TPU kernel")]
    Gpu,
    /// The kernel runs on a SparseCore, which has another memory.
    #[error("a SparseCore kernel: it uses no scoped VMEM of the TensorCore")]
    SparseCore,
    /// The call is fused with its inputs, and the fusion decides the windows.
    #[error("fused with its inputs: the fusion decides the windows")]
    Fused,
    /// The backend config has another form.
    #[error("the backend_config is not the JSON of a TPU kernel")]
    Config,
    /// The body is not base64.
    #[error("the kernel's body is not base64")]
    Base64,
    /// The body is not bytecode.
    #[error("the kernel's body is not MLIR bytecode")]
    NotBytecode,
    /// The body is MLIR as text: XLA writes so the kernels that it makes itself.
    #[error("a kernel of XLA's own, as text: nothing in it is the user's to change")]
    Text,
    /// The bytecode is newer than what is read.
    #[error("the kernel's bytecode has version {version}; versions up to 6 are read")]
    Version {
        /// Its version.
        version: u64,
    },
    /// The bytecode is cut off or damaged.
    #[error("the kernel's bytecode is damaged at byte {offset}: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
        /// Where, in the decoded body.
        offset: usize,
    },
    /// A limit of the reader.
    #[error("{what} is too large to be read")]
    TooLarge {
        /// What.
        what: &'static str,
    },
    /// The kernel has no function.
    #[error("the kernel's body has no function")]
    NoFunction,
    /// Arguments of the body and operands of the call do not match.
    #[error("operands and results of the call do not match the kernel's windows")]
    Windows,
    /// A size or an element type is not known.
    #[error("the size of {what} is not known")]
    Size {
        /// Of what.
        what: &'static str,
    },
}
