//! What XLA:GPU steers by: the scheduler's limit and that of rematerialization (facts:
//! gpu-cpu-memory section 12; XLA `GetSchedulerMemoryLimit`). No compile fails by them.

use crate::hlo::{Module, Shape, ShapeId};
use crate::target::policy::unpadded_bytes;

/// Limits that the compiler steers by. Bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Limits {
    /// What the scheduler lets temporaries take.
    pub scheduler_bytes: u64,
    /// Below which rematerialization tries to bring the program.
    pub rematerialization_bytes: u64,
}

/// The limits of a program on a card with so much memory: 80 % of it, less arguments and results in
/// device memory (donated ones once), of that `xla_gpu_memory_limit_slop_factor`; rematerialization
/// adds the results. `None` where a size does not fit 64 bits.
pub fn limits(module: &Module<'_>, memory_bytes: u64) -> Option<Limits> {
    const SLOP_PERCENT: u128 = 95;
    let parameters = module.parameters(module.entry);
    let arguments = parameters.iter().try_fold(0_u64, |sum, &id| {
        sum.checked_add(bytes(module, module.instruction(id).shape)?)
    })?;
    let result = module.instruction(module.entry().root).shape;
    let results = bytes(module, result)?;
    let aliased = module.header.input_output_alias.iter().try_fold(0_u64, |sum, alias| {
        let shape = module.shapes.subshape(result, &alias.output);
        sum.checked_add(shape.map_or(Some(0), |shape| own_bytes(module, shape))?)
    })?;
    let taken = arguments.checked_add(results)?.saturating_sub(aliased);
    let base = u128::from(memory_bytes) * 80 / 100;
    let left = base.saturating_sub(u128::from(taken));
    let scheduler_bytes = u64::try_from(left * SLOP_PERCENT / 100).ok()?;
    let rematerialization_bytes = scheduler_bytes.checked_add(results)?;
    Some(Limits { scheduler_bytes, rematerialization_bytes })
}

/// A shape in device memory with all its tables. Tuples nest less deeply than the reader allows.
fn bytes(module: &Module<'_>, shape: ShapeId) -> Option<u64> {
    let elements = module.shapes.get(shape).elements().unwrap_or(&[]);
    elements
        .iter()
        .try_fold(own_bytes(module, shape)?, |sum, &id| sum.checked_add(bytes(module, id)?))
}

/// An array or a table alone; what stands in another memory counts nothing.
fn own_bytes(module: &Module<'_>, shape: ShapeId) -> Option<u64> {
    match module.shapes.get(shape) {
        Shape::Array(array) if array.memory_space() != 0 => Some(0),
        _ => unpadded_bytes(&module.shapes, shape),
    }
}
