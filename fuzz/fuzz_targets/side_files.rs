//! The readers of XLA's own files: the first byte picks one, the rest is the file.

#![no_main]

use hlolint::dump::FileName;
use hlolint::dump::side::{
    buffer_assignment, gpu_target_config, live_range, memory_usage_report, target_arguments,
    tpu_comp_env,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&pick, file)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(file) else { return };
    match pick % 8 {
        0 => drop(buffer_assignment::parse(text)),
        1 => drop(buffer_assignment::parse_values(text)),
        2 => drop(live_range::parse(text)),
        3 => drop(memory_usage_report::parse(text)),
        4 => drop(target_arguments::parse(text)),
        5 => drop(tpu_comp_env::parse(text)),
        6 => drop(gpu_target_config::parse(text)),
        _ => drop(FileName::parse(text)),
    }
});
