//! The estimate of a kernel and a size in; the largest blocks whose need is not above it out.
//!
//! Only blocks that the grid moves are made smaller, by halves, each grid dimension in all windows
//! that it moves, so that the kernel does the same with more steps. Which blocks are legal: facts,
//! mosaic-vmem section 8.

use super::estimate::{Estimate, Role, ScratchEstimate, WindowEstimate};
use super::index_map::Movement;
use super::kernel::{MemRef, Space};
use super::padding;
use crate::hlo::Module;

/// Grid dimensions that are tried: every way to spread halvings over them is looked at.
const DIMENSION_LIMIT: usize = 4;

/// How often blocks are halved altogether.
const HALVING_LIMIT: u32 = 20;

/// How many windows are looked at for one kernel, over all ways to halve.
const WORK_LIMIT: usize = 20_000;

/// The tile's rows that a block must be a multiple of, at least.
const ROWS: u64 = 8;
const LANES: u64 = 128;

/// A block to take instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBlock {
    /// Operand or result.
    pub role: Role,
    /// Its number.
    pub number: usize,
    /// The block now.
    pub from: Vec<u64>,
    /// The block to take.
    pub to: Vec<u64>,
}

/// Blocks that fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The grid dimensions that get more steps, and how many times as many.
    pub grid: Vec<(usize, u64)>,
    /// The blocks that change.
    pub blocks: Vec<NewBlock>,
    /// Whether scratch of the shape of such a block is taken to change with it.
    pub has_scratch: bool,
    /// What the kernel then needs at least, bytes.
    pub total_bytes: u64,
}

impl Estimate {
    /// The largest blocks with which the kernel needs at most `most_bytes`, as few halvings as
    /// possible; `None` where halving does not get there.
    pub fn suggestion(&self, module: &Module<'_>, most_bytes: u64) -> Option<Suggestion> {
        Search::new(self, module)?.run(most_bytes)
    }

    /// The largest blocks of which the compiler will most likely accept the kernel: where large
    /// matrices are multiplied or large values reduced, a quarter is left for spilled registers
    /// (measured: a row softmax of exactly the limit is refused on v6e).
    pub fn fitting_blocks(&self, module: &Module<'_>) -> Option<Suggestion> {
        let limit = self.bound_bytes()?;
        let most = if self.may_spill() { limit / 4 * 3 } else { limit };
        self.suggestion(module, most)
    }

    fn may_spill(&self) -> bool {
        self.has_large_matmul || self.has_large_reduction
    }

    /// The limit, or the VMEM that a program can use where that is less.
    pub fn bound_bytes(&self) -> Option<u64> {
        let limit = self.limit_bytes?;
        Some(self.vmem_bytes.map_or(limit, |vmem| vmem.min(limit)))
    }

    /// The `vmem_limit_bytes` to ask for so that `need_bytes` fit, in whole MiB; `None` where the
    /// chip has not so much left. `is_recorded`: spilled registers are part of the need.
    pub fn limit_to_ask_for(&self, need_bytes: u64, is_recorded: bool) -> Option<u64> {
        let left = self.vmem_bytes?.checked_sub(self.coloured_bytes)?;
        let spills = if self.may_spill() && !is_recorded { need_bytes / 3 } else { 0 };
        let wanted = need_bytes.checked_add(spills)?.checked_next_multiple_of(1 << 20)?;
        (need_bytes <= left).then(|| wanted.min(left))
    }
}

struct Search<'a> {
    estimate: &'a Estimate,
    /// Sizes of each window's array.
    arrays: Vec<Vec<u64>>,
    /// Grid dimensions that may get more steps.
    dimensions: Vec<usize>,
    /// The need apart from windows and scratch.
    rest_bytes: u64,
}

