//! Tables and operations in; the kernel's own account of itself out: grid, arguments, windows.

use super::Unknown;
use super::bytecode::{Attribute, Bytecode, DYNAMIC, Dimensions, Type};
use super::ir::{self, Ir, Operation};
use super::operation::Kind;
use rustc_hash::FxHashMap;

/// The most windows of a kernel.
const WINDOW_LIMIT: usize = 1024;

/// The newest version of Mosaic's dialect whose changes were looked at.
const NEWEST_DIALECT: i64 = 15;

/// Where a memref lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// VMEM.
    Vmem,
    /// Wherever the operand lies.
    Any,
    /// Another memory.
    Other,
}

/// A memref.
#[derive(Clone, Debug, PartialEq)]
pub struct MemRef {
    /// Sizes, the most major first.
    pub dimensions: Dimensions,
    /// Bits of an element; none where the type is unknown.
    pub element_bits: Option<u64>,
    /// Where it lies.
    pub space: Space,
}

/// The window of an operand or result.
#[derive(Clone, Debug)]
pub struct Window {
    /// The block, with 1 for squeezed dimensions; none where the operand has no window.
    pub block: Option<Dimensions>,
    /// `pipeline_mode` is synchronous: one buffer.
    pub is_synchronous: bool,
    /// The function that gives the block's position: its operation.
    pub index_map: Option<u32>,
}

/// How the iterations of a grid dimension may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// In any order, on several cores.
    Parallel,
    /// One after the other.
    Other,
}

/// A kernel.
#[derive(Debug)]
pub struct Kernel<'b> {
    /// Its tables.
    pub bytecode: Bytecode<'b>,
    /// Its operations.
    pub ir: Ir,
    /// Its name, empty where it has none.
    pub name: &'b str,
    /// The operation of the main function.
    pub main: u32,
    /// Size of each grid dimension, [`DYNAMIC`] where an operand gives it.
    pub grid: Vec<i64>,
    /// Semantics of each grid dimension.
    pub semantics: Vec<Semantics>,
    /// Leading scalar operands, in SMEM.
    pub prefetched: usize,
    /// Windows of inputs and outputs.
    pub windows: Vec<Window>,
    /// Whether the dialect is newer than what was looked at.
    pub is_newer_dialect: bool,
}

/// Reads a kernel's body.
///
/// # Errors
/// What cannot be read, or is no TensorCore kernel.
pub fn read(body: &[u8]) -> Result<Kernel<'_>, Unknown> {
    let bytecode = super::bytecode::read(body)?;
    let ir = ir::read(&bytecode)?;
    let functions = || ir.operations.iter().enumerate().filter(|(_, op)| op.kind == Kind::Func);
    let (main, function) = functions()
        .find(|(_, op)| bytecode.entry(op.attributes, "scalar_prefetch").is_some())
        .or_else(|| functions().next())
        .ok_or(Unknown::NoFunction)?;
    let attributes = function.attributes;
    let core = bytecode.entry(attributes, "tpu.core_type").and_then(|at| bytecode.str_of(at));
    if core.is_some_and(|core| core.contains("<sc_")) {
        return Err(Unknown::SparseCore);
    }
    let count = |name: &str| -> usize {
        bytecode
            .integer(attributes, name)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(0)
    };
    let by_name: FxHashMap<&str, u32> = functions()
        .filter_map(|(at, op)| {
            let name = bytecode.entry(op.attributes, "sym_name")?;
            Some((bytecode.str_of(name)?, at as u32))
        })
        .collect();
    let semantics = semantics(&bytecode, attributes);
    let mut grid: Vec<i64> = match integers(&bytecode, attributes, "iteration_bounds") {
        Some(bounds) => bounds.to_vec(),
        None => Vec::new(),
    };
    grid.resize(semantics.len(), 1);
    let dialect = ir
        .operations
        .first()
        .and_then(|module| bytecode.integer(module.attributes, "stable_mosaic.version"));
    let (prefetched, scratch) = (count("scalar_prefetch"), count("scratch_operands"));
    let mut windows = windows(&bytecode, attributes, &by_name)?;
    if windows.is_empty() {
        // Without a grid there are no windows: whole operands.
        let block = ir.region(function, 0).first().and_then(|&block| ir.blocks.get(block as usize));
        let arguments = block.map_or(0, |block| block.arguments.len());
        let others = semantics.len().saturating_add(prefetched).saturating_add(scratch);
        let whole = arguments.saturating_sub(others).min(WINDOW_LIMIT);
        windows.resize(whole, Window { block: None, is_synchronous: true, index_map: None });
    }
    Ok(Kernel {
        name: bytecode
            .entry(attributes, "sym_name")
            .and_then(|at| bytecode.str_of(at))
            .unwrap_or(""),
        main: main as u32,
        grid,
        semantics,
        prefetched,
        windows,
        is_newer_dialect: dialect.is_some_and(|version| version > NEWEST_DIALECT),
        bytecode,
        ir,
    })
}

fn semantics(bytecode: &Bytecode<'_>, attributes: Option<u32>) -> Vec<Semantics> {
    let list = bytecode.entry(attributes, "dimension_semantics").map(|at| bytecode.attribute(at));
    let Some(Attribute::Array(list)) = list else { return Vec::new() };
    let is_parallel =
        |at: u32| bytecode.str_of(at).is_some_and(|text| text.ends_with("<parallel>"));
    list.iter()
        .map(|&at| if is_parallel(at) { Semantics::Parallel } else { Semantics::Other })
        .collect()
}

