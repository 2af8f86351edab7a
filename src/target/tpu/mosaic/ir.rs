//! The operations of bytecode in; arenas of operations, regions, blocks and values out.
//!
//! Value numbers of the bytecode are reused by sibling regions; here each value has a number of its
//! own (facts: mosaic-vmem section 2, value numbers).

use super::Unknown;
use super::bytecode::{self, Bytecode};
use super::cursor::Cursor;
use super::operation::Kind;
use crate::hlo::IdRange;

/// How deep regions may nest.
const DEPTH_LIMIT: usize = 128;

/// The most operations of a kernel.
const OPERATION_LIMIT: usize = 2_000_000;

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What it is.
    pub kind: Kind,
    /// The number of its dictionary of attributes.
    pub attributes: Option<u32>,
    /// Run of [`Ir::operands`].
    pub operands: IdRange,
    /// Values it defines.
    pub results: IdRange,
    /// Run of [`Ir::regions`].
    pub regions: IdRange,
    /// The block that holds it.
    pub block: u32,
    /// One past the last operation nested in it.
    pub end: u32,
}

impl Operation {
    /// Values that are defined in its regions.
    pub fn values(&self, ir: &Ir) -> std::ops::Range<u32> {
        let regions = ir.regions.get(self.regions.range()).unwrap_or(&[]);
        let start = regions.iter().map(|region| region.values.start).min().unwrap_or(0);
        let end = regions.iter().map(|region| region.values.end).max().unwrap_or(0);
        start..end
    }
}

/// A region.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Its blocks.
    pub blocks: Vec<u32>,
    /// Values that are defined in it, those of nested regions included.
    pub values: IdRange,
}

/// A block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Values that are its arguments.
    pub arguments: IdRange,
    /// The operation whose region holds it; none for the outermost.
    pub parent: Option<u32>,
    /// First operation, in program order with everything nested in it behind it.
    pub first: u32,
    /// One past the last operation nested in it.
    pub end: u32,
}

/// All operations of a kernel, in program order: what is nested in an operation follows it.
#[derive(Debug, Default)]
pub struct Ir {
    /// The operations.
    pub operations: Vec<Operation>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// Regions of all operations.
    pub regions: Vec<Region>,
    /// Operands of all operations: numbers of values.
    pub operand_arena: Vec<u32>,
    /// The type of each value.
    pub values: Vec<u32>,
}

impl Ir {
    /// The operands of an operation.
    pub fn operands(&self, operation: &Operation) -> &[u32] {
        self.operand_arena.get(operation.operands.range()).unwrap_or(&[])
    }

    /// The blocks of an operation's region `nth`.
    pub fn region(&self, operation: &Operation, nth: usize) -> &[u32] {
        let regions = self.regions.get(operation.regions.range()).unwrap_or(&[]);
        regions.get(nth).map_or(&[], |region| region.blocks.as_slice())
    }

    /// The blocks of all regions of an operation.
    pub fn inner_blocks(&self, operation: &Operation) -> impl Iterator<Item = u32> {
        let regions = self.regions.get(operation.regions.range()).unwrap_or(&[]);
        regions.iter().flat_map(|region| region.blocks.iter().copied())
    }

    /// The operation whose region holds an operation.
    pub fn holder(&self, operation: &Operation) -> Option<u32> {
        self.blocks.get(operation.block as usize)?.parent
    }

    /// The operations that stand in a block itself.
    pub fn operations_of(&self, block: u32) -> impl Iterator<Item = u32> {
        let (first, end) =
            self.blocks.get(block as usize).map_or((0, 0), |block| (block.first, block.end));
        let after = move |&at: &u32| {
            let next = self.operations.get(at as usize)?.end;
            (next < end).then_some(next)
        };
        std::iter::successors((first < end).then_some(first), after)
    }
}

/// Reads the operations.
///
/// # Errors
/// Malformed or too deeply nested operations.
pub fn read(bytecode: &Bytecode<'_>) -> Result<Ir, Unknown> {
    let mut cursor = bytecode.ir;
    let values_left = cursor.left();
    let mut reader = Reader { bytecode, ir: Ir::default(), scope: Vec::new(), values_left };
    reader.block(&mut cursor, None, &mut 0, 0)?;
    Ok(reader.ir)
}

