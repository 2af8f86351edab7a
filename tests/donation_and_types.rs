//! Rules on donation, element types and constants: their pairs against XLA's own totals, and programs
//! of public reports cut down to what the rules look at.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use hlolint::config::{RuleLevel, RuleSettings, Settings};
use hlolint::lint::Finding;
use hlolint::target::Chip;
use std::fs;
use std::path::Path;

const RULES: &[&str] = &[
    "undonated-input",
    "donation-size-mismatch",
    "copied-donated-input",
    "f32-upcast",
    "f32-collective",
    "weight-convert",
    "large-constant",
];

/// XLA's own total of HBM: the first of the memory-usage report.
fn total_bytes(folder: &Path) -> u64 {
    let report = support::files(folder, "memory-usage-report.txt").remove(0);
    let text = fs::read_to_string(report).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Total bytes: ")).unwrap();
    line.split(' ').next().unwrap().parse().unwrap()
}

/// Rule, instruction, source line, and what the remedy saves by XLA's own totals, within 10%.
#[test]
fn pairs() {
    let table = [
        ("undonated-input", "multiply_subtract_fusion", "velocity = 0.9 *"),
        ("donation-size-mismatch", "weight.1", "moved = weight * 0.99"),
        ("copied-donated-input", "copy", "jnp.max(jnp.abs(current - old))"),
        ("f32-upcast", "", "wide = x.astype(f32)"),
        ("f32-collective", "all-gather.5", "lax.with_sharding_constraint"),
        ("weight-convert", "convert_element_type.1", "narrow = weights.astype(bf16)"),
        ("large-constant", "constant.2", "jnp.tanh(x + table)"),
    ];
    for (rule, instruction, code) in table {
        let bad = support::fixture(&format!("{rule}-bad"));
        let finding = bad.report.findings.iter().find(|found| found.rule == rule);
        let finding = finding.unwrap_or_else(|| panic!("{rule} is silent"));
        if !instruction.is_empty() {
            assert_eq!(finding.instruction.as_deref(), Some(instruction), "{rule}");
        }
        let source = finding.source.as_ref().unwrap();
        let script = support::root().join("testdata/generate").join(&source.file);
        let script = fs::read_to_string(script).unwrap();
        let line = script.lines().nth(source.line as usize - 1).unwrap();
        assert!(line.contains(code), "{rule}: {source}: {line}");
        let good = support::fixture(&format!("{rule}-good"));
        let saved = total_bytes(&bad.path) - total_bytes(&good.path);
        let claimed = finding.saving_bytes.unwrap();
        println!("{rule}: claimed {claimed}, saved {saved}");
        assert!(claimed.abs_diff(saved) * 10 <= saved, "{rule}: {claimed}, truly {saved}");
    }
}

/// What these rules say of a text on a v6e, each as `rule: message`, with sizes of any size.
fn findings(text: &str) -> Vec<Finding> {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("program.hlo");
    fs::write(&path, text).unwrap();
    let mut settings = Settings { chip: Chip::from_name("v6e"), ..Settings::default() };
    settings.materiality.min_bytes = 1024;
    // Speaks of some of the same bytes, and saves more.
    let allowed = RuleSettings { level: Some(RuleLevel::Allow), ..RuleSettings::default() };
    settings.rules.insert("tile-padding".to_owned(), allowed);
    let report = support::report(&path, &settings);
    assert_eq!(report.diagnostics.len(), 0, "{:?}", report.diagnostics);
    report.findings.into_iter().filter(|finding| RULES.contains(&finding.rule)).collect()
}

fn said(text: &str) -> Vec<String> {
    findings(text).iter().map(|found| format!("{}: {}", found.rule, found.message)).collect()
}

