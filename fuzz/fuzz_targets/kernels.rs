//! The reader of kernels: the input is a kernel's bytecode, put into a call; every chip and the rules
//! of two releases, the estimate and the search for smaller blocks.

#![no_main]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hlolint::target::tpu::mosaic::{Circumstances, Kernels};
use hlolint::target::tpu::{Chip, RuleSet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = format!(
        "HloModule m\n\nENTRY e {{\n  a = f32[65536,4096]{{1,0:T(8,128)}} parameter(0)\n  ROOT k = \
         f32[65536,4096]{{1,0:T(8,128)S(1)}} custom-call(a), custom_call_target=\"tpu_custom_call\", \
         backend_config={{\"custom_call_config\":{{\"body\":\"{}\"}}}}\n}}\n",
        STANDARD.encode(data)
    );
    let Ok(parsed) = hlolint::text::parse(&text) else { return };
    let kernels = Kernels::new(&parsed.module);
    for &id in kernels.ids() {
        for (chip, rules) in [(Chip::V5e, RuleSet::NEWEST), (Chip::V4, RuleSet::P0)] {
            let circumstances = Circumstances { chip: Some(chip), rules, flag_limit_bytes: None };
            if let Ok(estimate) = kernels.estimate(id, &circumstances) {
                for most in [0, 1 << 20, estimate.total_bytes / 2] {
                    drop(estimate.suggestion(&parsed.module, most));
                }
            }
        }
    }
});
