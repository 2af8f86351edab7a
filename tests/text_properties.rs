//! Properties of the reader and the printer: what is read, printed and read again says the same, and
//! no text makes either panic.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use hlolint::text::{Strictness, difference, parse_with, print};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

fn texts_under(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts_under(&path, found);
        } else if path.extension().is_some_and(|end| end == "txt" || end == "hlo") {
            found.push(path);
        }
    }
}

/// All HLO texts of testdata but those that are malformed on purpose.
fn testdata() -> Vec<PathBuf> {
    let mut found = Vec::new();
    texts_under(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata"), &mut found);
    found.retain(|path| {
        let path = path.to_string_lossy();
        let side = ["-buffer-assignment", "-live-range", "-memory-usage-report", "-values"];
        let other = ["target_arguments", "tpu_comp_env", "debug_options", "hlo_module_config"];
        !path.contains("testdata/text/bad")
            && !side.iter().any(|side| path.contains(side))
            && !other.iter().any(|other| path.contains(other))
    });
    found.sort();
    found
}

/// Prints and reads again; `Err` says what differs.
fn round_trip(text: &str, strictness: Strictness) -> Result<(), String> {
    let Ok(first) = parse_with(text, strictness) else {
        return Ok(());
    };
    let printed = print(&first.module).to_string();
    let second = parse_with(&printed, strictness).map_err(|error| {
        let place = error.location(printed.as_bytes());
        format!("{}:{}: {error}\n{printed}", place.line, place.column)
    })?;
    difference(&first.module, &second.module)
        .map_or(Ok(()), |difference| Err(format!("{difference}\n{printed}")))
}

#[test]
fn testdata_comes_back_the_same() {
    let paths = testdata();
    assert!(paths.len() > 50, "{} texts", paths.len());
    let mut read = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("text");
        if !text.contains("HloModule") && !text.contains("ENTRY") && !text.contains(" = ") {
            continue;
        }
        read += usize::from(parse_with(&text, Strictness::Strict).is_ok());
        if let Err(difference) = round_trip(&text, Strictness::Strict) {
            panic!("{}: {difference}", path.display());
        }
    }
    assert!(read > 50, "{read} texts could be read");
}

/// Small texts that have a bit of everything.
static SEEDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let small = |path: &PathBuf| path.metadata().is_ok_and(|file| file.len() < 40_000);
    let texts = testdata().into_iter().filter(small);
    texts.map(|path| std::fs::read_to_string(path).expect("text")).collect()
});

const TOKENS: [&str; 24] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "%",
    "=",
    ",",
    ":",
    "->",
    "...",
    "f32[",
    "{1,0}",
    "ROOT",
    "ENTRY",
    "é",
    "-9223372036854775808",
    "18446744073709551616",
];

/// One change of a text, at a place given as a share of its length.
#[derive(Clone, Debug)]
enum Change {
    Delete(f64, usize),
    Insert(f64, usize),
    Repeat(f64, usize),
    Cut(f64),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0.0..1.0, 1_usize..30).prop_map(|(at, length)| Change::Delete(at, length)),
        (0.0..1.0, 0..TOKENS.len()).prop_map(|(at, token)| Change::Insert(at, token)),
        (0.0..1.0, 1_usize..200).prop_map(|(at, length)| Change::Repeat(at, length)),
        (0.0..1.0).prop_map(Change::Cut),
    ]
}

