//! What findings and edits promise, held against the same programs compiled again with the remedy.

#![allow(clippy::panic, reason = "a test")]

use hlolint::config::Settings;
use hlolint::dump::{self, Options};
use hlolint::graph::Dataflow;
use hlolint::hlo::{Module, Opcode};
use hlolint::memory::{Analysis, Edit, MemoryProfile, Value, ValueId};
use hlolint::report::check::{CheckReport, check};
use hlolint::target::Policy;
use hlolint::target::tpu::{Chip, RuleSet};
use std::path::{Path, PathBuf};

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

fn report(path: &str) -> CheckReport {
    let dump = dump::open(&[testdata(path)], &Options::default());
    check(&dump, &Settings::default(), &|| {})
}

fn required_bytes(path: &str) -> u64 {
    report(path).modules[0].hbm.required_bytes
}

/// Of a program's findings the remedy whose action has certain words.
fn predicted_bytes(path: &str, action: &str) -> u64 {
    let report = report(path);
    report
        .findings
        .iter()
        .flat_map(|finding| &finding.remedies)
        .find(|remedy| remedy.action.contains(action))
        .and_then(|remedy| remedy.required_bytes_after)
        .unwrap_or_else(|| panic!("{path}: no remedy '{action}' with a figure"))
}

#[test]
fn a_removed_print_saves_what_its_finding_says() {
    let predicted = predicted_bytes("pairs/debug-print/bad", "print a reduction");
    let recompiled = required_bytes("pairs/debug-print/good");
    // The send takes its tuple tables along.
    assert!(predicted >= recompiled && predicted - recompiled <= 128 << 10);
}

/// Rules whose first remedy is the one of their pair: what it claims to save is within 10% of what it
/// saved.
const EXACT_CLAIMS: &[&str] = &[
    "tile-padding",
    "layout-copy-pads",
    "gather-index-padding",
    "materialized-one-hot",
    "dense-attention-scores",
    "rng-bits",
    "logits-f32",
];

#[test]
fn first_remedies_save_what_they_claim() {
    for &rule in EXACT_CLAIMS {
        let bad = report(&format!("pairs/{rule}/bad"));
        let finding = bad.findings.iter().find(|finding| finding.rule == rule);
        let claimed = finding.and_then(|finding| finding.saving_bytes);
        let claimed = claimed.unwrap_or_else(|| panic!("{rule} claims no saving"));
        let good = required_bytes(&format!("pairs/{rule}/good"));
        let saved = bad.modules[0].hbm.required_bytes - good;
        println!("{rule}: claimed {claimed}, saved {saved}");
        assert!(claimed.abs_diff(saved) <= saved / 10, "{rule}: claimed {claimed}, saved {saved}");
    }
}

#[test]
fn sharded_arguments_leave_at_most_what_their_finding_says() {
    for (bad, good) in [
        ("pairs/replicated-tensor/bad", "pairs/replicated-tensor/good"),
        ("dumps/replicated_state", "dumps/sharded_state"),
    ] {
        let predicted = predicted_bytes(bad, "all of it over both");
        assert!(predicted < required_bytes(bad), "{bad}");
        assert!(required_bytes(good) <= predicted, "{bad}");
    }
}

/// The value that an entry parameter's number defines, and the one at an output.
fn ends(
    module: &Module<'_>,
    profile: &MemoryProfile,
    parameter: i64,
    output: u32,
) -> Option<(ValueId, ValueId)> {
    let defined_at = |id, index: &[u32]| {
        let is_it = |value: &Value| value.instruction == id && *value.index == *index;
        profile.values.iter().position(is_it).map(|at| ValueId(at as u32))
    };
    let defined_by = |id| match module.tuple_index(id) {
        Some(index) => defined_at(module.operands(id)[0], &[u32::try_from(index).ok()?]),
        None => defined_at(id, &[]),
    };
    let parameters = module.parameters(module.entry);
    let root = module.entry().root;
    assert_eq!(module.opcode(root), Opcode::Tuple);
    let result = module.operands(root)[output as usize];
    Some((defined_by(parameters[usize::try_from(parameter).ok()?])?, defined_by(result)?))
}

#[test]
fn donated_arguments_save_the_bytes_they_share() {
    let file = |name: &str| {
        let directory = testdata("dumps").join(name);
        std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.to_string_lossy().ends_with("after_optimizations.txt"))
            .map(|path| std::fs::read_to_string(path).unwrap())
            .unwrap()
    };
    let (without, with) = (file("mlp_not_donated"), file("mlp_donated"));
    let without = hlolint::text::parse(&without).unwrap().module;
    let with = hlolint::text::parse(&with).unwrap().module;
    let policy = Policy::tpu(Chip::V5e, RuleSet::NEWEST);
    let graph = Dataflow::new(&without);
    let analysis = Analysis::new(&graph, &policy).unwrap();
    let now = analysis.profile(&[]).unwrap();
    let edits: Vec<Edit> = with
        .header
        .input_output_alias
        .iter()
        .filter_map(|alias| ends(&without, &now, alias.parameter.parameter, alias.output[0]))
        .map(|(parameter, output)| Edit::Donate { parameter, output })
        .collect();
    assert!(!edits.is_empty());
    let required = |profile: &MemoryProfile| profile.hbm().unwrap().required_bytes;
    let predicted = required(&analysis.profile(&edits).unwrap());
    let recompiled = required_bytes("dumps/mlp_donated");
    println!("now {} predicted {predicted} recompiled {recompiled}", required(&now));
    assert!(predicted < required(&now));
    // The compiler schedules a donated program anew.
    assert!(predicted.abs_diff(recompiled) * 20 <= recompiled, "{predicted} {recompiled}");
}

/// What recomputation and copies save: the claim against the same program compiled with the remedy.
#[test]
fn savings_are_within_a_tenth_of_what_the_compiler_saves() {
    let cases = [
        ("stacked-residuals", "jax.checkpoint around the scanned layer"),
        ("unrolled-layers", "jax.checkpoint around each layer"),
        ("loop-copy", "two steps an iteration"),
    ];
    for (rule, action) in cases {
        let (bad, good) = (format!("pairs/{rule}/bad"), format!("pairs/{rule}/good"));
        let now = required_bytes(&bad);
        let (claimed, measured) =
            (now - predicted_bytes(&bad, action), now - required_bytes(&good));
        println!("{rule}: claimed {claimed}, measured {measured}");
        assert!(claimed.abs_diff(measured) * 10 <= measured, "{rule}: {claimed} {measured}");
    }
}
