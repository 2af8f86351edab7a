//! A call of a kernel, its operands' shapes, chip and compiler in; the bytes it needs out.

use super::bytecode::DYNAMIC;
use super::config::{self, Config};
use super::constants::Constants;
use super::deletion::{self, Fate};
use super::index_map::{self, Movement};
use super::kernel::{self, Kernel, MemRef, Space};
use super::operation::Kind;
use super::padding::{self, Tile};
use super::{Unknown, buffers, internal, scopes};
use crate::hlo::{ArrayShape, InstructionId, Module, Shape, ShapeId};
use crate::target::tpu::{Chip, RuleSet, space};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashMap;

/// What the text does not say.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// The chip.
    pub chip: Option<Chip>,
    /// The compiler's rules.
    pub rules: RuleSet,
    /// The flag `xla_tpu_scoped_vmem_limit_kib` in bytes, if it is set.
    pub flag_limit_bytes: Option<u64>,
}

impl Default for Circumstances {
    /// Nothing known: the newest rules.
    fn default() -> Circumstances {
        Circumstances { chip: None, rules: RuleSet::NEWEST, flag_limit_bytes: None }
    }
}

/// Where a limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// The kernel's `vmem_limit_bytes`.
    Kernel,
    /// The flag `xla_tpu_scoped_vmem_limit_kib`.
    Flag,
    /// The chip's default.
    Default,
}

/// What a kernel's need exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The VMEM that a program can use: an error without a code, also where the limit is lower.
    Vmem,
    /// The limit: E1001.
    Limit,
}

/// Whether a window is of an operand or of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An operand of the call.
    Operand,
    /// A result.
    Result,
}

/// A window of an operand or a result.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowEstimate {
    /// Operand or result.
    pub role: Role,
    /// Its number: of the call's operands or results, leaves of tuples counted one by one.
    pub number: usize,
    /// Its shape.
    pub shape: ShapeId,
    /// The block, most major dimension first; empty where it has no window.
    pub block: Vec<u64>,
    /// Bytes of one buffer, padding included.
    pub padded_bytes: u64,
    /// How many buffers; 0 where the operand lies in VMEM already or has no window.
    pub buffers: u64,
    /// Bytes of all buffers.
    pub bytes: u64,
    /// Bytes of one buffer that padding takes.
    pub padding_bytes: u64,
    /// The compiler deletes the window.
    pub is_deleted: bool,
    /// What moves each dimension of the block; empty without an index map.
    pub movements: Vec<Movement>,
    /// For each grid dimension whether the block moves with it.
    pub depends_on: Vec<bool>,
    /// Whether it has one buffer whatever the grid: `pl.Buffered(1)`, or a whole operand.
    pub is_single: bool,
    /// Whether the program keeps the array in VMEM.
    pub is_placed: bool,
    /// Bits of an element.
    pub element_bits: u64,
    /// The tile of its last two dimensions.
    pub tile: Tile,
}

/// A scratch operand in VMEM.
#[derive(Clone, Debug, PartialEq)]
pub struct ScratchEstimate {
    /// Sizes, the most major first.
    pub dimensions: Vec<u64>,
    /// Bits of an element.
    pub element_bits: u64,
    /// Its bytes, padding included.
    pub bytes: u64,
    /// The compiler deletes it.
    pub is_deleted: bool,
}

