//! Counts of allocations by stage (reading the text, graph, memory analysis, the whole of `check`), held
//! against `tests/allocations.tsv`: a change that allocates more must say so there.
//! `UPDATE_COUNTS=1 cargo test --test allocations` writes the file.

#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::expect_used, reason = "tests")]

#[path = "../benches/support/tile.rs"]
#[allow(dead_code, reason = "only one of its texts is read here")]
mod tile;

use hlolint::config::Settings;
use hlolint::dump::{self, Options};
use hlolint::graph::Dataflow;
use hlolint::memory::Analysis;
use hlolint::report::check::check;
use hlolint::target::Policy;
use hlolint::target::tpu::{Chip, RuleSet};
use hlolint::text::parse;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    // Of this thread alone: what threads of the pool still do is not counted.
    static OWN_ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static OWN_LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
    static OWN_PEAK_BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count_allocation() {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    // A thread that ends has no counters any more.
    _ = OWN_ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

fn count_bytes(change: i64) {
    _ = OWN_LIVE_BYTES.try_with(|live| {
        live.set(live.get() + change);
        _ = OWN_PEAK_BYTES.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation();
        count_bytes(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count_bytes(-(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count_allocation();
        count_bytes(new_size as i64 - layout.size() as i64);
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Texts to read: small ones of three kinds, and a large one.
const TEXTS: [&str; 4] = ["sharded_state", "scan_oom", "cpu_softmax", "decoder_train_step"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn scheduled_text(name: &str) -> String {
    if name == "decoder_train_step" {
        return tile::training_step().expect("testdata/large");
    }
    let folder = root().join("testdata/dumps").join(name);
    let entries = std::fs::read_dir(folder).expect("a folder of testdata");
    let path = entries
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().ends_with("after_optimizations.txt"))
        .expect("a scheduled text");
    std::fs::read_to_string(path).expect("text")
}

fn folder(name: &str) -> PathBuf {
    let large = root().join("testdata/large").join(name);
    if large.is_dir() { large } else { root().join("testdata/dumps").join(name) }
}

/// What a stage returns, and how often this thread allocated in it.
fn counted<T>(stage: impl FnOnce() -> T) -> (T, u64) {
    let before = OWN_ALLOCATIONS.get();
    let result = stage();
    (result, OWN_ALLOCATIONS.get() - before)
}

/// The same of all threads.
fn counted_everywhere<T>(stage: impl FnOnce() -> T) -> (T, u64) {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let result = stage();
    (result, ALLOCATIONS.load(Ordering::Relaxed) - before)
}

fn whole_check(name: &str) {
    let dump = dump::open(&[folder(name)], &Options::default());
    let report = check(&dump, &Settings::default(), &|| {});
    assert_eq!(report.modules.len(), 1, "{name}");
}

/// The line of a text: its name, then figures.
fn line(name: &str, policy: &Policy) -> String {
    let text = scheduled_text(name);
    // The first run fills tables that live as long as the program.
    drop(parse(&text).expect("a module"));
    whole_check(name);
    let live = OWN_LIVE_BYTES.get();
    OWN_PEAK_BYTES.set(live);
    let (parsed, reading) = counted(|| parse(&text).expect("a module"));
    let peak = OWN_PEAK_BYTES.get() - live;
    let (graph, graphing) = counted(|| Dataflow::new(&parsed.module));
    let (_, analysing) = counted(|| {
        let analysis = Analysis::new(&graph, policy).expect("an analysis");
        analysis.profile(&[]).expect("a profile");
    });
    let ((), checking) = counted_everywhere(|| whole_check(name));
    let share = peak as f64 / text.len() as f64;
    if text.len() > 1 << 20 {
        assert!(share < 2.0, "{name}: reading takes {share:.2} bytes for each byte of text");
    }
    format!("{name}\t{}\t{reading}\t{share:.2}\t{graphing}\t{analysing}\t{checking}", text.len())
}

const HEAD: &str = "text\tbytes\treading\tpeak bytes per byte of text\tgraph\tmemory\tcheck";

/// By how much a column may grow: what threads do in the whole check differs from run to run.
const MARGINS: [f64; 5] = [0.0, 0.01, 0.0, 0.02, 0.02];

#[test]
fn stages_allocate_no_more_than_recorded() {
    let policy = Policy::tpu(Chip::V5e, RuleSet::of_version("0.0.52").expect("a release"));
    let mut table = format!("{HEAD}\n");
    for name in TEXTS {
        writeln!(table, "{}", line(name, &policy)).expect("a line");
    }
    let path = root().join("tests/allocations.tsv");
    if std::env::var_os("UPDATE_COUNTS").is_some() {
        std::fs::write(&path, &table).expect("written");
    }
    let recorded = std::fs::read_to_string(&path).expect("tests/allocations.tsv");
    assert_eq!(table.lines().count(), recorded.lines().count());
    for (now, then) in table.lines().zip(recorded.lines()).skip(1) {
        let count = |line: &str, column: usize| -> f64 {
            line.split('\t').nth(column).and_then(|field| field.parse().ok()).unwrap_or(0.0)
        };
        let same_text = count(now, 1) == count(then, 1);
        assert!(same_text, "the text changed, update the counts: {now} | {then}");
        for (at, margin) in MARGINS.iter().enumerate() {
            let (now_count, most) = (count(now, at + 2), count(then, at + 2) * (1.0 + margin));
            let what = HEAD.split('\t').nth(at + 2).unwrap_or_default();
            assert!(
                now_count <= most,
                "more allocations, {what}: {now}, recorded {then}; UPDATE_COUNTS=1 records"
            );
        }
    }
}
