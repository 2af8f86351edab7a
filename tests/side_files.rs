//! XLA's own files are read in full: what the readers give is counted against the raw lines, and
//! totals against sums.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)] // a helper fails by panicking

use hlolint::dump::side::buffer_assignment::{self, BufferAssignment, UsedValues};
use hlolint::dump::side::live_range::{self, LiveRanges};
use hlolint::dump::side::memory_usage_report::{self, MemoryUsageReport};
use hlolint::dump::side::{SideError, gpu_target_config, target_arguments, tpu_comp_env};
use hlolint::dump::{Content, FileName, SideKind};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// All side files below a directory.
fn side_files(directory: &Path) -> Vec<(SideKind, PathBuf)> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(directory).sort_by_file_name() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Content::Side(kind) = FileName::parse(&name).content {
            files.push((kind, entry.path().to_path_buf()));
        }
    }
    files
}

/// A file's text, unpacked.
fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return String::from_utf8(bytes).unwrap();
    }
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    text
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// Lines between a line that begins with `from` and the next that does not begin with `indent`.
fn section(text: &str, from: &str, indent: &str) -> usize {
    let lines = text.lines().skip_while(|line| !line.starts_with(from)).skip(1);
    lines.take_while(|line| line.starts_with(indent)).count()
}

fn count(text: &str, begins: &str) -> usize {
    text.lines().filter(|line| line.starts_with(begins)).count()
}

fn check_buffer_assignment(text: &str, read: &BufferAssignment<'_>) {
    let values: usize = read.allocations.iter().map(|record| record.values.len()).sum();
    assert_eq!(read.allocations.len(), count(text, "allocation "));
    assert_eq!(values, count(text, " value: "));
    for (number, record) in read.allocations.iter().enumerate() {
        assert_eq!(record.number, number as u64);
    }
    assert_eq!(read.values.is_some(), text.contains("\nTotal bytes used: "));
    assert_eq!(read.live_ranges.is_some(), text.contains("\nHloLiveRange "));
    if let Some(values) = &read.values {
        check_values(text, values);
        let sum: u64 = read.allocations.iter().map(|record| record.size_bytes).sum();
        assert_eq!(values.total_bytes, sum);
    }
    if let Some(ranges) = &read.live_ranges {
        check_live_ranges(text, ranges);
    }
}

fn check_values(text: &str, read: &UsedValues<'_>) {
    assert_eq!(read.values.len(), count(text, "<"));
    assert_eq!(read.values.len(), count(text, " positions:"));
    let mut expected = (0, 0);
    let mut state = "";
    for line in text.lines() {
        match line {
            " positions:" | " uses:" => state = line,
            _ if !line.starts_with("  ") => state = "",
            _ if state == " positions:" => expected.0 += 1,
            "  (none)" => {}
            _ if state == " uses:" => expected.1 += 1,
            _ => {}
        }
    }
    let positions: usize = read.values.iter().map(|value| value.positions.len()).sum();
    let uses: usize = read.values.iter().map(|value| value.uses.len()).sum();
    assert_eq!((positions, uses), expected);
    assert!(read.values.iter().all(|value| !value.definition.is_empty()));
}

fn check_live_ranges(text: &str, read: &LiveRanges<'_>) {
    assert_eq!(read.sequence.len(), section(text, "  InstructionSequence:", "    "));
    assert_eq!(read.intervals.len(), section(text, "  BufferLiveRange:", "    "));
    assert_eq!(read.end as usize, read.sequence.len());
    let peak = read.peak.as_ref().unwrap();
    assert_eq!(peak.values.len(), section(text, "  Live ranges at ", "    "));
    let sum: u64 = peak.values.iter().map(|value| value.size_bytes).sum();
    if let Some(last) = peak.values.last().and_then(|value| value.cumulative_bytes) {
        assert_eq!(last, sum);
    }
    if let Some(total) = peak.total_bytes {
        assert_eq!(total, sum);
        let tree = section(text, "  Stack trace breakdown", "    ");
        assert_eq!(peak.stack_traces.lines().count(), tree);
    }
}