/// What a kernel needs of scoped VMEM.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The kernel's name in its body.
    pub name: String,
    /// The grid that the body states; none where an operand gives a size.
    pub grid: Vec<Option<u64>>,
    /// Windows, operands first.
    pub windows: Vec<WindowEstimate>,
    /// Scratch operands.
    pub scratch: Vec<ScratchEstimate>,
    /// Bytes of all scratch operands, before any is deleted.
    pub scratch_bytes: u64,
    /// The same and all windows.
    pub scratch_plus_windows_bytes: u64,
    /// The most bytes that `run_scoped` allocations take at once.
    pub run_scoped_bytes: u64,
    /// Bytes of internal scratch that are kept.
    pub internal_bytes: u64,
    /// Bytes of scratch and windows that the compiler deletes.
    pub deleted_bytes: u64,
    /// What the kernel needs at least: all of that less what is deleted, without spilled registers.
    pub total_bytes: u64,
    /// What the compiler recorded, where it did.
    pub used_bytes: Option<u64>,
    /// The limit; none where neither kernel nor flag gives one and the chip is not known.
    pub limit_bytes: Option<u64>,
    /// Where it comes from.
    pub limit_source: LimitSource,
    /// VMEM that a program on this chip can use.
    pub vmem_bytes: Option<u64>,
    /// Bytes of operands and results that the program puts into VMEM itself.
    pub coloured_bytes: u64,
    /// What the estimate exceeds.
    pub exceeds: Option<Exceeded>,
    /// The size that the compiler's error names. For the limit that is what was allocated, scope by
    /// scope, when it was passed; for the VMEM of the chip all of it. None where nothing is exceeded.
    pub quoted_bytes: Option<u64>,
    /// Whether the kernel has a matrix multiplication on values of 64 registers or more: those
    /// usually spill.
    pub has_large_matmul: bool,
    /// Whether it reduces values of 64 registers or more: those spill now and then.
    pub has_large_reduction: bool,
    /// Whether operands have layouts with tiles: without them placement is not decided yet and the
    /// windows are an upper bound.
    pub has_tiles: bool,
    /// Whether the kernel's dialect is newer than what was looked at.
    pub is_newer_dialect: bool,
}

/// Blocks may end inside a large tile (facts: mosaic-vmem section 11).
fn has_partial_tiles(rules: RuleSet) -> bool {
    rules as u8 >= RuleSet::P50 as u8
}

/// Copies inside VMEM become loads and stores, and packed arithmetic needs no internal scratch.
/// Measured for 0.0.52; the releases of its set were not all looked at.
fn has_vector_copies(rules: RuleSet) -> bool {
    rules as u8 >= RuleSet::P51 as u8
}

/// What a kernel needs.
///
/// # Errors
/// Why that cannot be said.
pub fn estimate(
    module: &Module<'_>,
    id: InstructionId,
    circumstances: &Circumstances,
) -> Result<Estimate, Unknown> {
    let text = config::unquoted(module.backend_config(id).ok_or(Unknown::Config)?);
    let config = config::read(&text)?;
    if config.device_type.contains("SPARSECORE") {
        return Err(Unknown::SparseCore);
    }
    let body = STANDARD.decode(config.custom_call_config.body.as_bytes());
    let body = body.map_err(|_| Unknown::Base64)?;
    let kernel = kernel::read(&body)?;
    Call { module, id, config: &config, kernel: &kernel, circumstances }.estimate()
}

struct Call<'a, 'src> {
    module: &'a Module<'src>,
    id: InstructionId,
    config: &'a Config<'a>,
    kernel: &'a Kernel<'a>,
    circumstances: &'a Circumstances,
}

/// What is known of each index map: windows may share one.
type IndexMaps = FxHashMap<u32, IndexMap>;

#[derive(Clone, Default)]
struct IndexMap {
    is_constant: bool,
    movements: Vec<Movement>,
    depends_on: Vec<bool>,
}

/// An operand or result: its number and its shape.
type Leaf = (Role, usize, ShapeId);