/// R40: a map of a donated array whose donation no result took, for another number of outputs.
#[test]
fn a_donated_array_and_a_map_of_it() {
    let program = |header: &str| {
        format!(
            "HloModule r40, is_scheduled=true{header}\n\n\
             ENTRY e {{\n  \
             p0 = f32[524288,32,32,1]{{2,1,0,3:T(8,128)}} parameter(0), metadata={{op_name=\"x\"}}\n  \
             n0 = f32[524288,32,32,1]{{2,1,0,3:T(8,128)}} negate(p0)\n  \
             ROOT s0 = f32[524288,32,1,1]{{2,1,0,3:T(8,128)}} slice(n0), \
             slice={{[0:524288], [0:32], [0:1], [0:1]}}\n}}\n"
        )
    };
    // A map is no update, whatever its shape.
    assert_eq!(said(&program("")), [""; 0]);
    assert_eq!(
        said(&program(", buffer_donor={ (0, {}) }")),
        ["donation-size-mismatch: donated x, 8.00 GiB, fits no result"]
    );
}

/// A state that is donated whole, and comes back in parts.
#[test]
fn a_donated_array_whose_result_is_sharded_otherwise() {
    let fixture = support::fixture("gpu_adam_sharded");
    let mut settings = Settings::default();
    settings.materiality.min_bytes = 1024;
    let report = support::report(&fixture.path, &settings);
    let found: Vec<&Finding> =
        report.findings.iter().filter(|found| found.rule == "donation-size-mismatch").collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for finding in found {
        assert_eq!(
            finding.details,
            ["it is f32[1536], the result f32[192]: sharded otherwise, on each device"]
        );
    }
}

/// Each device updates its part of a replicated weight, and the parts are gathered.
#[test]
fn a_weight_that_is_updated_in_parts() {
    let text = "HloModule parts, is_scheduled=true, num_partitions=4\n\n\
        ENTRY e {\n  \
        w = f32[1024,1024]{1,0:T(8,128)} parameter(0), metadata={op_name=\"w\"}\n  \
        g = f32[256,1024]{1,0:T(8,128)} parameter(1), metadata={op_name=\"g\"}\n  \
        i = s32[]{:T(128)} parameter(2)\n  z = s32[]{:T(128)} constant(0)\n  \
        c = f32[]{:T(128)} constant(0.5)\n  \
        b = f32[256,1024]{1,0:T(8,128)} broadcast(c), dimensions={}\n  \
        p = f32[256,1024]{1,0:T(8,128)} dynamic-slice(w, i, z), dynamic_slice_sizes={256,1024}\n  \
        d = f32[256,1024]{1,0:T(8,128)} multiply(g, b), \
        metadata={op_name=\"jit(f)/transpose(jvp())/mul\"}\n  \
        n = f32[256,1024]{1,0:T(8,128)} subtract(p, d)\n  \
        ROOT r = f32[1024,1024]{1,0:T(8,128)} all-gather(n), replica_groups={{0,1,2,3}}, \
        dimensions={0}\n}\n";
    assert_eq!(said(text), ["undonated-input: w of 4.00 MiB is updated but not donated"]);
}

/// R42: bf16 weights quantised to s8 in one jitted function, donated.
#[test]
fn a_quantised_weight_cannot_take_the_memory_of_the_weight() {
    let text = "HloModule r42, is_scheduled=true, buffer_donor={ (0, {}) }\n\n\
        ENTRY e {\n  \
        p0 = bf16[64,2048,1408]{2,1,0:T(8,128)(2,1)} parameter(0), metadata={op_name=\"w\"}\n  \
        ROOT q0 = s8[64,2048,1408]{2,1,0:T(8,128)(4,1)} convert(p0)\n}\n";
    let found = findings(text);
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(finding.rule, "donation-size-mismatch");
    assert_eq!(finding.bytes, 369_098_752);
    // What the result takes: 176 MiB.
    assert_eq!(finding.saving_bytes, Some(184_549_376));
    assert_eq!(
        finding.details,
        ["it is bf16[64,2048,1408], the result s8[64,2048,1408]: another type"]
    );
    assert!(finding.help.contains("array by array"), "{}", finding.help);
    // Without a donation nothing is said: the caller did not ask for it.
    assert_eq!(said(&text.replace(", buffer_donor={ (0, {}) }", "")), [""; 0]);
}

