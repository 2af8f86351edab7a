//! Values that a program sends to the host: prints, callbacks, outfeeds.

use super::unescape;
use crate::hlo::{InstructionId, Module, Opcode};

/// What the user wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransferKind {
    /// `jax.debug.print`.
    DebugPrint,
    /// `jax.debug.callback` (older JAX prints through it too).
    DebugCallback,
    /// `jax.pure_callback`.
    PureCallback,
    /// `jax.experimental.io_callback`.
    IoCallback,
    /// Any other.
    Other,
}

impl TransferKind {
    /// The name the user knows.
    pub const fn as_str(self) -> &'static str {
        match self {
            TransferKind::DebugPrint => "jax.debug.print",
            TransferKind::DebugCallback => "jax.debug.callback",
            TransferKind::PureCallback => "jax.pure_callback",
            TransferKind::IoCallback => "io_callback",
            TransferKind::Other => "host callback",
        }
    }

    /// Whether nothing of the program depends on it.
    pub const fn is_print(self) -> bool {
        matches!(self, TransferKind::DebugPrint | TransferKind::DebugCallback)
    }

    fn of(op_name: &str) -> TransferKind {
        let words = [
            ("debug_print", TransferKind::DebugPrint),
            ("debug_callback", TransferKind::DebugCallback),
            ("pure_callback", TransferKind::PureCallback),
            ("io_callback", TransferKind::IoCallback),
        ];
        let last = op_name.rsplit('/').next().unwrap_or(op_name);
        words.iter().find(|(word, _)| last.contains(word)).map_or(TransferKind::Other, |(_, k)| *k)
    }
}

/// One instruction that hands values to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTransfer {
    /// The instruction.
    pub instruction: InstructionId,
    /// What the user wrote.
    pub kind: TransferKind,
    /// The framework's name of the operation.
    pub op_name: String,
    /// The instructions whose results are sent.
    pub sent: Vec<InstructionId>,
}

/// All host transfers of a module, in text order: TPU `send` with `is_host_transfer`, callback
/// custom-calls of GPU and CPU, outfeeds (facts: corpus, `debug_print` and `callbacks`).
pub fn host_transfers(module: &Module<'_>) -> Vec<HostTransfer> {
    module.ids().filter_map(|id| host_transfer(module, id)).collect()
}

fn host_transfer(module: &Module<'_>, id: InstructionId) -> Option<HostTransfer> {
    let operands = module.operands(id);
    let sent: &[InstructionId] = match module.opcode(id) {
        Opcode::Send if module.is_host_transfer(id) && !is_between_slices(module, id) => {
            operands.get(..1)?
        }
        Opcode::Outfeed => operands.get(..1)?,
        Opcode::CustomCall if is_callback(module.custom_call_target(id)?) => operands,
        _ => return None,
    };
    let op_name = module.metadata(id).map_or(String::new(), |metadata| unescape(metadata.op_name));
    Some(HostTransfer {
        instruction: id,
        kind: TransferKind::of(&op_name),
        op_name,
        sent: sent.to_vec(),
    })
}

/// Whether a transfer goes through the host to another slice and not to the user's program
/// (facts: corpus, `multislice`).
fn is_between_slices(module: &Module<'_>, id: InstructionId) -> bool {
    module.frontend_attributes(id).is_some_and(|text| text.contains("megascale"))
}

/// `xla_ffi_python_cpu_callback`, `xla_python_gpu_callback`, partitioned ones.
fn is_callback(target: &str) -> bool {
    target.contains("python") && target.ends_with("callback")
}
