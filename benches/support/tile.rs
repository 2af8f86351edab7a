//! Large texts for benchmarks: a real dump, and copies of it in one module.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

/// The scheduled text of the training step in testdata; `None` where testdata was left out.
pub fn training_step() -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/large/decoder_train_step");
    let mut names: Vec<_> = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).collect();
    names.sort_by_key(std::fs::DirEntry::file_name);
    let name = names
        .iter()
        .map(std::fs::DirEntry::path)
        .find(|path| path.to_string_lossy().ends_with("after_optimizations.txt.gz"))?;
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(name).ok()?)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

/// One module with all computations of `text` so often that it has at least `bytes` bytes. Names of
/// computations get the number of their copy; the entry of the last copy is the entry.
pub fn tiled(text: &str, bytes: usize) -> String {
    let Ok(parsed) = hlolint::text::parse(text) else {
        return String::new();
    };
    let names: HashSet<&str> =
        parsed.module.computations.iter().map(|computation| computation.name).collect();
    let start = text.find("\n\n%").map_or(0, |at| at + 2);
    let (header, body) = text.split_at(start);
    let mut tiled = String::with_capacity(bytes + 2 * text.len());
    tiled.push_str(header);
    let mut copy = 0;
    loop {
        let from = tiled.len();
        let is_last = from + body.len() >= bytes;
        renamed(body, &names, copy, is_last, &mut tiled);
        copy += 1;
        if is_last {
            return tiled;
        }
    }
}

/// As [`tiled`], and the entry calls the entry of every other copy in front of its root, so that each
/// copy takes part in the program.
#[allow(dead_code, reason = "not every benchmark needs it")]
pub fn called(text: &str, bytes: usize) -> String {
    let tiled = tiled(text, bytes);
    calls(text, &tiled).unwrap_or_default()
}

fn calls(text: &str, tiled: &str) -> Option<String> {
    let parsed = hlolint::text::parse(text).ok()?;
    let module = &parsed.module;
    let entry = module.computations.get(module.entry.0 as usize)?.name;
    let names = module.parameters(module.entry);
    let arguments: Vec<String> =
        names.iter().map(|&id| format!("%{}", module.instruction(id).name)).collect();
    // The root of the entry is the last one of the text.
    let at = tiled.rfind("\n  ROOT ")? + 1;
    let shape = tiled.get(at..)?.split_once(" = ")?.1.split_once(" tuple(")?.0;
    let copies = tiled.matches(&format!("\n%{entry}.copy")).count();
    let mut out = String::with_capacity(tiled.len() + copies * 1000);
    out.push_str(tiled.get(..at)?);
    for copy in 0..copies {
        let arguments = arguments.join(", ");
        out.push_str(&format!(
            "  %call.of.{copy} = {shape} call({arguments}), to_apply=%{entry}.copy{copy}\n"
        ));
    }
    out.push_str(tiled.get(at..)?);
    Some(out)
}

fn renamed(body: &str, names: &HashSet<&str>, copy: usize, is_last: bool, out: &mut String) {
    let mut rest = body;
    while let Some(at) = rest.find('%') {
        let (before, behind) = rest.split_at(at + 1);
        match before.strip_suffix("ENTRY %") {
            Some(before) if !is_last => out.extend([before, "%"]),
            _ => out.push_str(before),
        }
        let length = behind
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte))
            .count();
        let (name, behind) = behind.split_at(length);
        out.push_str(name);
        if names.contains(name) {
            out.push_str(&format!(".copy{copy}"));
        }
        rest = behind;
    }
    out.push_str(rest);
}

/// One line to the terminal.
#[allow(clippy::print_stdout, reason = "a benchmark that reports to its caller's terminal")]
pub fn say(line: &str) {
    println!("{line}");
}
