//! The buffers that `report` names at the peak are the ones that XLA's own sizes, offsets and live
//! ranges put there, in every program of testdata that has them. `HLOLINT_CORPUS=FOLDER` adds the
//! dump directories of a folder.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::Settings;
use hlolint::dump::side::buffer_assignment::{self, AllocationRecord};
use hlolint::dump::side::live_range::{self, LiveRanges};
use hlolint::dump::{Program, SideKind};
use hlolint::memory::LiveRange;
use hlolint::report::report::{Buffer, Kind, Module, Options, report};
use hlolint::target::Backend;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use support::{fixtures, folders, open};

/// Values of one allocation at one place, one behind the other.
struct Block {
    offset_bytes: u64,
    size_bytes: u64,
    range: LiveRange,
    /// Whether it is part of the heap of temporaries.
    counts: bool,
    /// `fusion.1{0}`.
    names: BTreeSet<String>,
}

/// The place, the size and the names of what is alive.
type Alive<'b> = BTreeMap<(u64, u64, String), &'b BTreeSet<String>>;

/// What XLA's files say: bytes of the padded maximum, those of temporaries among them, and all blocks.
fn by_xla(records: &[AllocationRecord<'_>], ranges: &LiveRanges<'_>) -> ((u64, u64), Vec<Block>) {
    let lasts = |record: &AllocationRecord<'_>| {
        record.parameter.is_some() || record.is_constant || record.maybe_live_out
    };
    let of_value: BTreeMap<(&str, &[u32]), LiveRange> = ranges
        .intervals
        .iter()
        .map(|interval| ((interval.instruction, interval.index.as_slice()), interval.range))
        .collect();
    let (mut lasting_bytes, mut blocks, mut events) = (0, Vec::new(), Vec::new());
    for record in
        records.iter().filter(|record| record.memory_space == 0 && !record.is_thread_local)
    {
        let mut placed: Vec<_> = record
            .values
            .iter()
            .filter(|value| value.size_bytes > 0 && !value.shape.starts_with('('))
            .map(|value| {
                let key = (value.name.instruction, value.name.index.as_slice());
                let whole = LiveRange { start: 0, end: ranges.end };
                let range = of_value.get(&key).copied().unwrap_or(whole);
                let index: Vec<String> = key.1.iter().map(ToString::to_string).collect();
                let name = format!("{}{{{}}}", key.0, index.join(","));
                (value.offset_bytes, range, value.size_bytes, name)
            })
            .collect();
        placed.sort();
        let first = blocks.len();
        for (offset_bytes, range, size_bytes, name) in placed {
            match blocks[first..].last_mut() {
                Some(Block {
                    offset_bytes: at, size_bytes: size, range: before, names, ..
                }) if *at == offset_bytes && range.start <= before.end => {
                    before.end = before.end.max(range.end);
                    *size = size_bytes.max(*size);
                    names.insert(name);
                }
                _ => blocks.push(Block {
                    offset_bytes,
                    size_bytes,
                    range,
                    counts: false,
                    names: BTreeSet::from([name]),
                }),
            }
        }
        if lasts(record) {
            lasting_bytes += record.size_bytes;
        } else {
            for block in &mut blocks[first..] {
                block.counts = true;
                events.push((block.range.start, block.size_bytes as i64));
                events.push((block.range.end + 1, -(block.size_bytes as i64)));
            }
        }
    }
    events.sort_unstable();
    let (mut now, mut largest) = (0, 0);
    for (_, bytes) in events {
        now += bytes;
        largest = largest.max(now);
    }
    ((lasting_bytes + largest as u64, largest as u64), blocks)
}

/// Holds one program; whether it has what it takes.
fn hold(program: &Program, module: &Module) -> bool {
    let what = program.text.label();
    let read = |kind| program.side(kind).map(|file| file.read().unwrap());
    let Some(assignment) = read(SideKind::BufferAssignment) else { return false };
    let assignment = buffer_assignment::parse(assignment.text().unwrap()).unwrap();
    let side = read(SideKind::LiveRange);
    let ranges = side.as_ref().map(|side| live_range::parse(side.text().unwrap()).unwrap());
    let Some(ranges) = ranges.as_ref().or(assignment.live_ranges.as_ref()) else { return false };
    let Some(peak) = &module.summary.peak else { return false };
    let ((bytes, most), blocks) = by_xla(&assignment.allocations, ranges);
    assert_eq!(Some(bytes), module.summary.hbm.peak_live_bytes, "{what}: bytes at the peak");
    let point = peak.point;
    let is_at = |range: LiveRange| range.start <= point && point <= range.end;
    let there = blocks.iter().filter(|block| block.counts && is_at(block.range));
    let there: u64 = there.map(|block| block.size_bytes).sum();
    assert_eq!(there, most, "{what}: temporaries at {point}, the peak, and at XLA's maximum");
    // What lasts for the whole program is in the bytes above; memory of arguments and results holds
    // other values before and after theirs. Of temporaries each one is held by its name.
    let is_alive = |block: &&Block| block.counts && is_at(block.range);
    let lasting: BTreeSet<&String> =
        blocks.iter().filter(|block| !block.counts).flat_map(|block| &block.names).collect();
    let is_named = |buffer: &&Buffer| {
        buffer.is_alive_at_peak
            && buffer.memory_space == 0
            && buffer.bytes > 0
            && !buffer.shape.starts_with('(')
    };
    let mut named: Alive<'_> = BTreeMap::new();
    for block in blocks.iter().filter(is_alive) {
        let first = block.names.first().unwrap().clone();
        named.insert((block.offset_bytes, block.size_bytes, first), &block.names);
    }
    for buffer in module.details.buffers.iter().filter(is_named) {
        let index: Vec<String> = buffer.index.iter().map(ToString::to_string).collect();
        let name = format!("{}{{{}}}", buffer.instruction, index.join(","));
        if lasting.contains(&name) {
            continue;
        }
        assert_eq!(buffer.kind, Kind::Temporary, "{what}: {name}");
        let place = (buffer.offset_bytes.unwrap_or(0), buffer.bytes);
        let found = named
            .iter()
            .find(|((offset, size, _), names)| (*offset, *size) == place && names.contains(&name))
            .map(|(key, _)| key.clone());
        let found =
            found.unwrap_or_else(|| panic!("{what}: {name} is not alive at {point} by XLA"));
        named.remove(&found);
    }
    assert!(named.is_empty(), "{what}: alive at {point} and not named: {:?}", named.values());
    true
}

/// How many programs of a directory were held.
fn hold_all(path: &Path) -> usize {
    let dump = open(path);
    let full = report(&dump, &Settings::default(), Options::default(), &|| {});
    let is_held = |program: &&Program| {
        let module = full.modules.iter().find(|module| module.summary.file == program.text.label());
        program.backend == Some(Backend::Tpu) && module.is_some_and(|module| hold(program, module))
    };
    dump.programs.iter().filter(is_held).count()
}

#[test]
fn of_testdata() {
    let held: usize = fixtures().iter().map(|fixture| hold_all(&fixture.path)).sum();
    assert!(held >= 30, "{held} programs with XLA's own figures");
}

#[test]
fn of_a_corpus() {
    let Some(corpus) = std::env::var_os("HLOLINT_CORPUS").map(PathBuf::from) else {
        eprintln!("SKIPPED: HLOLINT_CORPUS names no folder of dump directories");
        return;
    };
    let held: usize = folders(&corpus).iter().map(|folder| hold_all(folder)).sum();
    eprintln!("{held} programs of {}", corpus.display());
    assert!(held > 0, "nothing in {} has XLA's own figures", corpus.display());
}