/// R43: weights of all experts are converted and scaled at once. Not donated, no update.
#[test]
fn a_requantised_weight_is_no_update() {
    let text = "HloModule r43, is_scheduled=true\n\n\
        fused {\n  \
        w = f32[8,2048,1408]{2,1,0:T(8,128)} parameter(0)\n  \
        s = f32[8]{0:T(128)} parameter(1)\n  \
        b = f32[8,2048,1408]{2,1,0:T(8,128)} broadcast(s), dimensions={0}\n  \
        ROOT m = f32[8,2048,1408]{2,1,0:T(8,128)} multiply(w, b)\n}\n\n\
        ENTRY e {\n  \
        w = f32[8,2048,1408]{2,1,0:T(8,128)} parameter(0), metadata={op_name=\"weights\"}\n  \
        s = f32[8]{0:T(128)} parameter(1)\n  \
        ROOT q = f32[8,2048,1408]{2,1,0:T(8,128)} fusion(w, s), kind=kLoop, calls=fused\n}\n";
    assert_eq!(said(text), [""; 0]);
}

/// R44: an array that is updated a slice at a time and still read behind the update.
#[test]
fn a_donated_array_that_is_read_behind_its_update() {
    let program = |copied: bool| {
        let (copy, base) = if copied {
            ("c = f32[4096,1024]{1,0:T(8,128)} copy(p0)\n  ", "c")
        } else {
            ("", "p0")
        };
        let late = if copied { "d, p0" } else { "d, d" };
        format!(
            "HloModule r44, is_scheduled=true, input_output_alias={{ {{0}}: (0, {{}}, may-alias) }}\n\n\
             ENTRY e {{\n  \
             p0 = f32[4096,1024]{{1,0:T(8,128)}} parameter(0), metadata={{op_name=\"state\"}}\n  \
             u = f32[1,1024]{{1,0:T(1,128)}} parameter(1)\n  \
             i = s32[]{{:T(128)}} parameter(2)\n  \
             {copy}d = f32[4096,1024]{{1,0:T(8,128)}} dynamic-update-slice({base}, u, i, i)\n  \
             s = f32[4096,1024]{{1,0:T(8,128)}} subtract({late})\n  \
             ROOT t = (f32[4096,1024]{{1,0:T(8,128)}}, f32[4096,1024]{{1,0:T(8,128)}}) tuple(d, s)\n}}\n"
        )
    };
    assert_eq!(
        said(&program(true)),
        ["copied-donated-input: donated state of 16.00 MiB is copied"]
    );
    assert_eq!(said(&program(false)), [""; 0]);
}

/// What updates an argument, and what does not.
#[test]
fn updates_and_maps() {
    // The argument's name, what is computed first, the result, whether it is an update.
    let table: &[(&str, &[&str], &str, bool)] = &[
        // A scaled sum with something computed: a training step.
        ("w", &["g = multiply(m, s)"], "subtract(p, g)", true),
        // A gradient has the shape of its argument, and nothing else.
        ("w", &["g = multiply(m, s)"], "add(g, g)", false),
        ("x", &["g = tanh(p)"], "multiply(g, s)", false),
        // The sum of an argument and what a layer makes of it: activations, unless the name tells.
        ("x", &["g = tanh(m)"], "add(p, g)", false),
        ("accumulator", &["g = tanh(m)"], "add(p, g)", true),
        // A number is added to each element: a map.
        ("state", &[], "add(p, s)", false),
        // Two arguments: an average where the name tells.
        ("ema", &["g = multiply(q, s)"], "add(p, g)", true),
        ("x", &["g = multiply(q, s)"], "add(p, g)", false),
        // A mask keeps some of the old elements.
        ("w", &["g = multiply(m, s)", "h = subtract(p, g)"], "select(k, h, p)", true),
    ];
    for (name, lines, result, expected) in table {
        let shape = "f32[1024,1024]{1,0:T(8,128)}";
        let typed = |line: &&str| line.replace(" = ", &format!(" = {shape} "));
        let lines: Vec<String> = lines.iter().map(typed).collect();
        let text = format!(
            "HloModule update, is_scheduled=true\n\nENTRY e {{\n  \
             p = {shape} parameter(0), metadata={{op_name=\"{name}\"}}\n  \
             q = {shape} parameter(1), metadata={{op_name=\"other\"}}\n  \
             c = f32[]{{:T(128)}} constant(0.5)\n  \
             k = pred[1024,1024]{{1,0:T(8,128)(4,1)}} parameter(2)\n  \
             s = {shape} broadcast(c), dimensions={{}}\n  \
             m = {shape} dot(p, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             {}\n  ROOT r = {shape} {result}\n}}\n",
            lines.join("\n  ")
        );
        let said = said(&text);
        let updated = format!("undonated-input: {name} of 4.00 MiB is updated but not donated");
        let wanted: &[String] = if *expected { &[updated] } else { &[] };
        assert_eq!(said, wanted, "{name}: {lines:?} {result}");
    }
}

