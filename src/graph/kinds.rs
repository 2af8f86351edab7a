//! What kind of computation each one is: it decides who gets buffers (facts: tpu-memory section 2).

use crate::hlo::{ComputationId, Module, Opcode};

/// How a computation is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ComputationKind {
    /// ENTRY does not reach it.
    #[default]
    Unused,
    /// Called by a fusion, or by a fusion inside one: its instructions have no buffers.
    Fused,
    /// Applied by a reduce, sort, all-reduce, custom-call...: its values are thread-local.
    Embedded,
    /// ENTRY, and what call, while, conditional and async operations run from there: it has a
    /// schedule, its values have live ranges.
    Control,
}

/// The kind of every computation, from ENTRY down. One that is called in several ways gets the
/// strongest kind: control before embedded before fused.
pub(super) fn classify(module: &Module<'_>) -> Vec<ComputationKind> {
    let mut kinds = vec![ComputationKind::Unused; module.computations.len()];
    let mut work: Vec<(ComputationId, ComputationKind)> =
        vec![(module.entry, ComputationKind::Control)];
    while let Some((id, kind)) = work.pop() {
        match kinds.get_mut(id.index()) {
            Some(found) if *found < kind => *found = kind,
            _ => continue,
        }
        for instruction in module.computation(id).ids() {
            for (_, callee) in module.calls(instruction) {
                work.push((callee, called_kind(kind, module.opcode(instruction))));
            }
        }
    }
    kinds
}

/// The kind of a computation that an instruction of a computation of a given kind calls.
fn called_kind(caller: ComputationKind, opcode: Opcode) -> ComputationKind {
    match opcode {
        Opcode::Fusion => ComputationKind::Fused,
        Opcode::Call
        | Opcode::While
        | Opcode::Conditional
        | Opcode::AsyncStart
        | Opcode::AsyncUpdate
        | Opcode::AsyncDone
            if caller == ComputationKind::Control =>
        {
            ComputationKind::Control
        }
        _ => ComputationKind::Embedded,
    }
}