impl Call<'_, '_> {
    fn estimate(&self) -> Result<Estimate, Unknown> {
        let kernel = self.kernel;
        let chip = self.circumstances.chip;
        let grid = kernel.grid_of_core(matches!(chip, Some(Chip::V4 | Chip::V5p)));
        let leaves = self.leaves()?;
        let arguments = kernel.window_arguments();
        if arguments.len() != leaves.len() {
            return Err(Unknown::Windows);
        }
        let mut windows = Vec::with_capacity(leaves.len());
        let mut maps = IndexMaps::default();
        for (at, (&leaf, argument)) in leaves.iter().zip(arguments.clone()).enumerate() {
            windows.push(self.window(at, leaf, argument, &grid, &mut maps)?);
        }
        let mut scratch = self.scratch()?;
        let allocations = scopes::allocations(kernel)?;
        let constants = Constants::new(kernel, &grid);
        let in_vmem = |value: u32| self.is_in_vmem(value, &leaves);
        let accesses = buffers::accesses(kernel, &constants, &in_vmem);
        let placed_windows: Vec<(u32, usize)> = arguments
            .clone()
            .zip(0..)
            .filter(|&(_, at)| {
                windows.get(at).is_some_and(|window| window.bytes > 0 && window.is_placed)
            })
            .collect();
        let candidates: Vec<u32> = scratch
            .iter()
            .map(|&(value, _)| value)
            .chain(allocations.iter().map(|&(value, _)| value))
            .chain(placed_windows.iter().filter(|&&(_, at)| is_operand(&windows, at)).map(|w| w.0))
            .collect();
        let rules = deletion::Rules {
            copies_are_loads: has_vector_copies(self.circumstances.rules),
            has_wide_16_bit_tiles: chip == Some(Chip::V7x),
        };
        let live = deletion::liveness(kernel, &accesses, &candidates, rules);
        for (value, at) in placed_windows {
            let is_dead = is_operand(&windows, at) && live.fate(value) == Fate::Dead;
            let goes = is_dead
                || grid.iter().all(|&size| size == 1)
                    && kernel.memref(value).is_some_and(|memref| {
                        padding::is_whole_registers(&memref, rules.has_wide_16_bit_tiles)
                    });
            if let Some(window) = windows.get_mut(at) {
                window.is_deleted = goes;
            }
        }
        let tile_of = |value: u32| self.tile_rows(value, &arguments, &windows);
        let internal_bytes = self.internal_bytes(internal::is_kept(
            kernel,
            &accesses,
            &live,
            &tile_of,
            !has_vector_copies(self.circumstances.rules),
        ));
        let is_kept = |value: u32| live.fate(value) == Fate::Kept;
        let bytes_of = |value: u32| {
            let found = allocations.binary_search_by_key(&value, |&(value, _)| value).ok();
            found.and_then(|at| allocations.get(at)).map_or(0, |&(_, bytes)| bytes)
        };
        let run_scoped_bytes = scopes::peak_bytes(kernel, &bytes_of);
        let kept_run_scoped =
            scopes::peak_bytes(kernel, &|value| if is_kept(value) { bytes_of(value) } else { 0 });
        for (value, scratch) in &mut scratch {
            scratch.is_deleted = !is_kept(*value);
        }
        let scratch: Vec<ScratchEstimate> =
            scratch.into_iter().map(|(_, scratch)| scratch).collect();
        let scratch_bytes = sum(scratch.iter().map(|scratch| scratch.bytes))?;
        let kept_scratch =
            sum(scratch.iter().filter(|scratch| !scratch.is_deleted).map(|scratch| scratch.bytes))?;
        let windows_bytes = sum(windows.iter().map(|window| window.bytes))?;
        let kept_windows =
            sum(windows.iter().filter(|w| !w.is_deleted).map(|window| window.bytes))?;
        let total_bytes =
            sum([kept_scratch, kept_windows, kept_run_scoped, internal_bytes].into_iter())?;
        let scratch_plus_windows_bytes = sum([scratch_bytes, windows_bytes].into_iter())?;
        let (limit_bytes, limit_source) = self.limit();
        let vmem_bytes = chip.map(|chip| vmem_bytes(chip, self.circumstances.rules));
        let exceeds = match (vmem_bytes, limit_bytes) {
            (Some(vmem), _) if total_bytes > vmem => Some(Exceeded::Vmem),
            (_, Some(limit)) if total_bytes > limit => Some(Exceeded::Limit),
            _ => None,
        };
        let scopes = [kept_scratch.saturating_add(internal_bytes), kept_windows, kept_run_scoped];
        let quoted_bytes = exceeds.map(|exceeds| match exceeds {
            Exceeded::Vmem => total_bytes,
            Exceeded::Limit => passed(&scopes, limit_bytes.unwrap_or(u64::MAX)),
        });
        Ok(Estimate {
            name: printable(kernel.name),
            grid: kernel
                .grid
                .iter()
                .map(|&size| if size == DYNAMIC { None } else { u64::try_from(size).ok() })
                .collect(),
            deleted_bytes: scratch_plus_windows_bytes
                .saturating_add(run_scoped_bytes)
                .saturating_add(internal_bytes)
                .saturating_sub(total_bytes),
            windows,
            scratch,
            scratch_bytes,
            scratch_plus_windows_bytes,
            run_scoped_bytes,
            internal_bytes,
            total_bytes,
            used_bytes: self.config.used_bytes(),
            limit_bytes,
            limit_source,
            vmem_bytes,
            coloured_bytes: self.coloured_bytes(&leaves),
            exceeds,
            quoted_bytes,
            has_large_matmul: self.has_large_matmul(),
            has_large_reduction: self.has_large_reduction(),
            has_tiles: leaves.iter().any(|leaf| self.has_tiles(leaf.2)),
            is_newer_dialect: kernel.is_newer_dialect,
        })
    }

