//! How fast `check` is, from the opened file to the printed report: a real training step, and the same
//! many times over in one program. The newline scan of the same bytes is what one look at every byte
//! costs.
//!
//! `cargo bench --bench check`. Allocations are counted too.

#[path = "support/tile.rs"]
mod tile;

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use hlolint::config::Settings;
use hlolint::dump::{self, Options};
use hlolint::render;
use hlolint::report::check::check;
use std::path::PathBuf;
use std::sync::LazyLock;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

/// The size of a text, by its name.
const TEXTS: [(&str, usize); 3] = [("4 MB", 0), ("64 MB", 64 << 20), ("256 MB", 256 << 20)];
const NAMES: [&str; 3] = [TEXTS[0].0, TEXTS[1].0, TEXTS[2].0];

fn main() {
    if tile::training_step().is_none() {
        tile::say("testdata/large is absent: nothing is measured");
        return;
    }
    divan::main();
}

/// Texts of all sizes as files, as a dump has them.
static FILES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| files().unwrap_or_default());

fn files() -> Option<Vec<PathBuf>> {
    let folder = std::env::temp_dir().join("hlolint-bench-check");
    let step = tile::training_step()?;
    let write = |(name, bytes): &(&str, usize)| {
        let folder = folder.join(name.replace(' ', ""));
        std::fs::create_dir_all(&folder).ok()?;
        let path = folder.join("module_0000.jit_step.cl_1014260217.after_optimizations.txt");
        let text = if *bytes == 0 { step.clone() } else { tile::called(&step, *bytes) };
        std::fs::write(&path, text).ok()?;
        Some(path)
    };
    TEXTS.iter().map(write).collect()
}

fn path(name: &str) -> Option<&'static PathBuf> {
    FILES.get(NAMES.iter().position(|known| *known == name)?)
}

/// Open, read, graph, memory, rules, report, text.
fn whole(path: &PathBuf) -> usize {
    let dump = dump::open(std::slice::from_ref(path), &Options::default());
    let report = check(&dump, &Settings::default(), &|| {});
    assert_eq!(report.modules.len(), 1, "{:?}", report.diagnostics);
    render::text::check(&report, render::text::Options::default()).len()
}

#[divan::bench(args = NAMES, min_time = 1, max_time = 20)]
fn check_and_print(bencher: Bencher<'_, '_>, name: &str) {
    let Some(path) = path(name) else { return };
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    bencher.counter(BytesCount::new(bytes)).bench_local(|| whole(path));
}

#[divan::bench(args = NAMES, min_time = 1, max_time = 10)]
fn newline_scan(bencher: Bencher<'_, '_>, name: &str) {
    let Some(text) = path(name).and_then(|path| std::fs::read(path).ok()) else { return };
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| memchr::memchr_iter(b'\n', &text).count());
}
