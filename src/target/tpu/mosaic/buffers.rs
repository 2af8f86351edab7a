//! A kernel in; what is done to each of its buffers out: loads, stores, copies, with their ranges.
//!
//! The walk goes through straight lines: a block, with the branches that are known to be taken and
//! the loops that are known to run once in it; any other block is a straight line of its own.

use super::constants::Constants;
use super::kernel::Kernel;
use super::operation::Kind;
use smallvec::SmallVec;

/// Positions and sizes in a buffer, the most major dimension first.
pub type Range = SmallVec<[(i64, i64); 4]>;

/// What is done to a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// A vector is loaded; the value.
    Load(u32),
    /// A vector is stored.
    Store,
    /// A store that first reads what was there.
    Update,
    /// A copy from another buffer in VMEM comes in.
    CopyIn,
    /// A copy to another buffer in VMEM goes out; the buffer it goes to.
    CopyOut(u32),
    /// Anything else.
    Other,
}

/// An access to a buffer.
#[derive(Clone, Debug)]
pub struct Access {
    /// The buffer: the value of a memref that is an argument or an allocation.
    pub buffer: u32,
    /// What is done.
    pub act: Act,
    /// The operation.
    pub operation: u32,
    /// Where, if that is known.
    pub range: Option<Range>,
    /// The straight line it stands in.
    pub line: u32,
}

/// A look at a buffer: the whole or a part.
#[derive(Clone, Debug)]
struct Look {
    buffer: u32,
    /// The range, and which of its dimensions are left after squeezing; none where unknown.
    range: Option<(Range, SmallVec<[u8; 4]>)>,
}

/// All accesses, in program order, and the operations that never run.
#[derive(Debug, Default)]
pub struct Accesses {
    /// The accesses.
    pub list: Vec<Access>,
    /// Whether each operation runs, by number.
    pub runs: Vec<bool>,
    /// For each straight line the one that holds it.
    pub outer: Vec<u32>,
}

/// Finds all accesses of the main function. `in_vmem` says of a value whether the memory behind it
/// is in VMEM, wherever the kernel lets the compiler decide.
pub fn accesses(
    kernel: &Kernel<'_>,
    constants: &Constants,
    in_vmem: &dyn Fn(u32) -> bool,
) -> Accesses {
    let mut walk = Walk {
        kernel,
        constants,
        in_vmem,
        looks: vec![None; kernel.ir.values.len()],
        found: Accesses {
            list: Vec::new(),
            runs: vec![false; kernel.ir.operations.len()],
            outer: vec![0],
        },
    };
    for value in kernel.arguments_of(kernel.main) {
        walk.buffer(value);
    }
    if let Some(body) = kernel.body_of(kernel.main) {
        walk.block(body, 0);
    }
    walk.found
}

struct Walk<'a, 'b> {
    kernel: &'a Kernel<'b>,
    constants: &'a Constants,
    in_vmem: &'a dyn Fn(u32) -> bool,
    looks: Vec<Option<Look>>,
    found: Accesses,
}

impl Walk<'_, '_> {
    fn buffer(&mut self, value: u32) {
        let Some(memref) = self.kernel.memref(value) else { return };
        let range: Range = memref.dimensions.iter().map(|&size| (0, size)).collect();
        let left = (0..range.len()).map(|at| at as u8).collect();
        if let Some(place) = self.looks.get_mut(value as usize) {
            *place = Some(Look { buffer: value, range: Some((range, left)) });
        }
    }

    fn look(&self, value: u32) -> Option<&Look> {
        self.looks.get(value as usize)?.as_ref()
    }

    fn block(&mut self, block: u32, line: u32) {
        let kernel = self.kernel;
        for at in kernel.ir.operations_of(block) {
            if let Some(place) = self.found.runs.get_mut(at as usize) {
                *place = true;
            }
            self.operation(at, line);
        }
    }