impl<'a> Search<'a> {
    fn new(estimate: &'a Estimate, module: &Module<'_>) -> Option<Search<'a>> {
        let array = |window: &WindowEstimate| {
            let array = module.shapes.get(window.shape).array();
            let sizes = array.map(|array| array.dimensions.iter().map(|d| d.size).collect());
            sizes.unwrap_or_default()
        };
        let dimensions: Vec<usize> = (0..estimate.grid.len())
            .filter(|&dimension| is_free(estimate, dimension))
            .take(DIMENSION_LIMIT)
            .collect();
        let kept = estimate.windows.iter().filter(|w| !w.is_deleted).map(|window| window.bytes);
        let scratch = estimate.scratch.iter().filter(|s| !s.is_deleted).map(|s| s.bytes);
        let parts = kept.chain(scratch).try_fold(0_u64, u64::checked_add)?;
        Some(Search {
            estimate,
            arrays: estimate.windows.iter().map(array).collect(),
            dimensions,
            rest_bytes: estimate.total_bytes.checked_sub(parts)?,
        })
    }

    /// Few halvings first; of as many the one that leaves the largest need.
    fn run(&self, most_bytes: u64) -> Option<Suggestion> {
        let mut looks = 0_usize;
        for halvings in 1..=HALVING_LIMIT {
            let mut best: Option<Suggestion> = None;
            let mut is_possible = false;
            for_each_split(self.dimensions.len(), halvings, &mut |split| {
                looks = looks.saturating_add(self.estimate.windows.len());
                if looks > WORK_LIMIT {
                    return;
                }
                let Some(found) = self.halved(split) else { return };
                is_possible = true;
                let is_better =
                    best.as_ref().is_none_or(|best| found.total_bytes > best.total_bytes);
                if found.total_bytes <= most_bytes && is_better {
                    best = Some(found);
                }
            });
            if best.is_some() || !is_possible {
                return best;
            }
        }
        None
    }

    /// What halving each dimension so often gives; `None` where a block is not legal.
    fn halved(&self, split: &[u32]) -> Option<Suggestion> {
        let mut found = Suggestion {
            grid: Vec::new(),
            blocks: Vec::new(),
            has_scratch: false,
            total_bytes: self.rest_bytes,
        };
        for (&dimension, &times) in self.dimensions.iter().zip(split) {
            if times > 0 {
                found.grid.push((dimension, 1_u64.checked_shl(times)?));
            }
        }
        for (window, array) in self.estimate.windows.iter().zip(&self.arrays) {
            let block = self.block(window, &found.grid)?;
            if block != window.block {
                if !is_legal(&block, array, window) {
                    return None;
                }
                found.blocks.push(NewBlock {
                    role: window.role,
                    number: window.number,
                    from: window.block.clone(),
                    to: block.clone(),
                });
            }
            let bytes = window_bytes(window, &block, array, &found.grid)?;
            found.total_bytes = found.total_bytes.checked_add(bytes)?;
        }
        for scratch in self.estimate.scratch.iter().filter(|scratch| !scratch.is_deleted) {
            let bytes = match block_like(scratch, &found.blocks) {
                Some(block) => {
                    found.has_scratch = true;
                    scratch_bytes(block, scratch.element_bits)?
                }
                None => scratch.bytes,
            };
            found.total_bytes = found.total_bytes.checked_add(bytes)?;
        }
        Some(found)
    }

    fn block(&self, window: &WindowEstimate, grid: &[(usize, u64)]) -> Option<Vec<u64>> {
        let mut block = window.block.clone();
        for (size, movement) in block.iter_mut().zip(&window.movements) {
            let by = grid.iter().find(|(at, _)| *movement == Movement::Grid(*at));
            if let Some(&(_, by)) = by {
                if !size.is_multiple_of(by) {
                    return None;
                }
                *size /= by;
            }
        }
        Some(block)
    }
}

/// Whether all that moves with a grid dimension is whole dimensions of blocks, and there are some.
fn is_free(estimate: &Estimate, dimension: usize) -> bool {
    let moved =
        |window: &WindowEstimate| window.depends_on.get(dimension).copied().unwrap_or(false);
    let is_simple = |window: &WindowEstimate| {
        let by = window.movements.iter().filter(|&&by| by == Movement::Grid(dimension)).count();
        by == 1 && !window.movements.contains(&Movement::Computed)
    };
    let mut windows = estimate.windows.iter().filter(|window| moved(window)).peekable();
    windows.peek().is_some() && windows.all(is_simple)
}

/// Whether jax and the compiler accept a block that differs from the one that they accepted.
fn is_legal(block: &[u64], array: &[u64], window: &WindowEstimate) -> bool {
    match (block, array) {
        ([.., rows, lanes], [.., array_rows, array_lanes]) => {
            let tile = window.tile.rows.max(ROWS);
            (rows == array_rows || rows.is_multiple_of(tile))
                && (lanes == array_lanes || lanes.is_multiple_of(LANES))
        }
        ([size], [array]) => {
            let packed = LANES * (32 / window.element_bits.clamp(1, 32));
            size == array
                || size.is_multiple_of(LANES * ROWS)
                || *size >= packed && size.is_power_of_two()
        }
        _ => false,
    }
}

fn window_bytes(
    window: &WindowEstimate,
    block: &[u64],
    array: &[u64],
    grid: &[(usize, u64)],
) -> Option<u64> {
    if window.is_deleted || window.bytes == 0 && !window.is_placed {
        return Some(0);
    }
    if block == window.block {
        // More steps of a dimension that had one: the window moves now.
        let moves = grid.iter().any(|&(at, _)| window.depends_on.get(at) == Some(&true));
        let is_second = moves && window.buffers == 1 && !window.is_single;
        return window.bytes.checked_mul(if is_second { 2 } else { 1 });
    }
    if window.is_placed
        && window.buffers == 0
        && padding::is_contiguous(array, block, window.tile, window.role == Role::Result)
    {
        return Some(0);
    }
    let buffers = if window.is_single { 1 } else { 2 };
    let bytes = padding::window_bytes(block, window.tile, window.element_bits)?;
    padding::granules(bytes.checked_mul(buffers)?)
}

