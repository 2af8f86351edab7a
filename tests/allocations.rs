//! Counts of allocations while a text is read, held against `tests/allocations.tsv`: a change that
//! allocates more must say so there. `UPDATE_COUNTS=1 cargo test --test allocations` writes the file.

#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::expect_used, reason = "tests")]

#[path = "../benches/support/tile.rs"]
#[allow(dead_code, reason = "only one of its texts is read here")]
mod tile;

use hlolint::text::parse;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);
static PEAK_BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        let size = layout.size() as u64;
        let live = LIVE_BYTES.fetch_add(size, Ordering::Relaxed) + size;
        PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        let live = LIVE_BYTES.fetch_add(new_size as u64, Ordering::Relaxed) + new_size as u64;
        PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
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

#[test]
fn reading_allocates_no_more_than_recorded() {
    let mut table = String::from("text\tbytes\tallocations\tpeak bytes per byte of text\n");
    for name in TEXTS {
        let text = scheduled_text(name);
        // The first reading fills tables that live as long as the program.
        drop(parse(&text).expect("a module"));
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let live = LIVE_BYTES.load(Ordering::Relaxed);
        PEAK_BYTES.store(live, Ordering::Relaxed);
        let parsed = parse(&text).expect("a module");
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        let peak = PEAK_BYTES.load(Ordering::Relaxed) - live;
        drop(parsed);
        let share = peak as f64 / text.len() as f64;
        writeln!(table, "{name}\t{}\t{allocations}\t{share:.2}", text.len()).expect("a line");
        if text.len() > 1 << 20 {
            assert!(share < 2.0, "{name}: reading takes {share:.2} bytes for each byte of text");
        }
    }
    let path = root().join("tests/allocations.tsv");
    if std::env::var_os("UPDATE_COUNTS").is_some() {
        std::fs::write(&path, &table).expect("written");
    }
    let recorded = std::fs::read_to_string(&path).expect("tests/allocations.tsv");
    for (now, then) in table.lines().zip(recorded.lines()).skip(1) {
        let count = |line: &str, column: usize| -> f64 {
            line.split('\t').nth(column).and_then(|field| field.parse().ok()).unwrap_or(0.0)
        };
        let same_text = count(now, 1) == count(then, 1);
        assert!(same_text, "the text changed, update the counts: {now} | {then}");
        assert!(count(now, 2) <= count(then, 2), "more allocations: {now}, recorded {then}");
        assert!(count(now, 3) <= count(then, 3) + 0.01, "more memory: {now}, recorded {then}");
    }
    assert_eq!(table.lines().count(), recorded.lines().count());
}