fn check_report(text: &str, read: &MemoryUsageReport<'_>) {
    let columns = |line: &&str| line.matches(';').count() >= 4 && !line.contains("used_by_n");
    let expected = text.lines().filter(columns).count();
    let tables: Vec<_> = match read {
        MemoryUsageReport::BySpace(spaces) => {
            assert_eq!(spaces.len(), count(text, "Memory Space: "));
            spaces.iter().flat_map(|space| &space.tables).collect()
        }
        MemoryUsageReport::ByAllocation { allocations, tables, .. } => {
            let rows = text.lines().filter(|line| line.contains("; allocation ")).count();
            assert_eq!(allocations.len(), rows);
            assert_eq!(tables.len(), count(text, "allocation "));
            tables.iter().collect()
        }
    };
    assert_eq!(tables.iter().map(|table| table.rows.len()).sum::<usize>(), expected);
}

/// Reads one file in full; the number of its records.
fn check(kind: SideKind, text: &str) -> Result<usize, SideError> {
    Ok(match kind {
        SideKind::BufferAssignment => {
            let read = buffer_assignment::parse(text)?;
            check_buffer_assignment(text, &read);
            read.allocations.iter().map(|record| 1 + record.values.len()).sum()
        }
        SideKind::BufferAssignmentValues => {
            let read = buffer_assignment::parse_values(text)?;
            check_values(text, &read);
            read.values.len()
        }
        SideKind::LiveRange => {
            let read = live_range::parse(text)?;
            check_live_ranges(text, &read);
            read.intervals.len()
        }
        SideKind::MemoryUsageReport => {
            let read = memory_usage_report::parse(text)?;
            check_report(text, &read);
            text.lines().count()
        }
        SideKind::TargetArguments => {
            let read = target_arguments::parse(text)?;
            assert!(!read.version.is_empty() && !read.chip_config_name.is_empty());
            1
        }
        SideKind::TpuCompEnv => {
            let read = tpu_comp_env::parse(text)?;
            let top = |line: &&str| !line.starts_with([' ', '}', '#']);
            assert_eq!(read.len(), text.lines().filter(top).count());
            read.len()
        }
        SideKind::GpuTargetConfig => {
            let read = gpu_target_config::parse(text)?;
            assert!(read.memory_bytes.is_some() && read.compute_capability.is_some());
            1
        }
        SideKind::OomTopInstructions | SideKind::Topology | SideKind::CompileLog => 0,
    })
}

/// Checks all side files of a directory; files and records by kind.
fn check_directory(directory: &Path) -> BTreeMap<SideKind, (usize, usize)> {
    let mut counts = BTreeMap::new();
    for (kind, path) in side_files(directory) {
        let text = read(&path);
        let records = check(kind, &text)
            .unwrap_or_else(|error| panic!("{}:{}: {error}", path.display(), error.line));
        let count: &mut (usize, usize) = counts.entry(kind).or_default();
        *count = (count.0 + 1, count.1 + records);
    }
    counts
}

/// The totals of the report are the sums of the allocations, memory space by memory space.
fn check_totals(directory: &Path) -> usize {
    const REPORT: &str = "-memory-usage-report.txt";
    let mut reports = 0;
    for (kind, path) in side_files(directory) {
        if kind != SideKind::MemoryUsageReport {
            continue;
        }
        let assignment = path.to_string_lossy().replace(REPORT, "-buffer-assignment.txt");
        let (text, assignment) = (read(&path), read(Path::new(&assignment)));
        let mut sums: BTreeMap<i64, u64> = BTreeMap::new();
        for record in buffer_assignment::parse(&assignment).unwrap().allocations {
            *sums.entry(record.memory_space).or_default() += record.size_bytes;
        }
        match memory_usage_report::parse(&text).unwrap() {
            MemoryUsageReport::BySpace(spaces) => {
                for space in &spaces {
                    let sum = sums.get(&space.memory_space).copied().unwrap_or(0);
                    assert_eq!(space.total_bytes, sum, "{} {space:?}", path.display());
                }
            }
            MemoryUsageReport::ByAllocation { total_bytes, .. } => {
                assert_eq!(total_bytes, sums.values().sum::<u64>(), "{}", path.display());
            }
        }
        reports += 1;
    }
    reports
}