/// A loop's state: updated slice by slice in the body, returned by the loop.
#[test]
fn state_that_a_loop_carries() {
    let program = |update: &str| {
        let shape = "f32[1024,1024]{1,0:T(8,128)}";
        let carry = format!("(s32[]{{:T(128)}}, {shape})");
        format!(
            "HloModule loop, is_scheduled=true\n\n\
             condition {{\n  a = {carry} parameter(0)\n  n = s32[]{{:T(128)}} get-tuple-element(a), index=0\n  \
             m = s32[]{{:T(128)}} constant(8)\n  ROOT less = pred[]{{:T(512)}} compare(n, m), direction=LT\n}}\n\n\
             body {{\n  b = {carry} parameter(0)\n  i = s32[]{{:T(128)}} get-tuple-element(b), index=0\n  \
             x = {shape} get-tuple-element(b), index=1\n  one = s32[]{{:T(128)}} constant(1)\n  \
             j = s32[]{{:T(128)}} add(i, one)\n  z = f32[1,1024]{{1,0:T(1,128)}} constant({{...}})\n  \
             y = {shape} {update}\n  ROOT r = {carry} tuple(j, y)\n}}\n\n\
             ENTRY e {{\n  p = {shape} parameter(0), metadata={{op_name=\"cache\"}}\n  \
             i0 = s32[]{{:T(128)}} constant(0)\n  c = {shape} copy(p)\n  t = {carry} tuple(i0, c)\n  \
             w = {carry} while(t), condition=condition, body=body\n  \
             ROOT o = {shape} get-tuple-element(w), index=1\n}}\n"
        )
    };
    let updated = "undonated-input: cache of 4.00 MiB is updated but not donated";
    assert_eq!(said(&program("dynamic-update-slice(x, z, i, i)"))[0], updated);
    assert!(!said(&program("tanh(x)")).contains(&updated.to_owned()));
}

/// R72: the literal is left out of the text; its size comes from the shape. R73: a broadcast is none.
#[test]
fn constants() {
    let r72 = "HloModule r72\n\nENTRY e {\n  p0 = s32[] parameter(0)\n  \
        b0 = s32[10000]{0} broadcast(p0), dimensions={}\n  k0 = s32[10000]{0} constant({...})\n  \
        ROOT a0 = s32[10000]{0} add(b0, k0)\n}\n";
    assert_eq!(said(r72), ["large-constant: constant s32[10000], 40.00 KiB"]);
    let r73 = "HloModule r73, is_scheduled=true\n\nENTRY e {\n  z = f64[] constant(0)\n  \
        b0 = f64[200000,10,10]{2,1,0} broadcast(z), dimensions={}\n  \
        ROOT n0 = f64[200000,10,10]{2,1,0} negate(b0)\n}\n";
    assert_eq!(said(r73), [""; 0]);
}