    /// Operands and results that have windows, in the order of the windows.
    fn leaves(&self) -> Result<Vec<Leaf>, Unknown> {
        let mut operands = Vec::new();
        for &operand in self.module.operands(self.id) {
            self.leaves_of(self.module.instruction(operand).shape, &mut operands);
        }
        let mut results = Vec::new();
        self.leaves_of(self.module.instruction(self.id).shape, &mut results);
        let windows = self.kernel.windows.len();
        let inputs = windows.checked_sub(results.len()).ok_or(Unknown::Windows)?;
        // Dynamic grid bounds come first, then the prefetched scalars.
        let scalars = operands.len().checked_sub(inputs).ok_or(Unknown::Windows)?;
        if scalars < self.kernel.prefetched {
            return Err(Unknown::Windows);
        }
        let inputs = operands.into_iter().enumerate().skip(scalars);
        let inputs = inputs.map(|(at, shape)| (Role::Operand, at, shape));
        let results = results.into_iter().enumerate().map(|(at, shape)| (Role::Result, at, shape));
        Ok(inputs.chain(results).collect())
    }

    fn leaves_of(&self, shape: ShapeId, into: &mut Vec<ShapeId>) {
        match self.module.shapes.get(shape) {
            Shape::Tuple(elements) => {
                for &element in elements {
                    self.leaves_of(element, into);
                }
            }
            _ => into.push(shape),
        }
    }

    fn array(&self, shape: ShapeId) -> Option<&ArrayShape> {
        self.module.shapes.get(shape).array()
    }

    fn is_placed(&self, shape: ShapeId) -> bool {
        self.array(shape).is_some_and(|array| array.memory_space() == space::VMEM)
    }

    fn has_tiles(&self, shape: ShapeId) -> bool {
        let layout = self.array(shape).and_then(|array| array.layout.as_ref());
        layout.is_some_and(|layout| !layout.tiles.is_empty())
    }

    fn is_in_vmem(&self, value: u32, leaves: &[Leaf]) -> bool {
        match self.kernel.memref(value).map(|memref| memref.space) {
            Some(Space::Vmem) => true,
            Some(Space::Any) => {
                let at = value.checked_sub(self.kernel.window_arguments().start);
                let leaf = at.and_then(|at| leaves.get(at as usize));
                leaf.is_some_and(|leaf| self.is_placed(leaf.2))
            }
            _ => false,
        }
    }

    fn window(
        &self,
        at: usize,
        (role, number, shape): Leaf,
        argument: u32,
        grid: &[i64],
        maps: &mut IndexMaps,
    ) -> Result<WindowEstimate, Unknown> {
        let unknown = Unknown::Size { what: "a window" };
        let parameters = self.kernel.windows.get(at).ok_or(Unknown::Windows)?;
        let memref = self.kernel.memref(argument);
        let mut window = WindowEstimate {
            role,
            number,
            shape,
            block: Vec::new(),
            padded_bytes: 0,
            buffers: 0,
            bytes: 0,
            padding_bytes: 0,
            is_deleted: false,
            movements: Vec::new(),
            depends_on: Vec::new(),
            is_single: false,
            is_placed: self.is_placed(shape),
            element_bits: 0,
            tile: Tile { rows: 1, lanes: 1 },
        };
        let Some(memref) = memref.filter(|memref| memref.space == Space::Vmem) else {
            return Ok(window);
        };
        let array = self.array(shape).ok_or(unknown.clone())?;
        let bits = match memref.element_bits {
            Some(1) => 32,
            Some(bits) => bits,
            None => array.element_type.bits(),
        };
        let sizes: Vec<u64> = array.dimensions.iter().map(|dimension| dimension.size).collect();
        let block = parameters.block.as_ref().unwrap_or(&memref.dimensions);
        window.block = padding::sizes(block).ok_or(unknown.clone())?;
        window.tile = padding::operand_tile(array, bits);
        let mut is_partial = false;
        if let ([.., rows, _], true) =
            (window.block.as_slice(), has_partial_tiles(self.circumstances.rules))
            && window.tile.rows > 8
            && rows % window.tile.rows != 0
        {
            window.tile.rows = 8;
            is_partial = true;
        }
        window.padded_bytes =
            padding::window_bytes(&window.block, window.tile, bits).ok_or(unknown.clone())?;
        let real = window.block.iter().try_fold(bits, |bits, &size| bits.checked_mul(size));
        window.padding_bytes = window.padded_bytes.saturating_sub(real.unwrap_or(0).div_ceil(8));
        window.element_bits = bits;
        window.is_single =
            grid.is_empty() || parameters.block.is_none() || parameters.is_synchronous;
        let map = self.index_map(parameters, grid, maps);
        window.buffers = if window.is_single || map.is_constant { 1 } else { 2 };
        (window.movements, window.depends_on) = (map.movements, map.depends_on);
        let is_contiguous = !is_partial
            && padding::is_contiguous(&sizes, &window.block, window.tile, role == Role::Result);
        if window.is_placed && is_contiguous {
            window.buffers = 0;
        }
        window.bytes = window
            .padded_bytes
            .checked_mul(window.buffers)
            .and_then(padding::granules)
            .ok_or(unknown)?;
        Ok(window)
    }