fn integers(
    bytecode: &Bytecode<'_>,
    dictionary: Option<u32>,
    name: &str,
) -> Option<smallvec::SmallVec<[i64; 8]>> {
    match bytecode.attribute(bytecode.entry(dictionary, name)?) {
        Attribute::Integers(integers) => Some(integers),
        _ => None,
    }
}

fn windows(
    bytecode: &Bytecode<'_>,
    attributes: Option<u32>,
    functions: &FxHashMap<&str, u32>,
) -> Result<Vec<Window>, Unknown> {
    let list = bytecode.entry(attributes, "window_params").map(|at| bytecode.attribute(at));
    let Some(Attribute::Array(list)) = list else { return Ok(Vec::new()) };
    if list.len() > WINDOW_LIMIT {
        return Err(Unknown::TooLarge { what: "the number of windows" });
    }
    let text = |dictionary: u32, name: &str| {
        bytecode.entry(Some(dictionary), name).and_then(|at| bytecode.str_of(at))
    };
    Ok(list
        .iter()
        .map(|&at| Window {
            block: integers(bytecode, Some(at), "window_bounds")
                .map(|bounds| bounds.iter().copied().collect()),
            is_synchronous: text(at, "pipeline_mode")
                .is_some_and(|text| text.contains("synchronous")),
            index_map: text(at, "transform_indices").and_then(|name| functions.get(name)).copied(),
        })
        .collect())
}

impl Kernel<'_> {
    /// The operation of a number.
    pub fn operation(&self, number: u32) -> Option<&Operation> {
        self.ir.operations.get(number as usize)
    }

    /// The block that a function consists of.
    pub fn body_of(&self, function: u32) -> Option<u32> {
        self.ir.region(self.operation(function)?, 0).first().copied()
    }

    /// The arguments of a function: numbers of values.
    pub fn arguments_of(&self, function: u32) -> std::ops::Range<u32> {
        let block = self.body_of(function).and_then(|block| self.ir.blocks.get(block as usize));
        block.map_or(0..0, |block| block.arguments.start..block.arguments.end)
    }

    /// The operand arguments of the main function (windows in order), without grid indices and
    /// prefetched scalars.
    pub fn window_arguments(&self) -> std::ops::Range<u32> {
        let arguments = self.arguments_of(self.main);
        let before = self.semantics.len().saturating_add(self.prefetched);
        let after = |start: u32, count: usize| {
            start.saturating_add(u32::try_from(count).unwrap_or(u32::MAX)).min(arguments.end)
        };
        let start = after(arguments.start, before);
        start..after(start, self.windows.len())
    }

    /// The scratch arguments of the main function.
    pub fn scratch_arguments(&self) -> std::ops::Range<u32> {
        let arguments = self.arguments_of(self.main);
        let start = self.window_arguments().end.min(arguments.end);
        start..arguments.end
    }

    /// The type of a value as a memref, if it is one.
    pub fn memref(&self, value: u32) -> Option<MemRef> {
        let number = *self.ir.values.get(value as usize)?;
        let Type::MemRef { dimensions, element, space } = self.bytecode.type_of(number) else {
            return None;
        };
        let space = space.and_then(|space| self.bytecode.str_of(space)).unwrap_or("");
        let space = match space {
            "#tpu.memory_space<vmem>" => Space::Vmem,
            "#tpu.memory_space<any>" | "#tpu.memory_space<hbm>" => Space::Any,
            _ => Space::Other,
        };
        Some(MemRef { dimensions, element_bits: self.bytecode.element_bits(element), space })
    }

    /// The shape of a value as a vector, if it is one.
    pub fn vector(&self, value: u32) -> Option<Dimensions> {
        match self.bytecode.type_of(*self.ir.values.get(value as usize)?) {
            Type::Vector { dimensions, .. } => Some(dimensions),
            _ => None,
        }
    }

    /// Bytes of a value that is a vector, padded to whole registers.
    pub fn vector_bytes(&self, value: u32) -> Option<u64> {
        let Type::Vector { dimensions, element } =
            self.bytecode.type_of(*self.ir.values.get(value as usize)?)
        else {
            return None;
        };
        let element_bits = self.bytecode.element_bits(element);
        let memref = MemRef { dimensions, element_bits, space: Space::Vmem };
        super::padding::scratch_bytes(&memref)
    }

    /// The sizes of the grid dimensions that one core runs. v4 and v5p have two cores: of the
    /// leading parallel dimensions the first even one is halved (measured: facts, mosaic-vmem
    /// section 11, correction 3).
    pub fn grid_of_core(&self, has_two_cores: bool) -> Vec<i64> {
        let mut grid = self.grid.clone();
        if has_two_cores {
            let leading = self.semantics.iter().take_while(|&&kind| kind == Semantics::Parallel);
            let count = leading.count();
            if let Some(size) =
                grid.iter_mut().take(count).find(|size| **size != DYNAMIC && **size % 2 == 0)
            {
                *size /= 2;
            }
        }
        grid
    }
}