struct Reader<'a, 'b> {
    bytecode: &'a Bytecode<'b>,
    ir: Ir,
    /// The number here of each value number of the isolated scope that is open.
    scope: Vec<u32>,
    /// Values that regions may still claim: each costs at least a byte.
    values_left: usize,
}

const HAS_ATTRIBUTES: u8 = 0x01;
const HAS_RESULTS: u8 = 0x02;
const HAS_OPERANDS: u8 = 0x04;
const HAS_SUCCESSORS: u8 = 0x08;
const HAS_REGIONS: u8 = 0x10;
const HAS_USE_LISTS: u8 = 0x20;
const HAS_PROPERTIES: u8 = 0x40;

impl Reader<'_, '_> {
    /// A region: claims its values behind those of the open scope and gives them back.
    fn region(
        &mut self,
        cursor: &mut Cursor<'_>,
        parent: u32,
        depth: usize,
    ) -> Result<Region, Unknown> {
        if depth > DEPTH_LIMIT {
            return Err(Unknown::TooLarge { what: "the nesting of regions" });
        }
        let blocks = cursor.count()?;
        if blocks == 0 {
            return Ok(Region::default());
        }
        let claimed = usize::try_from(cursor.varint()?)
            .ok()
            .filter(|&claimed| claimed <= self.values_left)
            .ok_or_else(|| cursor.malformed("a region claims too many values"))?;
        self.values_left -= claimed;
        let outer = self.scope.len();
        let first = self.ir.values.len() as u32;
        self.ir.values.resize(self.ir.values.len() + claimed, u32::MAX);
        self.scope.extend(first..first + claimed as u32);
        let mut next = first;
        let mut read = Vec::with_capacity(blocks.min(16));
        for _ in 0..blocks {
            read.push(self.block(cursor, Some(parent), &mut next, depth)?);
        }
        self.scope.truncate(outer);
        let values = IdRange { start: first, end: self.ir.values.len() as u32 };
        Ok(Region { blocks: read, values })
    }

    /// A block; `next` is the next value that the region defines.
    fn block(
        &mut self,
        cursor: &mut Cursor<'_>,
        parent: Option<u32>,
        next: &mut u32,
        depth: usize,
    ) -> Result<u32, Unknown> {
        let (count, has_arguments) = cursor.flagged()?;
        let count = cursor.at_most_left(count)?;
        let arguments =
            if has_arguments { self.arguments(cursor, next)? } else { IdRange::default() };
        let number = self.ir.blocks.len() as u32;
        let first = self.ir.operations.len() as u32;
        self.ir.blocks.push(Block { arguments, parent, first, end: first });
        for _ in 0..count {
            self.operation(cursor, number, next, depth)?;
        }
        let end = self.ir.operations.len() as u32;
        if let Some(block) = self.ir.blocks.get_mut(number as usize) {
            block.end = end;
        }
        Ok(number)
    }

    fn arguments(&mut self, cursor: &mut Cursor<'_>, next: &mut u32) -> Result<IdRange, Unknown> {
        let start = *next;
        for _ in 0..cursor.count()? {
            let (type_number, has_location) = if self.bytecode.version < 4 {
                (cursor.varint()?, true)
            } else {
                cursor.flagged()?
            };
            if has_location {
                cursor.varint()?;
            }
            self.define(cursor, next, type_number)?;
        }
        if self.bytecode.version >= 3 && cursor.byte()? != 0 {
            self.use_lists(cursor)?;
        }
        Ok(IdRange { start, end: *next })
    }

    fn define(
        &mut self,
        cursor: &Cursor<'_>,
        next: &mut u32,
        type_number: u64,
    ) -> Result<(), Unknown> {
        let value = self
            .ir
            .values
            .get_mut(*next as usize)
            .ok_or_else(|| cursor.malformed("more values than the region claims"))?;
        *value = u32::try_from(type_number).unwrap_or(u32::MAX);
        *next += 1;
        Ok(())
    }