fn place(text: &str, share: f64) -> usize {
    let mut at = (text.len() as f64 * share) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn changed(mut text: String, change: &Change) -> String {
    let end_of = |text: &str, at: usize, length: usize| {
        let mut end = (at + length).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        end
    };
    match *change {
        Change::Delete(share, length) => {
            let at = place(&text, share);
            let end = end_of(&text, at, length);
            text.replace_range(at..end, "");
        }
        Change::Insert(share, token) => {
            let at = place(&text, share);
            text.insert_str(at, TOKENS[token]);
        }
        Change::Repeat(share, length) => {
            let at = place(&text, share);
            let end = end_of(&text, at, length);
            let again = text[at..end].to_owned();
            text.insert_str(end, &again);
        }
        Change::Cut(share) => text.truncate(place(&text, share)),
    }
    text
}

/// An instruction of a generated computation: what it is, and which values above it uses.
fn operation() -> impl Strategy<Value = (usize, usize, usize)> {
    (0_usize..12, any::<usize>(), any::<usize>())
}

/// A module of instructions on one shape, each on values above it.
fn module() -> impl Strategy<Value = String> {
    (proptest::collection::vec(operation(), 1..40), 1_u64..9, any::<bool>(), any::<bool>())
        .prop_map(|(operations, size, percent, operand_shapes)| {
            generated(&operations, size, percent, operand_shapes)
        })
}

fn generated(
    operations: &[(usize, usize, usize)],
    size: u64,
    percent: bool,
    operand_shapes: bool,
) -> String {
    let shape = format!("f32[{size},4]{{1,0:T(8,128)}}");
    let sigil = if percent { "%" } else { "" };
    let written = if operand_shapes { format!("{shape} ") } else { String::new() };
    let mut text = String::from("HloModule generated, is_scheduled=true\n\n");
    text.push_str(
        "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n\n",
    );
    text.push_str("ENTRY main {\n");
    text.push_str(&format!("  {sigil}v0 = {shape} parameter(0)\n"));
    for (at, &(kind, left, right)) in operations.iter().enumerate() {
        let number = at + 1;
        let value = |which: usize| format!("{written}{sigil}v{}", which % number);
        let (left, right) = (value(left), value(right));
        let instruction = match kind {
            0 => format!("{shape} add({left}, {right})"),
            1 => format!(
                "{shape} negate({left}), metadata={{op_name=\"f/neg\" source_line={number}}}"
            ),
            2 => format!("{shape} add(abs({left}), {shape} tanh({right}))"),
            3 => format!("add({left}, {right}), backend_config={{\"a\":[\"}}\", {{}}]}}"),
            4 => format!(
                "{shape} custom-call({left}), custom_call_target='it\\'s', sharding={{devices=[2,1]<=[2]}}"
            ),
            5 => format!(
                "{shape} call({left}), to_apply={{ x = {shape} parameter(0) ROOT y = {shape} copy(x) }}"
            ),
            6 => format!(
                "{shape} fusion({left}, {right}), kind=kLoop, calls={{ x = {shape} parameter(0) y = {shape} parameter(1) ROOT z = {shape} multiply(x, y) }}, output_to_operand_aliasing={{{{}}: (0, {{}})}}"
            ),
            7 => format!("{shape} constant({{...}}), frontend_attributes={{k=\"v\"}}"),
            8 => format!("{shape} broadcast(f32[] constant(1.5)), dimensions={{}}"),
            9 => format!("{shape} copy({left}), control-predecessors={{{sigil}v0}}"),
            10 => format!(
                "{shape} all-reduce({left}), replica_groups=[1,2]<=[2], to_apply=sum, channel_id=1"
            ),
            _ => format!("{shape} maximum({left}, {left})"),
        };
        let root = if number == operations.len() { "ROOT " } else { "" };
        text.push_str(&format!("  {root}{sigil}v{number} = {instruction}\n"));
    }
    text.push_str("}\n");
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn changed_texts_never_panic(seed in any::<usize>(), changes in proptest::collection::vec(change(), 1..4)) {
        let text = SEEDS[seed % SEEDS.len()].clone();
        let text = changes.iter().fold(text, changed);
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            if let Err(difference) = round_trip(&text, strictness) {
                return Err(TestCaseError::fail(difference));
            }
        }
    }

    #[test]
    fn generated_modules_are_read_and_come_back(text in module()) {
        let parsed = parse_with(&text, Strictness::Strict);
        prop_assert!(parsed.is_ok(), "{:?}\n{text}", parsed.err());
        let outcome = round_trip(&text, Strictness::Strict);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    #[test]
    fn random_characters_never_panic(text in "[ -~\\n]{0,200}") {
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let _ = parse_with(&text, strictness);
            let _ = parse_with(&format!("HloModule m\nENTRY e {{\n p = {text}"), strictness);
        }
    }
}
