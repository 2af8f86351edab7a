//! Any bytes: reading them never panics, and what is read, printed and read again says the same.
//!
//! `cargo fuzz run parse testdata/text/ok` (from the top of the repository).

#![no_main]

use hlolint::text::{Strictness, decode, difference, parse_with, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = decode(bytes) else {
        return;
    };
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        let Ok(first) = parse_with(text, strictness) else {
            continue;
        };
        // Sparse layouts of texts before 2020 are read and not kept.
        if first.warnings.iter().any(|warning| warning.message.contains("sparse")) {
            continue;
        }
        let printed = print(&first.module).to_string();
        let second = parse_with(&printed, strictness).expect("what was printed is read");
        assert_eq!(difference(&first.module, &second.module), None);
    }
});
