//! Fingerprints where an output needs one of its own, or each only once.

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

/// The fingerprint of what has none: the same for the same parts.
pub(super) fn of(parts: &[&str]) -> String {
    format!("{:016x}", xxh3_64(parts.join("\0").as_bytes()))
}

/// Counts how often each fingerprint was met.
#[derive(Default)]
pub(super) struct Unique(FxHashMap<String, usize>);

impl Unique {
    /// 1 at the first time.
    pub(super) fn count(&mut self, fingerprint: &str) -> usize {
        let count = self.0.entry(fingerprint.to_owned()).or_default();
        *count += 1;
        *count
    }
}
