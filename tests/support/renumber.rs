//! A HLO text in; the same program with other numbers in all names, or with instructions in another
//! order that means the same, out.

use hlolint::text;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The same text; every number of a name of an instruction or a computation is another one, and the
/// order of the numbers is another one, too.
pub fn renumbered(source: &str) -> String {
    let module = text::parse(source).unwrap().module;
    let instructions = module.ids().map(|id| module.instruction(id).name);
    let computations = module.computations.iter().map(|computation| computation.name);
    let names: BTreeSet<&str> = instructions.chain(computations).collect();
    let mapped: BTreeMap<&str, String> =
        names.into_iter().map(|name| (name, with_other_numbers(name))).collect();
    assert_eq!(mapped.values().collect::<BTreeSet<_>>().len(), mapped.len(), "two of one name");
    replace_words(source, &mapped)
}

fn with_other_numbers(name: &str) -> String {
    let parts = name.split('.').enumerate().map(|(at, part)| match part.parse::<u64>() {
        Ok(number) if at > 0 && number.to_string() == part => (number ^ 0x55).to_string(),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// Replaces whole words outside of quoted strings.
fn replace_words(source: &str, mapped: &BTreeMap<&str, String>) -> String {
    let mut out = String::with_capacity(source.len());
    for (at, part) in quoted(source) {
        if at {
            out.push_str(part);
            continue;
        }
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let mut rest = part;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_in_name(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            out.push_str(mapped.get(word).map_or(word, String::as_str));
            let next = behind.find(is_in_name).unwrap_or(behind.len());
            out.push_str(&behind[..next]);
            rest = &behind[next..];
        }
    }
    out
}

/// The parts of a text: whether each stands in quotes, and the part.
fn quoted(source: &str) -> Vec<(bool, &str)> {
    let (mut parts, mut start, mut inside, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in source.bytes().enumerate() {
        match byte {
            b'"' if !escaped => {
                let end = if inside { at + 1 } else { at };
                parts.push((inside, &source[start..end]));
                (start, inside) = (end, !inside);
            }
            b'\\' if !escaped => {
                escaped = true;
                continue;
            }
            _ => {}
        }
        escaped = false;
    }
    parts.push((inside, &source[start..]));
    parts
}

/// The same program with neighbours that take elements of one tuple changed about, and how many.
pub fn reordered(source: &str) -> (String, usize) {
    let operand = |line: &str| {
        let rest = line.split(" get-tuple-element(").nth(1)?;
        let is_plain = !line.trim_start().starts_with("ROOT");
        is_plain.then(|| rest.split(')').next().map(str::to_owned)).flatten()
    };
    let mut lines: Vec<&str> = source.lines().collect();
    let (mut at, mut swapped) = (0, 0);
    while at + 1 < lines.len() {
        match (operand(lines[at]), operand(lines[at + 1])) {
            (Some(one), Some(other)) if one == other => {
                lines.swap(at, at + 1);
                swapped += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    (lines.join("\n") + "\n", swapped)
}

/// Copies a dump directory; every HLO text goes through `change`.
pub fn copy_dump(from: &Path, to: &Path, change: &mut dyn FnMut(&str) -> String) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_dump(&path, &target, change);
            continue;
        }
        match fs::read_to_string(&path) {
            Ok(text) if text.starts_with("HloModule") => fs::write(&target, change(&text)),
            _ => fs::copy(&path, &target).map(drop),
        }
        .unwrap();
    }
}