    fn index_map(&self, window: &kernel::Window, grid: &[i64], maps: &mut IndexMaps) -> IndexMap {
        let Some(function) = window.index_map else { return IndexMap::default() };
        let map = maps.entry(function).or_insert_with(|| IndexMap {
            is_constant: index_map::is_constant(self.kernel, function, grid),
            movements: index_map::movements(self.kernel, function),
            depends_on: (0..grid.len())
                .map(|dimension| index_map::depends_on(self.kernel, function, dimension))
                .collect(),
        });
        map.clone()
    }

    /// Scratch operands in VMEM, by value.
    fn scratch(&self) -> Result<Vec<(u32, ScratchEstimate)>, Unknown> {
        let mut found = Vec::new();
        for value in self.kernel.scratch_arguments() {
            let memref = self.kernel.memref(value).filter(|memref| memref.space == Space::Vmem);
            let Some(memref) = memref else { continue };
            let unknown = || Unknown::Size { what: "a scratch operand" };
            let scratch = ScratchEstimate {
                bytes: padding::scratch_bytes(&memref).ok_or_else(unknown)?,
                dimensions: padding::sizes(&memref.dimensions).ok_or_else(unknown)?,
                element_bits: memref.element_bits.ok_or_else(unknown)?,
                is_deleted: false,
            };
            found.push((value, scratch));
        }
        Ok(found)
    }

    /// Tile rows and element bits of a buffer.
    fn tile_rows(
        &self,
        value: u32,
        arguments: &std::ops::Range<u32>,
        windows: &[WindowEstimate],
    ) -> Option<(u64, u64)> {
        let MemRef { dimensions, element_bits, .. } = self.kernel.memref(value)?;
        let bits = element_bits?;
        if arguments.contains(&value) {
            let at = value.checked_sub(arguments.start)? as usize;
            return Some((windows.get(at)?.tile.rows, bits));
        }
        let [.., rows, _] = dimensions.as_slice() else { return None };
        Some((padding::scratch_tile_rows(u64::try_from(*rows).ok()?, bits), bits))
    }

    fn internal_bytes(&self, is_kept: bool) -> u64 {
        let declares = matches!(self.circumstances.chip, Some(Chip::V4 | Chip::V5e | Chip::V5p));
        match self.config.custom_call_config.internal_scratch_in_bytes.0 {
            _ if !is_kept || !declares => 0,
            0 => internal::DECLARED_BYTES,
            asked => asked,
        }
    }

