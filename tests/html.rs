//! The page of `report --format html`: it says what the JSON report says, needs nothing else, and
//! nothing of a dump is markup in it. What it does in a browser is held by `tests/browser`.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

mod support;

use assert_cmd::Command;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use support::page::{data, evil_text, holds_no_markup_of, needs_nothing_else};
use support::{fixtures, folders, root};

fn report(arguments: &[&str]) -> String {
    let mut command = Command::cargo_bin("hlolint").unwrap();
    let output = command.current_dir(root()).arg("report").args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn page(path: &str) -> String {
    report(&[path, "--format", "html"])
}

#[test]
fn the_page_holds_the_json_report_and_what_belongs_to_it() {
    for fixture in fixtures().iter() {
        let (name, path) = (&fixture.name, fixture.path.to_str().unwrap());
        let page = page(path);
        assert!(page.len() < 300_000, "{name}: {} bytes", page.len());
        let data = data(&page);
        let json: Value =
            serde_json::from_str(&report(&[path, "--format", "json", "--stack"])).unwrap();
        assert!(data["report"] == json, "{name}: the page holds another report");
        let modules = json["modules"].as_array().unwrap();
        assert_eq!(data["modules"].as_array().unwrap().len(), modules.len(), "{name}");
        for (module, view) in modules.iter().zip(data["modules"].as_array().unwrap()) {
            let count = |list: &Value| list.as_array().unwrap().len();
            assert_eq!(count(&module["buffers"]), count(&view["buffers"]), "{name}");
            assert_eq!(count(&view["left_out"]), 0, "{name}");
            other_spaces_hold_what_they_may(name, module, view);
            let paths = module["way_out"]["paths"].as_array().map_or(0, Vec::len);
            assert_eq!(count(&view["paths"]), paths, "{name}");
            unpadded_is_below(name, module, view);
        }
        assert_eq!(
            data["findings"].as_array().unwrap().len(),
            json["findings"].as_array().unwrap().len(),
            "{name}"
        );
    }
}

/// The curve without padding is nowhere above the one with it, and at the peak lower by what the
/// report says.
fn unpadded_is_below(name: &str, module: &Value, view: &Value) {
    let curve = |list: &Value| -> BTreeMap<u64, u64> {
        let live = list.as_array().unwrap().iter();
        live.map(|live| (live["point"].as_u64().unwrap(), live["bytes"].as_u64().unwrap()))
            .collect()
    };
    let (padded, unpadded) = (curve(&module["live"]), curve(&view["unpadded"]));
    let at = |curve: &BTreeMap<u64, u64>, point| *curve.range(..=point).next_back().unwrap().1;
    for point in padded.keys() {
        assert!(at(&unpadded, *point) <= at(&padded, *point), "{name}: step {point}");
    }
}

/// Every other memory space has its curves, which stay below what is allocated there.
fn other_spaces_hold_what_they_may(name: &str, module: &Value, view: &Value) {
    let total = |space: &Value| {
        let mut spaces = module["spaces"].as_array().unwrap().iter();
        let known = spaces.find(|other| other["memory_space"] == space["memory_space"]);
        known.map_or(0, |known| known["total_bytes"].as_u64().unwrap())
    };
    let views = view["spaces"].as_array().unwrap();
    for space in views {
        assert!(highest(&space["live"]) <= total(space), "{name}: {}", space["memory_space"]);
        assert!(highest(&space["unpadded"]) <= highest(&space["live"]), "{name}");
    }
    for space in module["spaces"].as_array().unwrap() {
        assert!(views.iter().any(|view| view["memory_space"] == space["memory_space"]), "{name}");
    }
}

fn highest(curve: &Value) -> u64 {
    let bytes = curve.as_array().unwrap().iter().map(|live| live["bytes"].as_u64().unwrap());
    bytes.max().unwrap_or(0)
}

/// The curve after the steps of a path is the one whose figure the last of them says.
#[test]
fn a_way_out_has_its_curve() {
    let mut drawn = 0;
    for name in ["scan_oom", "attention_oom", "arguments_oom", "replicated_state"] {
        let data = data(&page(&format!("testdata/dumps/{name}")));
        let module = &data["report"]["modules"][0];
        let views = data["modules"][0]["paths"].as_array().unwrap();
        let paths = module["way_out"]["paths"].as_array();
        for (path, view) in paths.into_iter().flatten().zip(views) {
            if view.is_null() {
                continue;
            }
            let step = &path["steps"][view["step"].as_u64().unwrap() as usize];
            assert_eq!(step["required_bytes_after"], view["required_bytes"], "{name}");
            assert_ne!(step["basis"], "even-split", "{name}");
            assert!(highest(&view["live"]) <= view["required_bytes"].as_u64().unwrap(), "{name}");
            assert!(highest(&view["live"]) < highest(&module["live"]), "{name}");
            drawn += 1;
        }
    }
    assert!(drawn >= 2, "{drawn}");
}

/// What the page says of kernels is what `vmem` says.
#[test]
fn kernels_are_those_of_vmem() {
    for name in ["kernel_over_vmem", "kernel_fits", "kernels_kept_and_deleted"] {
        let path = format!("testdata/dumps/{name}");
        let mut command = Command::cargo_bin("hlolint").unwrap();
        command.current_dir(root()).args(["vmem", &path, "--format", "json"]);
        let vmem: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let page = data(&page(&path));
        let kernels = page["modules"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|module| module["kernels"].as_array().unwrap());
        assert_eq!(kernels.cloned().collect::<Vec<_>>(), *vmem["kernels"].as_array().unwrap());
        assert!(!vmem["kernels"].as_array().unwrap().is_empty(), "{name}");
    }
}

/// A what-if's curve is the one whose figure the finding says, and ends up lower.
#[test]
fn a_finding_has_its_buffers_and_its_curve() {
    let data = data(&page("testdata/dumps/scan_oom"));
    let findings = data["report"]["findings"].as_array().unwrap();
    let at = findings.iter().position(|f| f["rule"] == "stacked-residuals").unwrap();
    let view = &data["findings"][at];
    let buffers = view["buffers"].as_array().unwrap();
    let module = &data["report"]["modules"][0];
    let sum: u64 = buffers
        .iter()
        .map(|at| module["buffers"][at.as_u64().unwrap() as usize]["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(Value::from(sum), findings[at]["bytes"]);
    let what_ifs = view["what_ifs"].as_array().unwrap();
    let priced = findings[at]["remedies"].as_array().unwrap().iter();
    assert_eq!(what_ifs.len(), priced.filter(|r| !r["required_bytes_after"].is_null()).count());
    for what_if in what_ifs {
        let remedy = what_if["remedy"].as_u64().unwrap() as usize;
        let said = &findings[at]["remedies"][remedy]["required_bytes_after"];
        assert_eq!(&what_if["required_bytes"], said);
        assert!(highest(&what_if["live"]) <= said.as_u64().unwrap());
        assert!(highest(&what_if["live"]) < highest(&module["live"]));
    }
    // The stacks that the first remedy does without are those that the finding speaks of.
    let after = what_ifs[0]["after"].as_array().unwrap();
    let gone = after.iter().filter(|after| after["bytes"] == 0).map(|after| &after["buffer"]);
    let gone: Vec<&Value> = gone.filter(|buffer| buffers.contains(buffer)).collect();
    assert!(!gone.is_empty() && gone.len() <= buffers.len(), "{after:?}");
}

#[test]
fn what_a_dump_says_is_never_markup() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evil.txt");
    fs::write(&path, evil_text("1024,1024")).unwrap();
    holds_no_markup_of(&page(path.to_str().unwrap()));
}

#[test]
fn the_page_needs_nothing_but_itself() {
    needs_nothing_else(&page("testdata/dumps/two_modules"));
}

/// A train step's page stays far below what an attachment may have.
#[test]
fn the_page_of_a_large_program_is_small() {
    for path in folders(&root().join("testdata/large")) {
        let page = page(path.to_str().unwrap());
        assert!(page.len() < 2_000_000, "{}: {} bytes", path.display(), page.len());
    }
}

#[test]
fn where_the_page_goes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let file = file.to_str().unwrap();
    let path = "testdata/dumps/scan_oom";
    assert_eq!(report(&[path, "--format", "html", "-o", file]), "");
    assert!(fs::read_to_string(file).unwrap() == page(path), "twice the same");
    report(&[path, "--format", "json", "-o", file]);
    assert!(fs::read_to_string(file).unwrap() == report(&[path, "--format", "json"]));
    let mut command = Command::cargo_bin("hlolint").unwrap();
    command.current_dir(root()).args(["report", path, "--open"]);
    command.assert().code(2).stderr(predicates::str::contains("--format html"));
}

/// The pieces make one script: a name that two of them declare would hide the other's.
#[test]
fn no_two_pieces_of_the_script_declare_a_name() {
    let page = page("testdata/dumps/scan_oom");
    let mut declared: BTreeMap<String, String> = BTreeMap::new();
    for entry in fs::read_dir(root().join("src/render/html/script")).unwrap() {
        let (path, file) = (entry.as_ref().unwrap().path(), entry.unwrap().file_name());
        let file = file.to_str().unwrap().to_owned();
        let text = fs::read_to_string(path).unwrap();
        assert!(page.contains(&text), "{file} is not in the page");
        for line in text.lines() {
            let mut words = line.split([' ', '(']);
            let is_declaration = |word: &str| ["function", "class", "const", "let"].contains(&word);
            let before = words.next().filter(|word| is_declaration(word)).and_then(|_| {
                let name = words.next().unwrap_or_default();
                declared.insert(name.to_owned(), file.clone())
            });
            assert_eq!(before, None, "{file} declares again: {line}");
        }
    }
}

// ---- colours ----

/// A colour of the style sheet, linear.
type Colour = [f64; 3];

fn linear(hex: &str) -> Colour {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    [part(1), part(3), part(5)]
}

/// The colours of the light and of the dark page, by name.
fn palettes() -> [BTreeMap<String, Colour>; 2] {
    let mut palettes = [BTreeMap::new(), BTreeMap::new()];
    for line in include_str!("../src/render/html/viewer.css").lines() {
        let Some((name, colours)) = line.trim().strip_prefix("--").and_then(|l| l.split_once(": "))
        else {
            continue;
        };
        let Some(colours) = colours.strip_prefix("light-dark(") else { continue };
        let (light, dark) = colours.trim_end_matches(");").split_once(", ").unwrap();
        palettes[0].insert(name.to_owned(), linear(light));
        palettes[1].insert(name.to_owned(), linear(dark));
    }
    palettes
}

/// WCAG 2: relative luminance, contrast ratio.
fn contrast(a: Colour, b: Colour) -> f64 {
    let luminance = |c: Colour| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// WCAG AA: text has 4.5:1 on what it stands on, what is drawn 3:1.
#[test]
fn contrast_is_that_of_wcag_aa() {
    let text = ["text", "quiet", "accent", "error", "warn", "note", "good"];
    for (palette, theme) in palettes().iter().zip(["light", "dark"]) {
        for ground in ["page", "panel"] {
            for name in text {
                let ratio = contrast(palette[name], palette[ground]);
                assert!(ratio >= 4.5, "{theme}: {name} on {ground} has {ratio:.2}:1");
            }
        }
        for name in CATEGORIES.iter().chain(&["what-if", "chosen", "accent", "error", "old", "new"])
        {
            let ratio = contrast(palette[*name], palette["page"]);
            assert!(ratio >= 3.0, "{theme}: {name} has {ratio:.2}:1");
        }
    }
}

const CATEGORIES: &[&str] =
    &["parameter", "output", "activation", "gradient", "collective", "constant", "temporary"];

/// How eyes without one kind of cone see linear colours (Machado, Oliveira and Fernandes 2009, full
/// severity), and ordinary ones.
const EYES: &[(&str, [[f64; 3]; 3])] = &[
    ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// CIE L*a*b* of a linear colour as an eye sees it.
fn lab(colour: Colour, eye: &[[f64; 3]; 3]) -> [f64; 3] {
    let seen =
        eye.map(|row| row.iter().zip(colour).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0));
    let sum = |weights: [f64; 3]| weights.iter().zip(seen).map(|(a, b)| a * b).sum::<f64>();
    let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let x = f(sum([0.4124, 0.3576, 0.1805]) / 0.950_47);
    let y = f(sum([0.2126, 0.7152, 0.0722]));
    let z = f(sum([0.0193, 0.1192, 0.9505]) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Any two categories differ by far more than the eye's threshold (2.3), for every kind of eye.
#[test]
fn categories_differ_for_every_eye() {
    const LEAST: f64 = 15.0;
    for (palette, theme) in palettes().iter().zip(["light", "dark"]) {
        for (eye, matrix) in EYES {
            let categories = CATEGORIES.iter().enumerate();
            let pairs = categories.flat_map(|(at, first)| {
                CATEGORIES[at + 1..].iter().map(move |other| (first, other))
            });
            for (first, second) in pairs.chain([(&"old", &"new")]) {
                let (a, b) = (lab(palette[*first], matrix), lab(palette[*second], matrix));
                let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                assert!(
                    apart >= LEAST,
                    "{theme}, {eye}: {first} and {second} are {apart:.1} apart"
                );
            }
        }
    }
}
