//! An index map and the sizes of the grid in; how the grid moves the block out.

use super::kernel::{Kernel, Semantics};
use super::operation::Kind;
use smallvec::SmallVec;

/// Rounds in which dependence may travel around loops.
const ROUNDS: usize = 4;

/// What moves one dimension of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// Nothing.
    Fixed,
    /// It is the index of this grid dimension.
    Grid(usize),
    /// It is computed.
    Computed,
}

/// Whether no result depends on a grid index of a dimension larger than 1. Scalars read from
/// prefetched memory at constant positions do not count (measured: facts, mosaic-vmem section 2).
pub fn is_constant(kernel: &Kernel<'_>, function: u32, grid: &[i64]) -> bool {
    kernel.operation(function).is_some()
        && !moving(kernel, function, |dimension| grid.get(dimension).is_some_and(|&size| size != 1))
            .contains(&true)
}

/// Whether a result depends on the index of one grid dimension.
pub fn depends_on(kernel: &Kernel<'_>, function: u32, dimension: usize) -> bool {
    moving(kernel, function, |at| at == dimension).contains(&true)
}

/// What moves each dimension of the block.
pub fn movements(kernel: &Kernel<'_>, function: u32) -> Vec<Movement> {
    let arguments = kernel.arguments_of(function);
    let dimensions = kernel.semantics.len();
    let moving = moving(kernel, function, |_| true);
    let Some(end) = end_of(kernel, function) else { return Vec::new() };
    let movement = |(value, moves): (u32, bool)| {
        let at = value.checked_sub(arguments.start).map(|at| at as usize);
        match at.filter(|&at| at < dimensions && arguments.contains(&value)) {
            Some(at) => Movement::Grid(at),
            None if moves => Movement::Computed,
            None => Movement::Fixed,
        }
    };
    end.into_iter().zip(moving).map(movement).collect()
}

/// The values that a function returns.
fn end_of(kernel: &Kernel<'_>, function: u32) -> Option<SmallVec<[u32; 4]>> {
    let body = kernel.body_of(function)?;
    let end = kernel
        .ir
        .operations_of(body)
        .filter_map(|at| kernel.operation(at))
        .find(|operation| operation.kind == Kind::Return)?;
    Some(kernel.ir.operands(end).iter().copied().collect())
}

/// For each result whether it depends on one of the grid indices that count.
fn moving(
    kernel: &Kernel<'_>,
    function: u32,
    counts: impl Fn(usize) -> bool,
) -> SmallVec<[bool; 4]> {
    let Some(operation) = kernel.operation(function) else { return SmallVec::new() };
    let range = operation.values(&kernel.ir);
    let mut depends = vec![false; range.len()];
    let start = range.start;
    let at = |value: u32| value.checked_sub(start).map(|at| at as usize);
    let indices: &[Semantics] = &kernel.semantics;
    for (argument, dimension) in kernel.arguments_of(function).zip(0..indices.len()) {
        if let Some(place) = at(argument).and_then(|at| depends.get_mut(at)) {
            *place = counts(dimension);
        }
    }
    let mut results = SmallVec::new();
    for _ in 0..ROUNDS {
        let mut changed = false;
        for number in function + 1..operation.end {
            let Some(inner) = kernel.operation(number) else { break };
            let is_dependent =
                |&value: &u32| at(value).and_then(|at| depends.get(at)).copied().unwrap_or(true);
            if inner.kind == Kind::Return {
                results = kernel.ir.operands(inner).iter().map(is_dependent).collect();
            }
            if !kernel.ir.operands(inner).iter().any(is_dependent) {
                continue;
            }
            let mut touched: Vec<u32> = (inner.results.start..inner.results.end).collect();
            for block in kernel.ir.inner_blocks(inner) {
                let block = kernel.ir.blocks.get(block as usize);
                touched.extend(block.map_or(0..0, |b| b.arguments.start..b.arguments.end));
            }
            let holder = kernel.ir.holder(inner).filter(|&holder| holder != function);
            if let Some(holder) = holder.and_then(|holder| kernel.operation(holder)) {
                // What a region yields is what its operation gives; a condition decides it.
                if inner.kind == Kind::Yield || inner.kind == Kind::Other {
                    touched.extend(holder.results.start..holder.results.end);
                    for block in kernel.ir.inner_blocks(holder) {
                        let block = kernel.ir.blocks.get(block as usize);
                        touched.extend(block.map_or(0..0, |b| b.arguments.start..b.arguments.end));
                    }
                }
            }
            for value in touched {
                if let Some(place) = at(value).and_then(|at| depends.get_mut(at)) {
                    changed |= !*place;
                    *place = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    results
}
