//! How many error texts of a folder are read right: `cargo run --example logs -- FOLDER`.
//!
//! The folder holds texts and an `INDEX.md` whose table says of each text its category and the
//! figures that stand in it: `| file | category | figures | what |`.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use hlolint::log::{self, Log, Size};
use std::path::Path;

fn main() {
    let Some(folder) = std::env::args().nth(1) else {
        println!("usage: logs FOLDER");
        return;
    };
    let folder = Path::new(&folder);
    let Ok(index) = std::fs::read_to_string(folder.join("INDEX.md")) else {
        println!("skipped: no INDEX.md in {}", folder.display());
        return;
    };
    let (mut texts, mut right, mut figures) = (0, 0, 0);
    for row in index.lines().filter_map(row) {
        let (file, category, expected) = row;
        let Ok(bytes) = std::fs::read(folder.join(file)) else {
            println!("{file}: cannot be read");
            continue;
        };
        texts += 1;
        let found = log::read(&bytes);
        let mut wrong = Vec::new();
        if self::category(&found) != category {
            wrong.push(format!("category {}, not {category}", self::category(&found)));
        }
        for figure in expected.split(&[',', ';'][..]).map(str::trim).filter(|f| *f != "none") {
            figures += 1;
            if !says(&found, figure) {
                wrong.push(format!("figure '{figure}'"));
            }
        }
        if wrong.is_empty() {
            right += 1;
        } else {
            println!("{file}: {}", wrong.join("; "));
        }
    }
    println!("{right} of {texts} texts right ({figures} figures)");
}

fn row(line: &str) -> Option<(&str, &str, &str)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let row = (cells.next()?, cells.next()?, cells.next()?);
    Path::new(row.0).extension().is_some_and(|extension| extension == "log").then_some(row)
}

fn category(log: &Log) -> String {
    match log.incidents.as_slice() {
        [] if log.other_error.is_some() => "other".to_owned(),
        [] => "no error".to_owned(),
        [incident] => match &incident.code {
            Some(code) => format!("{} {code}", incident.category.as_str()),
            None => incident.category.as_str().to_owned(),
        },
        many => format!("{} incidents", many.len()),
    }
}

/// Whether a log says a figure: `needs 16.38G`, `over by 4.44G`, `hbm: 8 bytes of 4 bytes`.
fn says(log: &Log, figure: &str) -> bool {
    let incident = log.incidents.first();
    let usage = incident.and_then(|i| i.usage.as_ref()).or(log.usage.as_ref());
    let output = incident.and_then(|i| i.output.as_ref()).or(log.output.as_ref());
    let remat = incident.and_then(|i| i.remat.as_ref()).or(log.remat.as_ref());
    let needed = incident.and_then(|i| i.needed.as_ref());
    let available = incident.and_then(|i| i.available.as_ref());
    let is = |size: Option<&Size>, text: &str| size.is_some_and(|size| size.text == text);
    let words: Vec<&str> = figure.split(' ').collect();
    match words.as_slice() {
        ["used", a, "of", b] => is(needed, a) && is(available, b),
        ["needs", a] | ["scoped", "vmem:", "size", a] => is(needed, a),
        ["has", a] | ["limit", a] => is(available, a),
        ["over", "by", a] => is(incident.and_then(|i| i.exceeded.as_ref()), a),
        ["reserved", a] => is(usage.and_then(|u| u.reserved.as_ref()), a),
        ["program", a] => is(usage.and_then(|u| u.program.as_ref()), a),
        ["arguments", a] => is(usage.and_then(|u| u.arguments.as_ref()), a),
        ["output", a] => is(output.map(|o| &o.size), a),
        ["shared", a] => is(output.map(|o| &o.shared), a),
        ["remat", "limit", a] => is(remat.map(|r| &r.limit), a),
        ["reached", a] => is(remat.map(|r| &r.reached), a),
        ["buffer", a, "bytes"] => is(needed, a),
        [space, a, "bytes", "of", b, "bytes"] => {
            let named = incident.and_then(|i| i.space.as_deref());
            named == space.strip_suffix(':') && is(needed, a) && is(available, b)
        }
        _ => false,
    }
}