/// The new block of the shape that scratch has now: an accumulator of the result.
fn block_like<'b>(scratch: &ScratchEstimate, blocks: &'b [NewBlock]) -> Option<&'b [u64]> {
    let bare = |sizes: &[u64]| -> Vec<u64> {
        sizes.iter().copied().skip_while(|&size| size == 1).collect()
    };
    let wanted = bare(&scratch.dimensions);
    let of_role =
        |role: Role| blocks.iter().find(|block| block.role == role && bare(&block.from) == wanted);
    of_role(Role::Result).or_else(|| of_role(Role::Operand)).map(|block| block.to.as_slice())
}

fn scratch_bytes(sizes: &[u64], element_bits: u64) -> Option<u64> {
    let dimensions = sizes.iter().map(|&size| i64::try_from(size).ok()).collect::<Option<_>>()?;
    let memref = MemRef { dimensions, element_bits: Some(element_bits), space: Space::Vmem };
    padding::scratch_bytes(&memref)
}

/// Calls `each` with every way to spread `sum` over `parts`.
fn for_each_split(parts: usize, sum: u32, each: &mut dyn FnMut(&[u32])) {
    fn fill(split: &mut [u32], at: usize, left: u32, each: &mut dyn FnMut(&[u32])) {
        if at + 1 >= split.len() {
            if let Some(last) = split.last_mut() {
                *last = left;
                each(split);
            }
            return;
        }
        for here in (0..=left).rev() {
            if let Some(place) = split.get_mut(at) {
                *place = here;
            }
            fill(split, at + 1, left - here, each);
        }
    }
    fill(&mut vec![0; parts], 0, sum, each);
}

#[cfg(test)]
mod tests {
    use super::for_each_split;
    use crate::target::tpu::mosaic::{Circumstances, Kernels};
    use crate::target::tpu::{Chip, RuleSet};

    const BAD: &str = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/testdata/pairs/scoped-vmem/bad/\
         module_0000.jit_row_softmax.cl_1014260217.after_optimizations.txt"
    ));

    /// Each size asked for and the rows of the largest block that fits: 1024 rows take 64 MiB, and
    /// fewer than 8 are not legal.
    #[test]
    fn the_largest_block_that_fits() {
        let parsed = crate::text::parse(BAD).unwrap();
        let kernels = Kernels::new(&parsed.module);
        let circumstances =
            Circumstances { chip: Some(Chip::V5e), rules: RuleSet::NEWEST, flag_limit_bytes: None };
        let estimate = kernels.estimate(kernels.ids()[0], &circumstances).unwrap();
        const MIB: u64 = 1 << 20;
        for (most, rows) in [
            (63 * MIB, Some(512)),
            (32 * MIB, Some(512)),
            (32 * MIB - 1, Some(256)),
            (MIB, Some(16)),
            (MIB / 2, Some(8)),
            (MIB / 2 - 1, None),
        ] {
            let found = estimate.suggestion(&parsed.module, most);
            let blocks = found.iter().flat_map(|found| &found.blocks);
            let to: Vec<&[u64]> = blocks.map(|block| block.to.as_slice()).collect();
            match rows {
                Some(rows) => assert_eq!(to, [&[rows, 4096][..]; 2], "{most}"),
                None => assert_eq!(found, None, "{most}"),
            }
        }
        // It reduces whole blocks: a quarter of 16 MiB is left for spilled registers.
        assert_eq!(estimate.fitting_blocks(&parsed.module).unwrap().total_bytes, 8 * MIB);
        assert_eq!(estimate.limit_to_ask_for(64 * MIB, true), Some(64 * MIB));
        assert_eq!(estimate.limit_to_ask_for(64 * MIB, false), Some(86 * MIB));
        assert_eq!(estimate.limit_to_ask_for(129 * MIB, true), None);
    }

    #[test]
    fn every_way_to_spread_halvings_once() {
        for (parts, sum, ways) in [(0, 3, 0), (1, 3, 1), (2, 3, 4), (4, 5, 56)] {
            let mut found = std::collections::BTreeSet::new();
            for_each_split(parts, sum, &mut |split| {
                assert_eq!(split.iter().sum::<u32>(), sum);
                assert!(found.insert(split.to_vec()));
            });
            assert_eq!(found.len(), ways);
        }
    }
}