#[test]
fn every_side_file_of_testdata_is_read_in_full() {
    let counts = check_directory(&testdata());
    for kind in [SideKind::BufferAssignment, SideKind::LiveRange, SideKind::MemoryUsageReport] {
        assert!(counts.get(&kind).is_some_and(|count| count.0 >= 10), "{counts:?}");
    }
    assert!(check_totals(&testdata()) >= 10);
}

/// `HLOLINT_CORPORA=DIR[:DIR...] cargo test --test side_files -- --ignored --nocapture`
#[test]
#[ignore = "needs folders of dumps: HLOLINT_CORPORA"]
fn every_side_file_of_corpora_is_read_in_full() {
    let Some(folders) = std::env::var_os("HLOLINT_CORPORA") else {
        eprintln!("SKIPPED: HLOLINT_CORPORA names no folders");
        return;
    };
    for folder in std::env::split_paths(&folders) {
        let counts = check_directory(&folder);
        let totals = check_totals(&folder);
        eprintln!("{}: {totals} reports equal the sums of their allocations", folder.display());
        for (kind, (files, records)) in counts {
            eprintln!("  {kind:?}: {files} files, {records} records");
        }
    }
}

/// A small file of each kind from testdata.
fn samples() -> Vec<(SideKind, String)> {
    let mut samples: BTreeMap<SideKind, String> = BTreeMap::new();
    for (kind, path) in side_files(&testdata()) {
        let text = read(&path);
        let shortest = samples.entry(kind).or_insert_with(|| text.clone());
        if text.len() < shortest.len() && text.len() > 200 {
            *shortest = text;
        }
    }
    samples.into_iter().collect()
}

fn read_any(kind: SideKind, text: &str) {
    match kind {
        SideKind::BufferAssignment => drop(buffer_assignment::parse(text)),
        SideKind::BufferAssignmentValues => drop(buffer_assignment::parse_values(text)),
        SideKind::LiveRange => drop(live_range::parse(text)),
        SideKind::MemoryUsageReport => drop(memory_usage_report::parse(text)),
        SideKind::TargetArguments => drop(target_arguments::parse(text)),
        SideKind::TpuCompEnv => drop(tpu_comp_env::parse(text)),
        SideKind::GpuTargetConfig => drop(gpu_target_config::parse(text)),
        SideKind::OomTopInstructions | SideKind::Topology | SideKind::CompileLog => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cut_and_changed_files_never_panic(
        pick in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let samples = SAMPLES.with(Clone::clone);
        let (kind, text) = &samples[pick.index(samples.len())];
        let mut bytes = text.as_bytes()[..cut.index(text.len() + 1)].to_vec();
        read_any(*kind, &String::from_utf8_lossy(&bytes));
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_any(*kind, &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_never_panics(text in "[a-z0-9:;<>{}@(),=|. \n-]{0,200}") {
        let headed = [
            format!("BufferAssignment:\nallocation 0: size {text}"),
            format!("HloLiveRange (max 1):\n  InstructionSequence:\n  BufferLiveRange:\n    {text}"),
            format!("\nTotal bytes used: 1\n\nUsed values:\n<{text}"),
            format!("Memory Space: x (color=0)\nTotal bytes: {text}"),
            text,
        ];
        for text in &headed {
            for kind in [
                SideKind::BufferAssignment,
                SideKind::BufferAssignmentValues,
                SideKind::LiveRange,
                SideKind::MemoryUsageReport,
                SideKind::TargetArguments,
                SideKind::TpuCompEnv,
                SideKind::GpuTargetConfig,
            ] {
                read_any(kind, text);
            }
        }
    }
}

thread_local! {
    static SAMPLES: Vec<(SideKind, String)> = samples();
}