    fn coloured_bytes(&self, leaves: &[Leaf]) -> u64 {
        let colours = &self.config.custom_call_config;
        let is_vmem = |colour: &config::Colour| colour.color.0 == space::VMEM as u64;
        let operands = colours.input_memory_space_colors.iter().filter(|colour| is_vmem(colour));
        let operands = operands.filter_map(|colour| {
            leaves.iter().find(|leaf| {
                leaf.0 == Role::Operand && u64::try_from(leaf.1) == Ok(colour.operand_index.0)
            })
        });
        let results = colours.output_memory_space_colors.iter().filter(|colour| is_vmem(colour));
        let results = results.filter_map(|colour| {
            let number = colour.shape_index.first().map_or(0, |number| number.0);
            leaves.iter().find(|leaf| leaf.0 == Role::Result && u64::try_from(leaf.1) == Ok(number))
        });
        operands
            .chain(results)
            .filter_map(|leaf| crate::target::tpu::padded_bytes(self.array(leaf.2)?))
            .fold(0, u64::saturating_add)
    }

    fn limit(&self) -> (Option<u64>, LimitSource) {
        let default = self.circumstances.chip.map(default_limit_bytes);
        let asked = self.config.asked().map(|(_, size)| size).filter(|&size| size > 0);
        // Up to 0.0.51 the compiler fills in the default itself.
        let is_filled_in = asked.is_some() && asked == default;
        match (asked, self.circumstances.flag_limit_bytes.filter(|&bytes| bytes > 0)) {
            (Some(asked), _) if !is_filled_in => (Some(asked), LimitSource::Kernel),
            (_, Some(flag)) => (Some(flag), LimitSource::Flag),
            _ => (default, LimitSource::Default),
        }
    }

    fn has_large_reduction(&self) -> bool {
        let reductions =
            self.kernel.ir.operations.iter().filter(|operation| operation.kind == Kind::Reduction);
        reductions
            .flat_map(|operation| self.kernel.ir.operands(operation))
            .filter_map(|&value| self.kernel.vector_bytes(value))
            .any(|bytes| bytes >= LARGE_BYTES)
    }

    /// Whether a matrix is multiplied in a kernel that has a value of 64 registers or more
    /// (measured: facts, mosaic-vmem section 5, when to expect spills).
    fn has_large_matmul(&self) -> bool {
        let operations = &self.kernel.ir.operations;
        operations.iter().any(|operation| operation.kind == Kind::Matmul)
            && operations
                .iter()
                .filter(|operation| matches!(operation.kind, Kind::Matmul | Kind::VectorLoad))
                .filter_map(|operation| self.kernel.vector_bytes(operation.results.start))
                .any(|bytes| bytes >= LARGE_BYTES)
    }
}

fn is_operand(windows: &[WindowEstimate], at: usize) -> bool {
    windows.get(at).is_some_and(|window| window.role == Role::Operand)
}

