//! How fast the bytecode of Pallas kernels is read: the kernels of testdata, many times over in one
//! module, from parsed text to estimates. Bytes are those of the bytecode. The newline scan of the
//! same texts is what one look at every byte costs on this machine; base64 alone what no reader gets
//! around.
//!
//! `cargo bench --bench kernels`. Another folder of texts (`.txt`, `.txt.gz`) by HLOLINT_KERNELS.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use divan::Bencher;
use divan::counter::BytesCount;
use flate2::read::GzDecoder;
use hlolint::target::tpu::mosaic::{Circumstances, Kernels};
use hlolint::target::tpu::{Chip, RuleSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

fn main() {
    divan::main();
}

/// Texts with kernels.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = std::env::var_os("HLOLINT_KERNELS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata"), PathBuf::from);
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
    let texts = files.filter_map(|entry| text(entry.path()));
    texts.filter(|text| text.contains("\"tpu_custom_call\"")).collect()
});

fn text(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let mut text = String::new();
    if name.ends_with(".txt.gz") {
        GzDecoder::new(std::fs::File::open(path).ok()?).read_to_string(&mut text).ok()?;
    } else if name.ends_with(".txt") {
        text = std::fs::read_to_string(path).ok()?;
    }
    text.starts_with("HloModule").then_some(text)
}

/// The bodies in base64.
fn bodies() -> Vec<&'static str> {
    let behind = TEXTS.iter().flat_map(|text| text.split("\"body\":").skip(1));
    behind.filter_map(|text| text.split('"').nth(1)).collect()
}

fn bytes() -> usize {
    bodies().iter().map(|body| body.len() / 4 * 3).sum()
}

#[divan::bench(min_time = 1, max_time = 10)]
fn estimate(bencher: Bencher<'_, '_>) {
    let parsed: Vec<_> = TEXTS.iter().filter_map(|text| hlolint::text::parse(text).ok()).collect();
    let kernels: Vec<_> = parsed.iter().map(|parsed| Kernels::new(&parsed.module)).collect();
    let circumstances =
        Circumstances { chip: Some(Chip::V5e), rules: RuleSet::NEWEST, flag_limit_bytes: None };
    bencher.counter(BytesCount::new(bytes())).bench_local(|| {
        let all =
            kernels.iter().flat_map(|kernels| kernels.ids().iter().map(move |id| (kernels, id)));
        all.filter(|(kernels, id)| kernels.estimate(**id, &circumstances).is_ok()).count()
    });
}

#[divan::bench(min_time = 1, max_time = 10)]
fn base64_alone(bencher: Bencher<'_, '_>) {
    let bodies = bodies();
    bencher.counter(BytesCount::new(bytes())).bench_local(|| {
        bodies
            .iter()
            .filter_map(|body| STANDARD.decode(body).ok())
            .map(|body| body.len())
            .sum::<usize>()
    });
}

#[divan::bench(min_time = 1, max_time = 10)]
fn newline_scan(bencher: Bencher<'_, '_>) {
    let bodies = bodies();
    bencher.counter(BytesCount::new(bytes())).bench_local(|| {
        bodies.iter().map(|body| memchr::memchr_iter(b'\n', body.as_bytes()).count()).sum::<usize>()
    });
}
