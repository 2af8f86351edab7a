//! Programs with more candidates than a rule may price: every one is said, alone or in the sum of the
//! rest.

#![allow(clippy::unwrap_used)] // a helper of a test fails by panicking

mod support;

use hlolint::config::Settings;
use hlolint::report::Finding;
use hlolint::target::{Chip, tpu};
use std::fmt::Write as _;
use std::fs;

/// What a rule says of a text on a chip with so many bytes of HBM.
fn findings(text: &str, rule: &str, hbm_bytes: u64) -> Vec<Finding> {
    let folder = std::env::temp_dir().join(format!("hlolint-many-{}-{rule}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("many.hlo"), text).unwrap();
    let settings = Settings {
        chip: Some(Chip::Tpu(tpu::Chip::V3)),
        hbm_bytes: Some(hbm_bytes),
        ..Settings::default()
    };
    let report = support::report(&folder, &settings);
    fs::remove_dir_all(&folder).unwrap();
    let of_rule = |finding: &Finding| {
        finding.rule == rule || finding.also_seen.iter().any(|seen| seen.starts_with(rule))
    };
    report.findings.into_iter().filter(of_rule).collect()
}

/// Results of ENTRY and their shapes.
#[derive(Default)]
struct Program {
    computations: String,
    entry: String,
    roots: Vec<(String, String)>,
}

impl Program {
    fn text(&self) -> String {
        let (names, shapes): (Vec<&str>, Vec<&str>) =
            self.roots.iter().map(|(name, shape)| (name.as_str(), shape.as_str())).unzip();
        format!(
            "HloModule many, is_scheduled=true\n{}\nENTRY main {{\n  zero = s32[] constant(0)\n{}  \
             ROOT all = ({}) tuple({})\n}}\n",
            self.computations,
            self.entry,
            shapes.join(", "),
            names.join(", ")
        )
    }

    /// A loop; `body` computes `next` and the other elements from `i` and those of its state.
    fn add_loop(&mut self, at: &str, shape: &str, trips: u32, body: &str) {
        _ = write!(
            self.computations,
            "\nbody.{at} {{\n  state = {shape} parameter(0)\n  i = s32[] get-tuple-element(state), \
             index=0\n  zero = s32[] constant(0)\n  one = s32[] constant(1)\n  next = s32[] add(i, \
             one)\n{body}}}\n\nmore.{at} {{\n  state = {shape} parameter(0)\n  i = s32[] \
             get-tuple-element(state), index=0\n  end = s32[] constant({trips})\n  ROOT more = \
             pred[] compare(i, end), direction=LT\n}}\n"
        );
    }
}

/// Scans that keep 256 slices of 1 MiB each for the backward pass, all of them at once.
fn scans(count: usize) -> String {
    let mut program = Program::default();
    let (one, all) = ("f32[64,1024]{1,0:T(8,128)}", "f32[256,256,1024]{2,1,0:T(8,128)}");
    let state = format!("(s32[], {one}, {all})");
    let elements = format!(
        "  carry = {one} get-tuple-element(state), index=1\n  kept = {all} \
         get-tuple-element(state), index=2\n"
    );
    let slice = "f32[1,256,1024]{2,1,0:T(8,128)}";
    for at in 0..count {
        let forward = format!(
            "{elements}  wide = f32[4,64,1024]{{2,1,0:T(8,128)}} broadcast(carry), \
             dimensions={{1,2}}\n  slice = {slice} bitcast(wide)\n  keep = {all} \
             dynamic-update-slice(kept, slice, i, zero, zero), \
             metadata={{op_name=\"jit(f)/jvp(while)/body/dynamic_update_slice\" \
             source_file=\"block.py\" source_line=4{at}}}\n  step = {one} tanh(carry)\n  ROOT out = \
             {state} tuple(next, step, keep)\n"
        );
        let backward = format!(
            "{elements}  slice = {slice} dynamic-slice(kept, i, zero, zero), \
             dynamic_slice_sizes={{1,256,1024}}\n  rows = f32[256,1024]{{1,0:T(8,128)}} \
             bitcast(slice)\n  saved = {one} slice(rows), slice={{[0:64], [0:1024]}}\n  step = {one} \
             multiply(carry, saved), metadata={{op_name=\"jit(f)/transpose(jvp(while))/body/mul\"}}\n  \
             ROOT out = {state} tuple(next, step, kept)\n"
        );
        program.add_loop(&format!("f{at}"), &state, 256, &forward);
        program.add_loop(&format!("b{at}"), &state, 256, &backward);
        _ = write!(
            program.entry,
            "  x{at} = {one} parameter({at})\n  nothing{at} = f32[] constant(0)\n  empty{at} = {all} \
             broadcast(nothing{at}), dimensions={{}}\n  start{at} = {one} copy(x{at})\n  first{at} = \
             {state} tuple(zero, start{at}, empty{at})\n  loop{at} = {state} while(first{at}), \
             condition=more.f{at}, body=body.f{at}, metadata={{op_name=\"jit(f)/jvp(while)\"}}\n"
        );
    }
    for at in 0..count {
        _ = write!(
            program.entry,
            "  last{at} = {one} get-tuple-element(loop{at}), index=1\n  kept{at} = {all} \
             get-tuple-element(loop{at}), index=2\n  again{at} = {state} tuple(zero, last{at}, \
             kept{at})\n  back{at} = {state} while(again{at}), condition=more.b{at}, \
             body=body.b{at}, metadata={{op_name=\"jit(f)/transpose(jvp(while))\"}}\n  r{at} = {one} \
             get-tuple-element(back{at}), index=1\n"
        );
        program.roots.push((format!("r{at}"), one.to_owned()));
    }
    // So many values alive together that a rule may ask eight times and no more.
    for at in count..count + 8000 {
        _ = writeln!(program.entry, "  small{at} = f32[8,128]{{1,0:T(8,128)}} parameter({at})");
    }
    program.text()
}

/// Copies of padded arrays of as many shapes, 64 times as large as what they copy, all at once.
fn padded_copies(count: usize) -> String {
    let mut program = Program::default();
    for at in 0..count {
        let rows = (64 + at) << 10;
        let (narrow, padded) =
            (format!("f32[{rows},2]{{0,1:T(2,128)}}"), format!("f32[{rows},2]{{1,0:T(8,128)}}"));
        _ = write!(
            program.entry,
            "  x{at} = {narrow} parameter({at})\n  copy{at} = {padded} copy(x{at})\n"
        );
        program.roots.push((format!("copy{at}"), padded));
    }
    program.text()
}

/// Padded arguments of as many shapes.
fn padded_arguments(count: usize) -> String {
    let mut program = Program::default();
    for at in 0..count {
        let shape = format!("f32[{},2]{{1,0:T(8,128)}}", (64 + at) << 10);
        _ = writeln!(program.entry, "  x{at} = {shape} parameter({at})");
    }
    program.roots.push(("zero".to_owned(), "s32[]".to_owned()));
    program.text()
}

/// Loops whose bodies copy a carry of 16 MiB, run inside of each other so that all copies are there at
/// once.
fn loop_copies(count: usize) -> String {
    let mut program = Program::default();
    let array = "f32[4096,1024]{1,0:T(8,128)}";
    let mut elements = String::new();
    let mut updates = String::new();
    let mut results = vec!["next".to_owned()];
    let mut shapes = vec!["s32[]"];
    for at in 0..count {
        _ = writeln!(elements, "  carry{at} = {array} get-tuple-element(state), index={}", at + 1);
        _ = write!(
            updates,
            "  copy{at} = {array} copy(carry{at})\n  row{at} = f32[8,1024]{{1,0:T(8,128)}} \
             dynamic-slice(carry{at}, i, zero), dynamic_slice_sizes={{8,1024}}\n  twice{at} = \
             f32[8,1024]{{1,0:T(8,128)}} add(row{at}, row{at})\n  update{at} = {array} \
             dynamic-update-slice(copy{at}, twice{at}, next, zero)\n"
        );
        shapes.push(array);
    }
    for at in 0..count {
        _ = writeln!(updates, "  back{at} = {array} copy(update{at})");
        results.push(format!("back{at}"));
        _ = write!(
            program.entry,
            "  x{at} = {array} parameter({at})\n  start{at} = {array} copy(x{at})\n"
        );
    }
    let state = format!("({})", shapes.join(", "));
    let body = format!("{elements}{updates}  ROOT out = {state} tuple({})\n", results.join(", "));
    program.add_loop("l", &state, 4088, &body);
    let starts: Vec<String> = (0..count).map(|at| format!(", start{at}")).collect();
    _ = write!(
        program.entry,
        "  first = {state} tuple(zero{})\n  loop = {state} while(first), condition=more.l, \
         body=body.l\n",
        starts.concat()
    );
    for at in 0..count {
        _ = writeln!(program.entry, "  r{at} = {array} get-tuple-element(loop), index={}", at + 1);
        program.roots.push((format!("r{at}"), array.to_owned()));
    }
    program.text()
}

#[test]
fn what_is_not_priced_is_said() {
    let found = findings(&scans(12), "stacked-residuals", 16 << 30);
    assert_eq!(found.len(), 12, "{found:#?}");
    assert!(found.iter().any(|finding| finding.saving_bytes.is_some()));
    assert!(found.iter().any(|finding| finding.saving_bytes.is_none()));
    assert!(found.iter().all(|finding| finding.bytes == 256 << 20 && !finding.help.is_empty()));
}

/// The bytes of all findings together are those of all candidates, whatever stands alone.
#[test]
fn the_rest_is_said_in_one() {
    let padding = |count: u64| (0..count).map(|at| (64 + at) << 10).sum::<u64>() * 128 * 4;
    let cases = [
        ("tile-padding", padded_arguments(10), 7, padding(10) / 128 * 126, "4 more padded shapes"),
        ("layout-copy-pads", padded_copies(10), 5, padding(10) / 128 * 126, "6 more padded copies"),
        ("loop-copy", loop_copies(12), 9, 12 * (16 << 20), "4 more copies in loops"),
    ];
    for (rule, text, count, bytes, message) in cases {
        let found = findings(&text, rule, 1 << 30);
        let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(found.len(), count, "{rule}: {messages:#?}");
        let said: u64 = found.iter().map(|finding| finding.bytes).sum();
        assert_eq!(said, bytes, "{rule}: {messages:#?}");
        assert!(messages.iter().any(|text| text.starts_with(message)), "{rule}: {messages:#?}");
    }
}
