//! The page of `diff --format html`: it says what the JSON says, needs nothing else, and nothing of a
//! dump is markup in it. What it does in a browser is held by `tests/browser`.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use support::page::{data, evil_text, holds_no_markup_of, needs_nothing_else};
use support::root;

/// Exit code and output.
fn run(arguments: &[&str]) -> (i32, String) {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    let output = command.current_dir(root()).args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn page(old: &str, new: &str) -> String {
    let (code, page) = run(&["diff", old, new, "--format", "html"]);
    assert_eq!(code, 0, "{old} {new}");
    page
}

fn json(old: &str, new: &str) -> Value {
    serde_json::from_str(&run(&["diff", old, new, "--format", "json"]).1).unwrap()
}

/// Sides of all backends, of several modules, of other compilers, and the two of every fourth rule.
fn sides() -> Vec<(String, String)> {
    let dumps = [
        ("mlp_not_donated", "mlp_donated"),
        ("attention_oom_0_0_42_1", "attention_oom"),
        ("mlp_donated", "two_modules"),
        ("gpu_adam_donated", "gpu_adam_sharded"),
        ("cpu_adam_donated", "cpu_adam_sharded"),
        ("cpu_adam_donated", "gpu_adam_donated"),
        ("baseline_known", "baseline_layer_added"),
        ("scan_oom", "scan_oom"),
    ];
    let dump = |name: &str| format!("testdata/dumps/{name}");
    let pairs = support::folders(Path::new("testdata/pairs")).into_iter().step_by(4);
    let pairs = pairs.flat_map(|pair| {
        let side = |name| pair.join(name).to_str().unwrap().to_owned();
        [(side("bad"), side("good")), (side("good"), side("bad"))]
    });
    dumps.iter().map(|(old, new)| (dump(old), dump(new))).chain(pairs).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

#[test]
fn the_page_holds_the_json_and_what_belongs_to_it() {
    for (old, new) in sides() {
        let page = page(&old, &new);
        assert!(page.len() < 300_000, "{old}: {} bytes", page.len());
        let (data, json) = (data(&page), json(&old, &new));
        assert!(data["diff"] == json, "{old}: the page holds another comparison");
        assert_eq!(list(&data["modules"]).len(), list(&json["modules"]).len(), "{old}");
        for (module, view) in list(&json["modules"]).iter().zip(list(&data["modules"])) {
            assert_eq!(list(&view["left_out"]).len(), 0, "{old}");
            assert_eq!(list(&view["buffers"]).len(), list(&module["buffers"]).len(), "{old}");
            for side in ["old", "new"] {
                curve_reaches_the_peak(&old, &module["hbm"]["peak_live"], &view[side], side);
                let places = list(&module["buffers"]).iter().zip(list(&view["buffers"]));
                places.for_each(|(change, place)| {
                    members_are_the_buffers(change, place, &view[side], side);
                });
            }
        }
    }
}

/// Buffers that are not alive all the time between their first and their last step.
#[test]
fn gaps_in_live_ranges_are_there() {
    let data = data(&page("testdata/large/decoder_train_step", "testdata/dumps/scan_oom"));
    let (module, view) = (&data["diff"]["modules"][0], &data["modules"][0]);
    for (change, place) in list(&module["buffers"]).iter().zip(list(&view["buffers"])) {
        // Of very many equal ones the first alone are told.
        if change["old"]["count"].as_u64().is_none_or(|count| count <= 200) {
            members_are_the_buffers(change, place, &view["old"], "old");
        }
    }
    assert!(view["buffers"].to_string().contains("\"ranges\":[["));
}

/// The curve's highest is where the peak is, and as high as the comparison says.
fn curve_reaches_the_peak(name: &str, peak_live: &Value, view: &Value, side: &str) {
    let highest = list(&view["live"]).iter().map(|live| live["bytes"].as_u64()).max();
    let Some(peak) = view["peak"].as_u64() else { return assert!(peak_live.is_null(), "{name}") };
    let points = view["points"].as_u64().unwrap();
    let at = list(&view["live"]).iter().take_while(|live| live["point"].as_u64() <= Some(peak));
    let at_peak = at.last().unwrap()["bytes"].as_u64();
    assert_eq!(at_peak, highest.unwrap(), "{name} {side}");
    assert_eq!(at_peak, peak_live[format!("{side}_bytes")].as_u64(), "{name} {side}");
    assert!(peak < points, "{name} {side}");
    let steps = &view["steps"];
    assert_eq!(steps["points"].as_u64(), Some(points), "{name} {side}");
    assert_eq!(list(&steps["instructions"]).len() as u64, points, "{name} {side}");
}

/// The members of a change have its bytes, and as many as it says are alive at the peak.
fn members_are_the_buffers(change: &Value, places: &Value, view: &Value, side: &str) {
    let (held, place) = (&change[side], &places[side]);
    if held.is_null() {
        return assert!(place.is_null(), "{change}");
    }
    let members = list(&place["members"]);
    assert_eq!(Some(members.len() as u64), held["count"].as_u64(), "{change}");
    let bytes: u64 = members.iter().map(|member| member["bytes"].as_u64().unwrap()).sum();
    assert_eq!(Some(bytes), change["size"][format!("{side}_bytes")].as_u64(), "{change}");
    // The table of a tuple may be smaller than its pointers.
    let is_tuple = held["shape"].as_str().unwrap().starts_with('(');
    assert!(is_tuple || place["unpadded_bytes"].as_u64().unwrap() <= bytes, "{change}");
    let peak = view["peak"].as_u64().unwrap();
    let is_alive = |member: &&Value| ranges(member).iter().any(|[a, b]| *a <= peak && peak <= *b);
    let alive = members.iter().filter(is_alive).count() as u64;
    if held["kind"] != "thread-local" {
        assert_eq!(Some(alive), held["alive"].as_u64(), "{change}");
    }
}

/// When a member is alive.
fn ranges(member: &Value) -> Vec<[u64; 2]> {
    let number = |value: &Value| value.as_u64().unwrap();
    match member.get("ranges") {
        Some(parts) => list(parts).iter().map(|r| [number(&r[0]), number(&r[1])]).collect(),
        None if member["start"].is_null() => Vec::new(),
        None => vec![[number(&member["start"]), number(&member["end"])]],
    }
}

/// First and last step of every member of a side.
fn spans(places: &Value, side: &str) -> Vec<(Option<u64>, Option<u64>)> {
    let members = list(places).iter().filter_map(|place| place.get(side));
    members
        .flat_map(|place| list(&place["members"]))
        .map(|member| (member["start"].as_u64(), member["end"].as_u64()))
        .collect()
}

/// What a saved report holds is on the page as its dump's is; what it does not hold is said.
#[test]
fn a_saved_report_does_as_a_side() {
    let folder = tempfile::tempdir().unwrap();
    for pair in ["debug-print", "replicated-tensor"] {
        let [bad, good] = ["bad", "good"].map(|side| format!("testdata/pairs/{pair}/{side}"));
        let saved = folder.path().join("saved.json");
        let saved = saved.to_str().unwrap();
        assert_eq!(run(&["report", &bad, "--format", "json", "-o", saved]).0, 0);
        let (of_saved, of_dump) = (data(&page(saved, &good)), data(&page(&bad, &good)));
        assert!(of_saved["diff"] == of_dump["diff"], "{pair}");
        let [saved, dump] = [&of_saved, &of_dump].map(|data| &data["modules"][0]);
        for field in ["points", "peak", "live", "available_bytes"] {
            assert_eq!(saved["old"][field], dump["old"][field], "{pair} {field}");
        }
        assert!(saved["new"] == dump["new"], "{pair}");
        assert_eq!(spans(&saved["buffers"], "old"), spans(&dump["buffers"], "old"), "{pair}");
        assert!(saved["old"].get("steps").is_none() && dump["old"].get("steps").is_some());
        let left_out = list(&saved["left_out"]);
        assert!(left_out[0].as_str().unwrap().starts_with("the old side is a saved report"));
    }
}

#[test]
fn what_a_dump_says_is_never_markup() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["512,1024", "1024,1024"].map(|shape| {
        let path = folder.path().join(format!("{shape}.txt"));
        fs::write(&path, evil_text(shape)).unwrap();
        path.to_str().unwrap().to_owned()
    });
    holds_no_markup_of(&page(&old, &new));
}

#[test]
fn the_page_needs_nothing_but_itself() {
    needs_nothing_else(&page("testdata/dumps/mlp_donated", "testdata/dumps/two_modules"));
}

/// The gate decides the exit code and stands on the page; the page is written either way.
#[test]
fn where_the_page_goes_and_the_gate() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("diff.html");
    let file = file.to_str().unwrap();
    let (old, new) = ("testdata/dumps/mlp_donated", "testdata/dumps/mlp_not_donated");
    let diff = ["diff", old, new, "--format", "html", "-o", file];
    assert_eq!(run(&diff), (0, String::new()));
    assert!(fs::read_to_string(file).unwrap() == page(old, new), "twice the same");
    assert_eq!(run(&[&diff[..], &["--max-increase", "2%"]].concat()), (1, String::new()));
    let gate = data(&fs::read_to_string(file).unwrap())["diff"]["gate"].clone();
    assert_eq!((&gate["holds"], &gate["max_increase"]), (&false.into(), &"2%".into()));
    for format in ["text", "md", "json"] {
        let written = run(&["diff", old, new, "--format", format, "-o", file]);
        assert_eq!(written, (0, String::new()));
        let text = fs::read_to_string(file).unwrap();
        assert_eq!(text, run(&["diff", old, new, "--format", format]).1, "{format}");
    }
    let mut command = Command::cargo_bin("hlolint").unwrap();
    command.current_dir(root()).args(["diff", old, new, "--open"]);
    command.assert().code(2).stderr(predicates::str::contains("--format html"));
    assert_eq!(run(&["diff", old, "testdata/none", "--format", "html"]).0, 2);
}

