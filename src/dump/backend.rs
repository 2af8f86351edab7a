//! A module in; the backend that its text betrays out, for texts whose names say nothing (a hit in
//! the compilation cache of XLA:CPU leaves a lone `after_optimizations.txt`).

use crate::hlo::{Module, Shape};
use crate::target::Backend;

/// Marks that only one backend's compiler writes: custom-call targets and keys of `backend_config`.
const MARKS: [(&str, Backend); 14] = [
    ("\"tpu_custom_call\"", Backend::Tpu),
    ("\"scoped_memory_configs\"", Backend::Tpu),
    ("\"window_config\"", Backend::Tpu),
    ("\"operation_queue_id\"", Backend::Gpu),
    ("fingerprint_before_lhs", Backend::Gpu),
    ("\"fusion_backend_config\"", Backend::Gpu),
    ("_gpu_callback\"", Backend::Gpu),
    ("\"__cublas$", Backend::Gpu),
    ("\"__cudnn$", Backend::Gpu),
    ("\"__gpu$", Backend::Gpu),
    ("\"outer_dimension_partitions\"", Backend::Cpu),
    ("_cpu_callback\"", Backend::Cpu),
    ("xla_cpu_", Backend::Cpu),
    ("\"__onednn$", Backend::Cpu),
];

/// The backend of a module: tiled layouts and marks tell it; a scheduled module with neither is
/// XLA:CPU's. `None` before optimisation, when the text is the same everywhere.
pub fn backend_of(module: &Module<'_>) -> Option<Backend> {
    let is_tiled = module.shapes.iter().any(|(_, shape)| match shape {
        Shape::Array(array) | Shape::Buffer(array) => {
            array.layout.as_ref().is_some_and(|layout| !layout.tiles.is_empty())
        }
        Shape::Tuple(_) => false,
    });
    if is_tiled {
        return Some(Backend::Tpu);
    }
    let text = module.text.as_bytes();
    let has_mark = |mark: &str| memchr::memmem::find(text, mark.as_bytes()).is_some();
    if let Some((_, backend)) = MARKS.iter().find(|(mark, _)| has_mark(mark)) {
        return Some(*backend);
    }
    module.header.is_scheduled.then_some(Backend::Cpu)
}
