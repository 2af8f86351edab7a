//! A report, or a comparison of two, with what its viewer needs in; one page that needs nothing else,
//! out.
//!
//! The data stand in the page once, packed: JSON, gzip, base64. What a dump says is in that block and
//! nowhere else in the page but for escaped names, and the page's script writes it as text alone, so
//! that nothing of it is ever markup.

use crate::report::diff::ModuleDiff;
use crate::report::report::Module;
use crate::report::viewer::{DiffViewer, Viewer};
use crate::report::{Verdict, bytes};
use askama::Template;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::io::Write;

/// The page's style: what all pages have, then what a comparison's has.
const STYLE: &str = concat!(include_str!("viewer.css"), include_str!("diff.css"));

/// The page's script: pieces of one idea each, one after another. Nothing is built.
const SCRIPT: &str = concat!(
    include_str!("script/tools.js"),
    include_str!("script/span.js"),
    include_str!("script/gestures.js"),
    include_str!("script/headline.js"),
    include_str!("script/modules.js"),
    include_str!("script/start.js"),
    include_str!("script/findings.js"),
    include_str!("script/module.js"),
    include_str!("script/plot.js"),
    include_str!("script/curve.js"),
    include_str!("script/map.js"),
    include_str!("script/filter.js"),
    include_str!("script/rows.js"),
    include_str!("script/table.js"),
    include_str!("script/card.js"),
    include_str!("script/treemap.js"),
    include_str!("script/parameters.js"),
    include_str!("script/kernels.js"),
    include_str!("script/facts.js"),
    include_str!("script/change.js"),
    include_str!("script/diff_start.js"),
    include_str!("script/diff_headline.js"),
    include_str!("script/diff_curves.js"),
    include_str!("script/diff_buffers.js"),
    include_str!("script/diff.js"),
    include_str!("script/state.js"),
    include_str!("script/keys.js"),
    include_str!("script/main.js"),
);

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: &'a str,
    version: &'static str,
    style: &'static str,
    script: &'static str,
    /// What a reader without scripts gets.
    lines: Vec<String>,
    data: String,
}

/// The page of a report.
///
/// # Errors
/// Where the data cannot be packed.
pub fn report(viewer: &Viewer) -> Result<String, Box<dyn std::error::Error>> {
    let modules = &viewer.report.modules;
    let title = match modules.as_slice() {
        [module] => module.summary.name.clone(),
        modules => format!("{} modules", modules.len()),
    };
    page(&title, modules.iter().map(line).collect(), viewer)
}

/// The page of a comparison.
///
/// # Errors
/// Where the data cannot be packed.
pub fn diff(viewer: &DiffViewer) -> Result<String, Box<dyn std::error::Error>> {
    let diff = &viewer.diff;
    let title = match diff.modules.as_slice() {
        [module] if diff.added.is_empty() && diff.removed.is_empty() => {
            format!("What changed: {}", module.name)
        }
        _ => "What changed".to_owned(),
    };
    page(&title, diff.modules.iter().map(changed_line).collect(), viewer)
}

fn page<T: Serialize>(
    title: &str,
    lines: Vec<String>,
    data: &T,
) -> Result<String, Box<dyn std::error::Error>> {
    let page = Page {
        title,
        version: env!("CARGO_PKG_VERSION"),
        style: STYLE,
        script: SCRIPT,
        lines,
        data: packed(data)?,
    };
    Ok(page.render()?)
}

/// JSON, gzip, base64.
fn packed<T: Serialize>(data: &T) -> Result<String, Box<dyn std::error::Error>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&serde_json::to_vec(data)?)?;
    Ok(BASE64_STANDARD.encode(encoder.finish()?))
}

fn changed_line(module: &ModuleDiff) -> String {
    let required = module.hbm.required;
    let [old, new] = [required.old_bytes, required.new_bytes].map(bytes);
    format!("{}: {old} before, {new} now", module.name)
}

fn line(module: &Module) -> String {
    let summary = &module.summary;
    let hbm = &summary.hbm;
    let verdict = match summary.verdict {
        Verdict::DoesNotFit => "does not fit",
        Verdict::Fits => "fits",
        Verdict::FitsAtLeast => "fits as far as is known",
        Verdict::NoLimit | Verdict::Unknown => "no limit known",
    };
    let available =
        hbm.available_bytes.map_or(String::new(), |available| format!(" of {}", bytes(available)));
    format!("{}: {verdict}, {}{available}", summary.name, bytes(hbm.required_bytes))
}