    fn operation(&mut self, at: u32, line: u32) {
        let kernel = self.kernel;
        let Some(operation) = kernel.operation(at) else { return };
        let operands = kernel.ir.operands(operation);
        match operation.kind {
            Kind::Alloca => self.buffer(operation.results.start),
            Kind::Slice | Kind::Squeeze | Kind::View => self.view(at),
            Kind::VectorLoad => {
                if let [base, indices @ ..] = operands {
                    let range = self.vector_range(*base, indices, operation.results.start);
                    self.access(*base, Act::Load(operation.results.start), at, range, line);
                }
            }
            Kind::VectorStore => self.store(at, operands, line),
            Kind::EnqueueDma => self.copy(at, line),
            Kind::WaitDma => {}
            Kind::If => self.branches(at, line),
            _ => {
                // A load that is no plain one still only reads.
                let act = if operation.kind.is_pure() {
                    Act::Load(operation.results.start)
                } else {
                    Act::Other
                };
                for &operand in operands {
                    self.access(operand, act.clone(), at, None, line);
                }
                self.inside(at, line);
            }
        }
    }

    /// The blocks inside an operation: part of the line where they run exactly once.
    fn inside(&mut self, at: u32, line: u32) {
        let kernel = self.kernel;
        let Some(operation) = kernel.operation(at) else { return };
        let is_region = operation.operands.is_empty() && operation.kind == Kind::Other;
        let once = operation.kind == Kind::For && self.constants.runs_once(kernel, at);
        for block in kernel.ir.inner_blocks(operation) {
            let line = if is_region || once { line } else { self.new_line(line) };
            self.block(block, line);
        }
    }

    fn branches(&mut self, at: u32, line: u32) {
        let kernel = self.kernel;
        let Some(operation) = kernel.operation(at) else { return };
        let condition = kernel.ir.operands(operation).first();
        match condition.and_then(|&condition| self.constants.get(condition)) {
            Some(known) => {
                for &block in kernel.ir.region(operation, usize::from(known == 0)) {
                    self.block(block, line);
                }
            }
            None => {
                for block in kernel.ir.inner_blocks(operation) {
                    let line = self.new_line(line);
                    self.block(block, line);
                }
            }
        }
    }

    fn new_line(&mut self, outer: u32) -> u32 {
        self.found.outer.push(outer);
        self.found.outer.len() as u32 - 1
    }

    fn access(&mut self, base: u32, act: Act, operation: u32, range: Option<Range>, line: u32) {
        let Some(look) = self.look(base) else { return };
        let buffer = look.buffer;
        self.found.list.push(Access { buffer, act, operation, range, line });
    }

    /// The range of a look that is moved by constant indices and as large as a vector.
    fn vector_range(&self, base: u32, indices: &[u32], vector: u32) -> Option<Range> {
        let (range, left) = self.look(base)?.range.as_ref()?;
        let sizes = self.kernel.vector(vector)?;
        if indices.len() != left.len() || sizes.len() != left.len() {
            return None;
        }
        let mut range = range.clone();
        for ((&dimension, &index), &size) in left.iter().zip(indices).zip(&sizes) {
            let place = range.get_mut(usize::from(dimension))?;
            *place = (place.0.checked_add(self.constants.get(index)?)?, size);
        }
        Some(range)
    }

    fn store(&mut self, at: u32, operands: &[u32], line: u32) {
        let kernel = self.kernel;
        let Some(operation) = kernel.operation(at) else { return };
        let [value, base, indices @ ..] = operands else { return };
        let rank = self.kernel.memref(*base).map_or(0, |memref| memref.dimensions.len());
        let (indices, masks) = indices.split_at(rank.min(indices.len()));
        let is_add =
            kernel.bytecode.integer(operation.attributes, "add").is_some_and(|add| add != 0);
        let strides = kernel.bytecode.entry(operation.attributes, "strides");
        let is_strided = strides.is_some_and(|at| {
            use super::bytecode::Attribute::Integers;
            !matches!(kernel.bytecode.attribute(at), Integers(list) if list.is_empty())
        });
        let range = if is_strided { None } else { self.vector_range(*base, indices, *value) };
        let act = if is_add || !masks.is_empty() || self.is_partial(*base, range.as_ref()) {
            Act::Update
        } else {
            Act::Store
        };
        self.access(*base, act, at, range, line);
    }

