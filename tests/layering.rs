//! Rooms import one way: every `crate::` path of `src/` is held against the table in
//! `docs/architecture.md`. Test modules are held to it, too, but for the ones named here.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper of a test fails by panicking

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Test modules that import what their room may not: file, room, why.
const TESTS_MAY: &[(&str, &str, &str)] = &[
    ("target/tpu/mosaic/estimate.rs", "text", "its tests read the kernels of testdata"),
    ("target/tpu/mosaic/suggestion.rs", "text", "its tests read the kernels of testdata"),
];

/// Room → the rooms it may import, as the table of the document says.
fn table() -> BTreeMap<String, Vec<String>> {
    let document = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `src/"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let room = cells[0].trim_end_matches(['/', '`']).to_owned();
        let allowed = cells[2].split(',').map(|name| name.trim().to_owned());
        (room, allowed.filter(|name| name != "–").collect())
    })
    .collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files under a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    files
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// A path that starts at the crate's root: the room it leads to, and the line it stands in.
#[derive(Debug, PartialEq)]
struct Import {
    room: String,
    line: usize,
}

/// All imports of a file, `depth` modules below the crate (1 for `room/mod.rs`).
fn imports(text: &str, depth: usize) -> Vec<Import> {
    let code = without_comments(text);
    let line_of = |at: usize| 1 + code[..at].matches('\n').count();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let behind = &code[at + "crate::".len()..];
        for room in first_names(behind) {
            found.push(Import { room, line: line_of(at) });
        }
    }
    // `super::` leads to another room where it climbs above the file's own.
    let mut at = 0;
    while let Some(next) = code[at..].find("super::") {
        at += next;
        let mut climbs = 0;
        let start = at;
        while code[at..].starts_with("super::") {
            climbs += 1;
            at += "super::".len();
        }
        if climbs >= depth + inline_modules_around(&code, start) {
            for room in first_names(&code[at..]) {
                found.push(Import { room, line: line_of(start) });
            }
        }
    }
    found
}

/// The names that a path goes on with: `a` of `a::b`, `a` and `c` of `{a::b, c}`.
fn first_names(path: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(list) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut depth, mut names, mut item) = (0, Vec::new(), String::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(std::mem::take(&mut item)),
            _ => {}
        }
        if c != ',' || depth > 0 {
            item.push(c);
        }
    }
    names.push(item);
    names.iter().map(|item| word(item)).filter(|name| !name.is_empty()).collect()
}

/// How many `mod x { .. }` of this file a place sits in.
fn inline_modules_around(code: &str, at: usize) -> usize {
    let mut open: Vec<bool> = Vec::new();
    let mut line_start = 0;
    for (position, c) in code[..at].char_indices() {
        match c {
            '{' => {
                let line = code[line_start..position].trim_start();
                let words: Vec<&str> = line.split_whitespace().collect();
                open.push(words.contains(&"mod"));
            }
            '}' => _ = open.pop(),
            '\n' => line_start = position + 1,
            _ => {}
        }
    }
    open.iter().filter(|is_module| **is_module).count()
}

/// The text with comments blanked; line breaks stay.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        if !line.trim_start().starts_with("//") {
            code.push_str(line);
        }
        code.push('\n');
    }
    code
}

#[test]
fn rooms_import_as_the_table_says() {
    let table = table();
    let mut wrong = Vec::new();
    for path in sources(&root().join("src")) {
        let place = path.strip_prefix(root().join("src")).unwrap();
        let parts: Vec<&str> = place.iter().map(|part| part.to_str().unwrap()).collect();
        let room = parts[0].trim_end_matches(".rs");
        if parts.len() == 1 && ["lib", "main"].contains(&room) {
            continue;
        }
        let Some(allowed) = table.get(room) else {
            wrong.push(format!("src/{}: no room of the table", place.display()));
            continue;
        };
        let is_folder = parts.last() == Some(&"mod.rs");
        let depth = parts.len() - usize::from(is_folder);
        let text = fs::read_to_string(&path).unwrap();
        let tests_start = text.lines().position(|line| line.trim() == "#[cfg(test)]");
        for Import { room: to, line } in imports(&text, depth) {
            let is_named =
                TESTS_MAY.iter().any(|(file, other, _)| place.ends_with(file) && to == *other);
            let is_excepted = is_named && tests_start.is_some_and(|start| line > start);
            if to != room && !allowed.contains(&to) && !is_excepted {
                wrong.push(format!(
                    "src/{}:{line}: {room} imports {to}; it may import {}",
                    place.display(),
                    if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") }
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "imports against docs/architecture.md:\n{}", wrong.join("\n"));
}

#[test]
fn the_table_names_the_rooms_there_are_and_goes_one_way() {
    let table = table();
    let mut rooms: Vec<String> = fs::read_dir(root().join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    rooms.sort();
    assert_eq!(table.keys().cloned().collect::<Vec<_>>(), rooms);
    for (room, allowed) in &table {
        for other in allowed {
            let back = table.get(other).unwrap_or_else(|| panic!("no room {other}"));
            assert!(!back.contains(room), "{room} and {other} import each other");
        }
    }
}

/// The reader of imports itself: each form of a path is seen.
#[test]
fn every_form_of_import_is_seen() {
    let cases: &[(&str, usize, &[&str])] = &[
        ("use crate::hlo::Shape;", 2, &["hlo"]),
        ("use crate::{hlo::{Shape, Layout}, text, graph as g};", 2, &["hlo", "text", "graph"]),
        ("use crate::{\n    hlo,\n    memory::Edit,\n};", 2, &["hlo", "memory"]),
        ("fn f() -> crate::report::Level {", 2, &["report"]),
        ("pub(crate) fn f() {}", 2, &[]),
        ("// use crate::hlo;\n/// [`crate::text`]", 2, &[]),
        ("use super::sibling;", 2, &[]),
        ("use super::super::lint::Finding;", 2, &["lint"]),
        ("use super::lint;", 1, &["lint"]),
        ("mod tests {\n    use super::f;\n}", 1, &[]),
        ("mod tests {\n    use super::super::lint;\n}", 1, &["lint"]),
        ("fn f() {}\nmod tests {\n    use super::super::sibling;\n}", 2, &[]),
    ];
    for (text, depth, expected) in cases {
        let rooms: Vec<String> = imports(text, *depth).into_iter().map(|i| i.room).collect();
        assert_eq!(rooms, *expected, "{text}");
    }
}