/// A name without what a terminal would obey.
fn printable(name: &str) -> String {
    const LONGEST: usize = 200;
    name.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// A value of 64 registers.
const LARGE_BYTES: u64 = 64 * 4096;

/// The sum of the first scopes that is above a limit; of all where none is.
fn passed(scopes: &[u64], limit: u64) -> u64 {
    let mut sum = 0_u64;
    for bytes in scopes {
        sum = sum.saturating_add(*bytes);
        if sum > limit {
            break;
        }
    }
    sum
}

fn sum(mut list: impl Iterator<Item = u64>) -> Result<u64, Unknown> {
    list.try_fold(0_u64, u64::checked_add).ok_or(Unknown::Size { what: "the whole kernel" })
}

/// The limit of a kernel that asks for none (measured: facts, mosaic-vmem section 4).
const fn default_limit_bytes(chip: Chip) -> u64 {
    match chip {
        Chip::V2 | Chip::V3 | Chip::V4 | Chip::V5e | Chip::V5p => 16 << 20,
        Chip::V6e | Chip::V7x => 32 << 20,
    }
}

/// VMEM that a program can use: on 7x a little more before 0.0.43.2.
fn vmem_bytes(chip: Chip, rules: RuleSet) -> u64 {
    match chip {
        Chip::V7x if (rules as u8) < RuleSet::P43 as u8 => 64 << 20,
        chip => chip.vmem_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::tpu::mosaic::Kernels;
    use proptest::prelude::*;

    macro_rules! dump {
        ($path:literal) => {
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/", $path))
        };
    }

    const FITS: &str =
        dump!("dumps/kernel_fits/module_0000.jit_f.cl_1014260217.after_optimizations.txt");
    const OVER: &str =
        dump!("dumps/kernel_over_vmem/module_0000.jit_f.cl_1014260217.after_optimizations.txt");
    const BAD: &str = dump!(
        "pairs/scoped-vmem/bad/module_0000.jit_row_softmax.cl_1014260217.after_optimizations.txt"
    );
    const GOOD: &str = dump!(
        "pairs/scoped-vmem/good/module_0000.jit_row_softmax.cl_1014260217.after_optimizations.txt"
    );

    fn first(text: &str, chip: Chip) -> Result<Estimate, Unknown> {
        let parsed = crate::text::parse(text).unwrap();
        let kernels = Kernels::new(&parsed.module);
        let circumstances =
            Circumstances { chip: Some(chip), rules: RuleSet::NEWEST, flag_limit_bytes: None };
        kernels.estimate(kernels.ids()[0], &circumstances)
    }

    /// The sizes above the limit are those that the compiler printed: 32.00M and 64.00M in the
    /// dumps' `compile.log`.
    #[test]
    fn need_and_limit_of_dumps() {
        const MIB: u64 = 1 << 20;
        for (text, total, exceeds, quoted) in [
            (FITS, 8 * MIB, None, None),
            (GOOD, 8 * MIB, None, None),
            (OVER, 32 * MIB, Some(Exceeded::Limit), Some(32 * MIB)),
            (BAD, 64 * MIB, Some(Exceeded::Limit), Some(64 * MIB)),
        ] {
            let found = first(text, Chip::V5e).unwrap();
            assert_eq!(found.total_bytes, total);
            assert_eq!((found.exceeds, found.quoted_bytes), (exceeds, quoted));
            assert_eq!(found.limit_bytes, Some(16 * MIB));
        }
    }

    /// Scratch of which a part is used is kept; windows of arrays in VMEM go where the grid has one
    /// step. The totals are those that the compiler recorded.
    #[test]
    fn kept_and_deleted_as_recorded() {
        const KEPT: &str = dump!(
            "dumps/kernels_kept_and_deleted/module_0000.jit_f.cl_1014260217.after_codegen.txt"
        );
        let parsed = crate::text::parse(KEPT).unwrap();
        let kernels = Kernels::new(&parsed.module);
        let circumstances = Circumstances { chip: Some(Chip::V5e), ..Circumstances::default() };
        let mut totals = Vec::new();
        for &id in kernels.ids() {
            let found = kernels.estimate(id, &circumstances).unwrap();
            assert_eq!(Some(found.total_bytes), found.used_bytes, "{}", found.name);
            totals.push((found.name, found.total_bytes, found.deleted_bytes));
        }
        totals.sort();
        let wanted = [("first_row", 221_184, 0), ("one_step", 0, 524_288)];
        assert_eq!(totals, wanted.map(|(name, total, gone)| (name.to_owned(), total, gone)));
    }

    /// What the program itself puts into VMEM counts beside the limit: by operand number and by the
    /// result's place in the tuple.
    #[test]
    fn coloured_operands_and_results() {
        let coloured = OVER
            .replacen(
                "\"input_memory_space_colors\":[]",
                "\"input_memory_space_colors\":[{\"operand_index\":\"1\",\"color\":1}]",
                1,
            )
            .replacen(
                "\"output_memory_space_colors\":[]",
                "\"output_memory_space_colors\":[{\"color\":1}]",
                1,
            );
        assert!(coloured != OVER);
        let array = 8192 * 2048 * 4;
        assert_eq!(first(OVER, Chip::V5e).unwrap().coloured_bytes, 0);
        assert_eq!(first(&coloured, Chip::V5e).unwrap().coloured_bytes, 2 * array);
    }

    fn body(text: &str) -> Vec<u8> {
        let start = text.find("\"body\":").unwrap() + 7;
        let body = text[start..].split('"').nth(1).unwrap();
        STANDARD.decode(body).unwrap()
    }

    proptest! {
        #[test]
        fn damaged_bodies_never_panic(
            cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            length in any::<prop::sample::Index>(),
            is_cut: bool,
        ) {
            let mut bytes = body(OVER);
            for (at, byte) in cuts {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if is_cut {
                bytes.truncate(length.index(bytes.len()));
            }
            let whole = OVER.replace(&STANDARD.encode(body(OVER)), &STANDARD.encode(&bytes));
            let _ = first(&whole, Chip::V5e);
        }
    }
}
