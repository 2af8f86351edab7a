//! An index map and the sizes of the grid in; whether the block ever moves, and with which grid
//! dimension each of its dimensions moves, out.

use super::kernel::Kernel;
use super::operation::Kind;

/// Rounds in which dependence may travel around loops.
const ROUNDS: usize = 4;

/// Whether no result depends on a grid index of a dimension larger than 1. Scalars read from
/// prefetched memory at constant positions do not count (measured: facts, mosaic-vmem section 2).
pub fn is_constant(kernel: &Kernel<'_>, function: u32, grid: &[i64]) -> bool {
    let Some(operation) = kernel.operation(function) else { return false };
    let range = operation.values(&kernel.ir);
    let mut depends = vec![false; range.len()];
    let start = range.start;
    let at = |value: u32| value.checked_sub(start).map(|at| at as usize);
    for (argument, &size) in kernel.arguments_of(function).zip(grid) {
        if let Some(place) = at(argument).and_then(|at| depends.get_mut(at)) {
            *place = size != 1;
        }
    }
    let mut moves = false;
    for _ in 0..ROUNDS {
        let mut changed = false;
        for number in function + 1..operation.end {
            let Some(inner) = kernel.operation(number) else { break };
            let is_dependent =
                kernel.ir.operands(inner).iter().any(|&value| {
                    at(value).and_then(|at| depends.get(at)).copied().unwrap_or(true)
                });
            if !is_dependent {
                continue;
            }
            moves |= inner.kind == Kind::Return;
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
    !moves
}

/// For each dimension of the block the grid dimension whose index is its position; none where it
/// is anything else.
pub fn grid_dimensions(kernel: &Kernel<'_>, function: u32) -> Vec<Option<usize>> {
    let arguments = kernel.arguments_of(function);
    let Some(body) = kernel.body_of(function) else { return Vec::new() };
    let end = kernel
        .ir
        .operations_of(body)
        .filter_map(|at| kernel.operation(at))
        .find(|operation| operation.kind == Kind::Return);
    let Some(end) = end else { return Vec::new() };
    let grid_size = kernel.semantics.len();
    kernel
        .ir
        .operands(end)
        .iter()
        .map(|&value| {
            let at = value.checked_sub(arguments.start)? as usize;
            (at < grid_size && arguments.contains(&value)).then_some(at)
        })
        .collect()
}
