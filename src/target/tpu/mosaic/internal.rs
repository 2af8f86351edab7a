//! Loads of small-tiled buffers in; whether the kernel keeps its internal scratch out.
//!
//! Found by trial, on v5e (facts: mosaic-vmem section 3, INTERNAL SCRATCH, and section 11): a value
//! loaded from tiles of 2 or 4 rows, of more than one row and more than 128 lanes, that reaches
//! anything but element-wise operations and stores. Other uses exist and are not known.

use super::buffers::{Accesses, Act};
use super::deletion::Liveness;
use super::kernel::Kernel;
use super::operation::Kind;

/// Bytes that v4, v5e and v5p declare.
pub const DECLARED_BYTES: u64 = 36_864;

/// Whether the internal scratch is kept. `tile_rows` and element bits of a buffer by its value;
/// `packed_arithmetic_keeps`: any arithmetic on packed types does (up to 0.0.51).
pub fn is_kept(
    kernel: &Kernel<'_>,
    accesses: &Accesses,
    live: &Liveness,
    tile_of: &dyn Fn(u32) -> Option<(u64, u64)>,
    packed_arithmetic_keeps: bool,
) -> bool {
    let mut tainted = vec![Taint::None; kernel.ir.values.len()];
    let mut any = false;
    for access in &accesses.list {
        let Act::Load(value) = access.act else { continue };
        let Some((2 | 4, bits)) = tile_of(access.buffer) else { continue };
        let Some(vector) = kernel.vector(value) else { continue };
        let [.., rows, lanes] = vector.as_slice() else { continue };
        if *rows > 1 && *lanes > 128 && live.needs(value) {
            any = true;
            if let Some(place) = tainted.get_mut(value as usize) {
                *place = if bits < 32 { Taint::Packed } else { Taint::Plain };
            }
        }
    }
    any && (0..kernel.ir.operations.len() as u32)
        .any(|at| reaches(kernel, accesses, live, &mut tainted, at, packed_arithmetic_keeps))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Taint {
    None,
    Plain,
    Packed,
}

fn reaches(
    kernel: &Kernel<'_>,
    accesses: &Accesses,
    live: &Liveness,
    tainted: &mut [Taint],
    at: u32,
    packed_arithmetic_keeps: bool,
) -> bool {
    let Some(operation) = kernel.operation(at) else { return false };
    if !accesses.runs.get(at as usize).copied().unwrap_or(false) {
        return false;
    }
    let taint = |value: &u32| tainted.get(*value as usize).copied().unwrap_or(Taint::None);
    let operands = kernel.ir.operands(operation);
    let worst = operands.iter().map(taint).max().unwrap_or(Taint::None);
    if worst == Taint::None {
        return false;
    }
    let results = operation.results.start..operation.results.end;
    let shape = |value: Option<u32>| value.and_then(|value| kernel.vector(value));
    let is_same_shape = operation.kind == Kind::ShapeCast
        && shape(operands.first().copied()) == shape(results.clone().next());
    if is_same_shape || operation.kind.is_elementwise() {
        let keeps = worst == Taint::Packed && packed_arithmetic_keeps && !is_same_shape;
        if keeps && results.clone().any(|value| live.needs(value)) {
            return true;
        }
        for value in results {
            if let Some(place) = tainted.get_mut(value as usize) {
                *place = worst;
            }
        }
        return false;
    }
    match operation.kind {
        Kind::VectorStore | Kind::Yield => false,
        kind if kind.is_pure() => results.into_iter().any(|value| live.needs(value)),
        _ => true,
    }
}
