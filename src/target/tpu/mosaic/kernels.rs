//! A module in; its TPU kernels out.

use super::estimate::{self, Circumstances, Estimate};
use super::{Unknown, config};
use crate::hlo::{InstructionId, Module, Opcode};

/// The TPU kernels of a module.
#[derive(Debug)]
pub struct Kernels<'m, 'src> {
    module: &'m Module<'src>,
    ids: Vec<InstructionId>,
    /// The fusion that holds each computation, if one does.
    fusions: Vec<Option<InstructionId>>,
}

/// The target of a call of a TPU kernel.
const TARGET: &str = "tpu_custom_call";

impl<'m, 'src> Kernels<'m, 'src> {
    /// Finds the kernels.
    pub fn new(module: &'m Module<'src>) -> Self {
        let mut ids = Vec::new();
        let mut fusions = vec![None; module.computations.len()];
        for id in module.ids() {
            match module.opcode(id) {
                Opcode::CustomCall if module.custom_call_target(id) == Some(TARGET) => ids.push(id),
                Opcode::Fusion => {
                    for (_, computation) in module.calls(id) {
                        if let Some(place) = fusions.get_mut(computation.index()) {
                            *place = Some(id);
                        }
                    }
                }
                _ => {}
            }
        }
        Kernels { module, ids, fusions }
    }

    /// The calls of kernels, in text order.
    pub fn ids(&self) -> &[InstructionId] {
        &self.ids
    }

    /// The calls of kernels of any machine, in text order: also those of which there is no estimate.
    pub fn ids_of_all_machines(&self) -> Vec<InstructionId> {
        let target = |&id: &InstructionId| {
            let is_call = self.module.opcode(id) == Opcode::CustomCall;
            self.module.custom_call_target(id).filter(|_| is_call)
        };
        let is_kernel =
            |id: &InstructionId| target(id).is_some_and(|t| t == TARGET || is_gpu_kernel(t));
        self.module.ids().filter(is_kernel).collect()
    }

    /// The fusion that a call stands in.
    pub fn fusion(&self, id: InstructionId) -> Option<InstructionId> {
        let computation = self.module.instruction(id).computation;
        self.fusions.get(computation.index()).copied().flatten()
    }

    /// What a kernel needs.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn estimate(
        &self,
        id: InstructionId,
        circumstances: &Circumstances,
    ) -> Result<Estimate, Unknown> {
        if self.module.custom_call_target(id) != Some(TARGET) {
            let is_gpu = self.module.custom_call_target(id).is_some_and(is_gpu_kernel);
            return Err(if is_gpu { Unknown::Gpu } else { Unknown::NotAKernel });
        }
        if self.fusion(id).is_some() {
            return Err(Unknown::Fused);
        }
        estimate::estimate(self.module, id, circumstances)
    }

    /// Bytes of scoped VMEM that the compiler recorded for a call, or for the fusion around it.
    pub fn used_bytes(&self, id: InstructionId) -> Option<u64> {
        let holder = self.fusion(id).unwrap_or(id);
        let text = config::unquoted(self.module.backend_config(holder)?);
        config::read(&text).ok()?.used_bytes()
    }
}

/// Whether a call target is that of a GPU kernel (facts: mosaic-vmem section 10).
fn is_gpu_kernel(target: &str) -> bool {
    target == "__gpu$xla.gpu.triton"
        || target.starts_with("triton_kernel_call")
        || target.starts_with("mosaic_gpu")
}
