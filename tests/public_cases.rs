//! Cases of public memory reports: padded and unpadded bytes of the instructions they name, and the
//! sizes as XLA printed them. `testdata/text/public-cases/expected.json` has the figures.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::bytes_as_xla;
use hlolint::hlo::Module;
use hlolint::target::tpu::{Chip, RuleSet};
use hlolint::target::{Policy, unpadded_bytes};
use serde_json::Value;
use std::fs;
use support::root;

fn expected() -> serde_json::Map<String, Value> {
    let path = root().join("testdata/text/public-cases/expected.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Calls `look` on every named instruction with its module.
fn each_instruction(mut look: impl FnMut(&str, &Module<'_>, hlolint::hlo::InstructionId, &Value)) {
    for (case, expected) in expected() {
        let path = root().join(format!("testdata/text/public-cases/{case}.hlo"));
        let text = fs::read_to_string(path).unwrap();
        let parsed =
            hlolint::text::parse(&text).unwrap_or_else(|error| panic!("{case}: {error:?}"));
        let module = &parsed.module;
        for wanted in expected["instructions"].as_array().unwrap() {
            let name = wanted["name"].as_str().unwrap();
            let id = module.ids().find(|&id| module.instruction(id).name == name);
            look(&format!("{case} {name}"), module, id.unwrap(), wanted);
        }
    }
}

#[test]
fn padded_and_unpadded_bytes() {
    let policy = Policy::tpu(Chip::V3, RuleSet::of_version("0.0.52").unwrap());
    let mut count = 0;
    each_instruction(|what, module, id, wanted| {
        let shape = module.instruction(id).shape;
        let unpadded = unpadded_bytes(&module.shapes, shape);
        assert_eq!(unpadded, wanted["unpadded_bytes"].as_u64(), "{what}, unpadded");
        let array = module.shape(id).array().unwrap();
        // A report that prints no tile says nothing of padding.
        if wanted["tiled"] == true {
            assert_eq!(
                policy.array_bytes(array),
                wanted["padded_bytes"].as_u64(),
                "{what}, padded"
            );
        }
        count += 1;
    });
    assert!(count >= 53, "{count} instructions");
}

/// `1.17G` as XLA prints it: the figure of our own texts, in XLA's short form.
fn in_xlas_form(bytes: u64) -> String {
    let ours = bytes_as_xla(bytes);
    let (number, unit) = ours.split_once(' ').unwrap();
    match unit {
        "B" => number.to_owned(),
        // XLA gives K one decimal.
        "KiB" => format!("{:.1}K", number.parse::<f64>().unwrap()),
        unit => format!("{number}{}", &unit[..1]),
    }
}

#[test]
fn sizes_print_as_the_reports_print_them() {
    let mut count = 0;
    each_instruction(|what, _, _, wanted| {
        for (kind, printed) in wanted["printed_in_report"].as_object().unwrap() {
            let bytes = wanted[format!("{kind}_bytes")].as_u64().unwrap();
            assert_eq!(in_xlas_form(bytes), printed.as_str().unwrap(), "{what}, {kind}");
            count += 1;
        }
    });
    assert!(count >= 70, "{count} sizes");
}