/// A program of so many arrays, each of another operation.
fn wide(name: &str, count: usize) -> String {
    let mut text = String::from(
        "HloModule jit_wide, is_scheduled=true\n\nENTRY %main (x: f32[]) -> f32[] {\n  \
         %x = f32[] parameter(0)\n",
    );
    for at in 0..count {
        let (size, metadata) = (1024 + at, format!("metadata={{op_name=\"{name}/{at}\"}}"));
        _ = writeln!(
            text,
            "  %v.{at} = f32[{size}]{{0}} broadcast(%x), dimensions={{}}, {metadata}"
        );
    }
    text.push_str("  ROOT %r = f32[] negate(%x)\n}\n");
    text
}

/// The smallest of very many changes are left out, which the page says.
#[test]
fn what_is_too_much_for_a_page_is_left_out_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| {
        let path = folder.path().join(format!("{name}.txt"));
        fs::write(&path, wide(name, 7_000)).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let (data, json) = (data(&page(&old, &new)), json(&old, &new));
    let [told, all] = [&data["diff"], &json].map(|diff| list(&diff["modules"][0]["buffers"]));
    assert_eq!((told.len(), all.len()), (12_000, 14_000));
    assert!(told == &all[..12_000], "the largest stay");
    assert_eq!(data["diff"]["modules"][0]["hbm"], json["modules"][0]["hbm"]);
    let left_out = data["modules"][0]["left_out"][0].as_str().unwrap().to_owned();
    assert!(left_out.starts_with("2000 small changes of buffers"), "{left_out}");
}
