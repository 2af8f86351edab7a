//! How fast a text is read: a real training step, and the same many times over with renamed
//! computations. The newline scan of the same bytes is what one look at every byte costs.
//!
//! `cargo bench --bench parse`. Allocations are counted too.

#[path = "support/tile.rs"]
mod tile;

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use hlolint::text::parse;
use std::sync::LazyLock;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    if tile::training_step().is_none() {
        tile::say("testdata/large is absent: nothing is measured");
        return;
    }
    divan::main();
}

static STEP: LazyLock<String> = LazyLock::new(|| tile::training_step().unwrap_or_default());
static TILED: LazyLock<String> = LazyLock::new(|| tile::tiled(&STEP, 64 << 20));
static TILED_FURTHER: LazyLock<String> = LazyLock::new(|| tile::tiled(&STEP, 256 << 20));

fn text(name: &str) -> &'static str {
    match name {
        "4 MB" => &STEP,
        "64 MB" => &TILED,
        _ => &TILED_FURTHER,
    }
}

const TEXTS: [&str; 3] = ["4 MB", "64 MB", "256 MB"];

#[divan::bench(args = TEXTS, min_time = 1, max_time = 10)]
fn read(bencher: Bencher<'_, '_>, name: &str) {
    let text = text(name);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| parse(text).map(|parsed| parsed.module.instructions.len()));
}

#[divan::bench(args = TEXTS, min_time = 1, max_time = 10)]
fn newline_scan(bencher: Bencher<'_, '_>, name: &str) {
    let text = text(name);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| memchr::memchr_iter(b'\n', text.as_bytes()).count());
}