    /// Whether a store covers part of the rows that one 32-bit element packs.
    fn is_partial(&self, base: u32, range: Option<&Range>) -> bool {
        let bits = self.kernel.memref(base).and_then(|memref| memref.element_bits).unwrap_or(32);
        let pack = i64::try_from(32 / bits.clamp(1, 32)).unwrap_or(1);
        match range.map(SmallVec::as_slice) {
            Some([.., (start, rows), _]) => start % pack != 0 || rows % pack != 0,
            Some([(start, size)]) if pack > 1 => {
                let packed = 128 * pack;
                start % packed != 0 || size % packed != 0
            }
            _ => false,
        }
    }

    fn view(&mut self, at: u32) {
        let kernel = self.kernel;
        let Some(operation) = kernel.operation(at) else { return };
        let [base, rest @ ..] = kernel.ir.operands(operation) else { return };
        let Some(look) = self.look(*base) else { return };
        let (buffer, result) = (look.buffer, operation.results.start);
        let shape = kernel.memref(result).map(|memref| memref.dimensions);
        let range =
            look.range.as_ref().zip(shape).and_then(|((range, left), shape)| {
                match operation.kind {
                    Kind::Slice => {
                        let mut range = range.clone();
                        for (at, &dimension) in left.iter().enumerate() {
                            let start = self.constants.get(*rest.get(at)?)?;
                            let place = range.get_mut(usize::from(dimension))?;
                            *place = (place.0.checked_add(start)?, *shape.get(at)?);
                        }
                        Some((range, left.clone()))
                    }
                    Kind::Squeeze => {
                        let mut excess = left.len().saturating_sub(shape.len());
                        let mut kept = SmallVec::new();
                        for &dimension in left {
                            if excess > 0 && range.get(usize::from(dimension))?.1 == 1 {
                                excess -= 1;
                            } else {
                                kept.push(dimension);
                            }
                        }
                        (kept.len() == shape.len()).then(|| (range.clone(), kept))
                    }
                    _ => None,
                }
            });
        if let Some(place) = self.looks.get_mut(result as usize) {
            *place = Some(Look { buffer, range });
        }
    }

    fn copy(&mut self, at: u32, line: u32) {
        let kernel = self.kernel;
        let Some(operation) = kernel.operation(at) else { return };
        let memrefs: SmallVec<[u32; 2]> = kernel
            .ir
            .operands(operation)
            .iter()
            .copied()
            .filter(|&value| {
                kernel.memref(value).is_some_and(|memref| {
                    use super::kernel::Space;
                    memref.space != Space::Other
                })
            })
            .collect();
        let [source, target] = *memrefs.as_slice() else {
            for &value in &memrefs {
                self.access(value, Act::Other, at, None, line);
            }
            return;
        };
        let buffer = |value: u32| self.look(value).map(|look| look.buffer);
        let (Some(from), Some(to)) = (buffer(source), buffer(target)) else { return };
        // Source, target and its semaphore: the others say which device or core is meant.
        let is_remote = operation.operands.len() != 3;
        let is_local = !is_remote && (self.in_vmem)(from) && (self.in_vmem)(to);
        let range = |value: u32| Some(self.look(value)?.range.as_ref()?.0.clone());
        let (source_range, target_range) = (range(source), range(target));
        let (out, into) =
            if is_local { (Act::CopyOut(to), Act::CopyIn) } else { (Act::Other, Act::Other) };
        self.access(source, out, at, source_range, line);
        self.access(target, into, at, target_range, line);
    }
}
