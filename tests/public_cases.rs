//! Cases of public memory reports: padded and unpadded bytes of the instructions they name, the sizes
//! as XLA printed them, and the rules that speak of them. `testdata/text/public-cases/expected.json` has
//! the figures.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::{Settings, bytes_as_xla};
use hlolint::hlo::Module;
use hlolint::lint::{Finding, Level};
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

/// What the rules of padding and patterns must say of a case: rule, level, what its message or a detail
/// contains.
type Said = &'static [(&'static str, Level, &'static str)];

/// Every case whose report speaks of padding or of a pattern, and those that look like it.
const SAID: &[(&str, Said)] = &[
    ("r01", &[("layout-copy-pads", Level::Warn, "of 1.00 GiB copied into a layout of 32.00")]),
    ("r02", &[("tile-padding", Level::Warn, "dimension 3 of 2 padded to 128")]),
    (
        "r03",
        &[
            ("tile-padding", Level::Note, "f32[32,128,32,64] takes 64.00 MiB for 32.00"),
            ("tile-padding", Level::Note, "bf16[32,128,32,64] takes 32.00 MiB for 16.00"),
        ],
    ),
    ("r04", &[("tile-padding", Level::Warn, "takes 6.00 GiB for 48.00 MiB")]),
    ("r05", &[("tile-padding", Level::Warn, "bf16[6291456,4] takes 1.50 GiB for 48.00 MiB")]),
    ("r06", &[]),
    ("r07", &[]),
    ("r08", &[]),
    ("r09", &[("tile-padding", Level::Warn, "dimension 1 of 1 padded to 4")]),
    (
        "r10",
        &[
            ("tile-padding", Level::Note, "bf16[4,512,512,64] takes 256.00 MiB for 128.00"),
            ("tile-padding", Level::Note, "f32[4,256,256,64] takes 128.00 MiB for 64.00"),
        ],
    ),
    ("r11", &[]),
    ("r12", &[("tile-padding", Level::Warn, "dimension 3 of 18 padded to 24")]),
    ("r13", &[("tile-padding", Level::Warn, "dimension 0 of 1 padded to 8")]),
    ("r14", &[("tile-padding", Level::Note, "dimension 2 of 75 padded to 128")]),
    ("r15", &[("dense-attention-scores", Level::Note, "f32[32,4096,4096] of scores")]),
    ("r16", &[("dense-attention-scores", Level::Note, "f32[64,8,512,512] of scores")]),
    ("r17", &[("dense-attention-scores", Level::Note, "bf16[16,4096,4096] of scores")]),
    // Nothing computes them in this text.
    ("r18", &[]),
    ("r19", &[("dense-attention-scores", Level::Note, "takes 3.01 GiB")]),
    ("r20", &[("dense-attention-scores", Level::Warn, "takes 32.00 GiB")]),
    ("r21", &[("dense-attention-scores", Level::Warn, "takes 576.00 GiB")]),
    // One value in three shapes, no scores.
    ("r22", &[]),
    // Gates of a recurrence and activations, no logits.
    ("r24", &[]),
    ("r25", &[]),
    ("r34", &[("huge-elementwise", Level::Note, "f32[40000,40000] of 5.96 GiB")]),
    (
        "r38",
        &[
            ("huge-elementwise", Level::Note, "f32[3540,71,75,71] of 4.99 GiB"),
            ("layout-copy-pads", Level::Warn, "copied into a layout of 9.59 GiB"),
        ],
    ),
    (
        "r46",
        &[
            ("gather-index-padding", Level::Warn, "s32[2048,1,128,128,4] of 512.00 MiB take 16.00"),
            ("gather-index-padding", Level::Warn, "s32[2048,1,128,128,1] of 256.00 MiB take 32.00"),
        ],
    ),
    ("r47", &[("materialized-one-hot", Level::Warn, "s32[29360128,10] iota takes 14.00 GiB")]),
    // The bits are the story; that one row of two is padding is not.
    (
        "r48",
        &[
            ("tile-padding", Level::Note, "f32[29184,1,2560] takes 570.00 MiB for 285.00"),
            ("rng-bits", Level::Note, "u32[29184,2,2560] of random bits takes 570.00 MiB"),
        ],
    ),
    ("r68", &[("rng-bits", Level::Warn, "u8[327680,327680] of random bits takes 100.00 GiB")]),
];

const RULES: &[&str] = &[
    "layout-copy-pads",
    "gather-index-padding",
    "materialized-one-hot",
    "tile-padding",
    "dense-attention-scores",
    "rng-bits",
    "logits-f32",
    "huge-elementwise",
];

#[test]
fn rules_of_padding_and_patterns_speak_of_their_cases() {
    let settings =
        Settings { chip: Some(hlolint::target::Chip::Tpu(Chip::V3)), ..Settings::default() };
    for (case, said) in SAID {
        let path = root().join(format!("testdata/text/public-cases/{case}.hlo"));
        let report = support::report(&path, &settings);
        let of_interest = |finding: &&Finding| RULES.contains(&finding.rule);
        let found: Vec<&Finding> = report.findings.iter().filter(of_interest).collect();
        let names = |rules: &[&str]| {
            let mut rules = rules.to_vec();
            rules.sort_unstable();
            rules.join(", ")
        };
        let wanted: Vec<&str> = said.iter().map(|(rule, ..)| *rule).collect();
        let speak: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(names(&speak), names(&wanted), "{case}");
        for (rule, level, text) in *said {
            let is_it = |finding: &&&Finding| {
                let mut texts = finding.details.iter().chain([&finding.message]);
                finding.rule == *rule && finding.level == *level && texts.any(|t| t.contains(text))
            };
            let messages: Vec<(Level, &str)> =
                found.iter().map(|finding| (finding.level, finding.message.as_str())).collect();
            assert!(found.iter().any(|f| is_it(&f)), "{case}: no {rule} {text}: {messages:?}");
        }
    }
}