    /// Orders of use lists, which nothing here needs.
    fn use_lists(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Unknown> {
        let count = cursor.varint()?.max(1);
        for _ in 0..cursor.at_most_left(count)? {
            let (indices, _) = {
                cursor.varint()?;
                cursor.flagged()?
            };
            for _ in 0..cursor.at_most_left(indices)? {
                cursor.varint()?;
            }
        }
        Ok(())
    }

    fn operation(
        &mut self,
        cursor: &mut Cursor<'_>,
        block: u32,
        next: &mut u32,
        depth: usize,
    ) -> Result<(), Unknown> {
        if self.ir.operations.len() >= OPERATION_LIMIT {
            return Err(Unknown::TooLarge { what: "the number of operations" });
        }
        let name = cursor.index()?;
        let kind = *self
            .bytecode
            .names
            .get(name as usize)
            .ok_or_else(|| cursor.malformed("an operation name that does not exist"))?;
        let mask = cursor.byte()?;
        cursor.varint()?; // location
        let attributes = if mask & HAS_ATTRIBUTES != 0 { Some(cursor.index()?) } else { None };
        if mask & HAS_PROPERTIES != 0 {
            cursor.varint()?;
        }
        let results = self.results(cursor, mask, next)?;
        let operands = self.operands(cursor, mask)?;
        if mask & HAS_SUCCESSORS != 0 {
            for _ in 0..cursor.count()? {
                cursor.varint()?;
            }
        }
        if mask & HAS_USE_LISTS != 0 {
            self.use_lists(cursor)?;
        }
        let number = self.ir.operations.len();
        let regions = IdRange::default();
        let end = number as u32 + 1;
        self.ir.operations.push(Operation {
            kind,
            attributes,
            operands,
            results,
            regions,
            block,
            end,
        });
        if mask & HAS_REGIONS != 0 {
            let regions = self.regions(cursor, number as u32, depth)?;
            let end = self.ir.operations.len() as u32;
            if let Some(operation) = self.ir.operations.get_mut(number) {
                operation.regions = regions;
                operation.end = end;
            }
        }
        Ok(())
    }

    fn results(
        &mut self,
        cursor: &mut Cursor<'_>,
        mask: u8,
        next: &mut u32,
    ) -> Result<IdRange, Unknown> {
        let start = *next;
        if mask & HAS_RESULTS != 0 {
            for _ in 0..cursor.count()? {
                let type_number = cursor.varint()?;
                self.define(cursor, next, type_number)?;
            }
        }
        Ok(IdRange { start, end: *next })
    }

    fn operands(&mut self, cursor: &mut Cursor<'_>, mask: u8) -> Result<IdRange, Unknown> {
        let start = self.ir.operand_arena.len() as u32;
        if mask & HAS_OPERANDS != 0 {
            for _ in 0..cursor.count()? {
                let number = cursor.index()?;
                let value = *self
                    .scope
                    .get(number as usize)
                    .ok_or_else(|| cursor.malformed("a value that does not exist"))?;
                self.ir.operand_arena.push(value);
            }
        }
        Ok(IdRange { start, end: self.ir.operand_arena.len() as u32 })
    }

    fn regions(
        &mut self,
        cursor: &mut Cursor<'_>,
        parent: u32,
        depth: usize,
    ) -> Result<IdRange, Unknown> {
        let (count, is_isolated) = cursor.flagged()?;
        let count = cursor.at_most_left(count)?;
        let mut read = Vec::with_capacity(count.min(4));
        let outer = if is_isolated { Some(std::mem::take(&mut self.scope)) } else { None };
        if is_isolated && self.bytecode.version >= 2 {
            let (_, mut inside) = bytecode::section(cursor)?;
            for _ in 0..count {
                read.push(self.region(&mut inside, parent, depth + 1)?);
            }
        } else {
            for _ in 0..count {
                read.push(self.region(cursor, parent, depth + 1)?);
            }
        }
        if let Some(outer) = outer {
            self.scope = outer;
        }
        let start = self.ir.regions.len() as u32;
        self.ir.regions.extend(read);
        Ok(IdRange { start, end: self.ir.regions.len() as u32 })
    }
}
