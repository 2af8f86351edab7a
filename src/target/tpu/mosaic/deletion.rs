//! Accesses to buffers in; the buffers that the compiler deletes out (facts: mosaic-vmem section 3,
//! DELETED, and section 11).

use super::buffers::{Access, Accesses, Act, Range};
use super::bytecode::Dimensions;
use super::kernel::Kernel;
use super::operation::Kind;
use super::padding;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Rounds in which deleting one buffer may make another one's loads useless.
const ROUNDS: usize = 8;

/// Ranges of one straight line that are remembered: each read is held against all of them.
const RANGE_LIMIT: usize = 64;

/// What becomes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Kept,
    /// Nobody needs what is in it.
    Dead,
    /// What is stored is handed on in registers.
    Forwarded,
}

/// What the compiler's release and chip allow.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Copies between buffers in VMEM become loads and stores.
    pub copies_are_loads: bool,
    /// 16-bit types may have tiles of 16 rows.
    pub has_wide_16_bit_tiles: bool,
}

/// What is needed and what is not.
#[derive(Debug)]
pub struct Liveness {
    fates: FxHashMap<u32, Fate>,
    needed: Vec<bool>,
}

impl Liveness {
    /// What becomes of a buffer.
    pub fn fate(&self, buffer: u32) -> Fate {
        self.fates.get(&buffer).copied().unwrap_or(Fate::Kept)
    }

    /// Whether somebody needs a value.
    pub fn needs(&self, value: u32) -> bool {
        self.needed.get(value as usize).copied().unwrap_or(false)
    }
}

/// Finds the fate of each of `candidates`: buffers that may be deleted at all.
pub fn liveness(
    kernel: &Kernel<'_>,
    accesses: &Accesses,
    candidates: &[u32],
    rules: Rules,
) -> Liveness {
    let mut by_buffer: BTreeMap<u32, Vec<&Access>> =
        candidates.iter().map(|&buffer| (buffer, Vec::new())).collect();
    let mut stores: FxHashMap<u32, u32> = FxHashMap::default();
    for access in &accesses.list {
        if let Some(list) = by_buffer.get_mut(&access.buffer) {
            list.push(access);
        }
        if access.act == Act::Store {
            stores.insert(access.operation, access.buffer);
        }
    }
    let mut live = Liveness { fates: FxHashMap::default(), needed: Vec::new() };
    for _ in 0..ROUNDS {
        live.needed = needed(kernel, accesses, &stores, &live.fates);
        let mut changed = false;
        for (&buffer, list) in &by_buffer {
            let fate = fate(kernel, accesses, &live, buffer, list, rules);
            if live.fate(buffer) == Fate::Kept && fate != Fate::Kept {
                live.fates.insert(buffer, fate);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    live
}

/// The values that an operation with an effect needs, directly or through others.
fn needed(
    kernel: &Kernel<'_>,
    accesses: &Accesses,
    stores: &FxHashMap<u32, u32>,
    fates: &FxHashMap<u32, Fate>,
) -> Vec<bool> {
    let mut needed = vec![false; kernel.ir.values.len()];
    let Some(main) = kernel.operation(kernel.main) else { return needed };
    for at in (kernel.main + 1..main.end).rev() {
        let Some(operation) = kernel.operation(at) else { continue };
        if !accesses.runs.get(at as usize).copied().unwrap_or(false) {
            continue;
        }
        let has_effect = match operation.kind {
            Kind::VectorStore => {
                stores.get(&at).and_then(|buffer| fates.get(buffer)) != Some(&Fate::Dead)
            }
            kind => !kind.is_pure(),
        };
        let is_needed = |value: u32| needed.get(value as usize).copied().unwrap_or(false);
        if has_effect || (operation.results.start..operation.results.end).any(is_needed) {
            for &operand in kernel.ir.operands(operation) {
                if let Some(place) = needed.get_mut(operand as usize) {
                    *place = true;
                }
            }
        }
    }
    needed
}

fn fate(
    kernel: &Kernel<'_>,
    accesses: &Accesses,
    live: &Liveness,
    buffer: u32,
    list: &[&Access],
    rules: Rules,
) -> Fate {
    let is_copied = list.iter().any(|access| matches!(access.act, Act::CopyIn | Act::CopyOut(_)));
    if list.iter().any(|access| matches!(access.act, Act::Other | Act::Update))
        || is_copied && !rules.copies_are_loads
    {
        return Fate::Kept;
    }
    let is_live_read = |access: &Access| match access.act {
        Act::Load(value) => live.needs(value),
        Act::CopyOut(target) => live.fate(target) != Fate::Dead,
        _ => false,
    };
    if !list.iter().any(|access| is_live_read(access)) {
        return Fate::Dead;
    }
    let is_whole = kernel
        .memref(buffer)
        .is_some_and(|memref| padding::is_whole_registers(&memref, rules.has_wide_16_bit_tiles));
    let handed_on = if is_copied {
        list.iter().all(|access| access.range.is_some())
            && reads_follow(list, accesses, is_live_read, false, lies_inside)
    } else {
        // A part of the buffer is handed on where the part is whole registers, too.
        is_whole
            && reads_follow(list, accesses, is_live_read, true, |read, stored| {
                read == stored && is_whole_part(kernel, buffer, read, rules)
            })
    };
    if handed_on { Fate::Forwarded } else { Fate::Kept }
}

/// Whether every live read has a known range that `fits` a range stored before it in the same
/// straight line; with `is_last_only` the last one.
fn reads_follow(
    list: &[&Access],
    accesses: &Accesses,
    is_live_read: impl Fn(&Access) -> bool,
    is_last_only: bool,
    fits: impl Fn(&Range, &Range) -> bool,
) -> bool {
    let mut stored: FxHashMap<u32, Vec<Range>> = FxHashMap::default();
    for access in list {
        match access.act {
            Act::Store | Act::CopyIn => {
                // Whoever holds this line cannot know whether it ran.
                let mut line = access.line;
                while line != 0 {
                    line = accesses.outer.get(line as usize).copied().unwrap_or(0);
                    stored.remove(&line);
                }
                let before = stored.entry(access.line).or_default();
                match &access.range {
                    Some(range) if is_last_only => {
                        before.clear();
                        before.push(range.clone());
                    }
                    Some(_) if before.len() >= RANGE_LIMIT => {}
                    Some(range) => before.push(range.clone()),
                    None => before.clear(),
                }
            }
            _ if is_live_read(access) => {
                let before = stored.get(&access.line).map_or(&[][..], Vec::as_slice);
                let fits = |read: &Range| before.iter().any(|stored| fits(read, stored));
                if !access.range.as_ref().is_some_and(fits) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// Whether a range of a buffer is itself a buffer of whole registers.
fn is_whole_part(kernel: &Kernel<'_>, buffer: u32, range: &Range, rules: Rules) -> bool {
    let Some(memref) = kernel.memref(buffer) else { return false };
    let part: Dimensions = range.iter().map(|&(_, size)| size).collect();
    padding::is_whole_part(&memref, &part, rules.has_wide_16_bit_tiles)
}

fn lies_inside(inner: &Range, outer: &Range) -> bool {
    inner.len() == outer.len()
        && inner.iter().zip(outer).all(|(&(start, size), &(from, length))| {
            start >= from && start.saturating_add(size) <= from.saturating_add(length)
        })
}
