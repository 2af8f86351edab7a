//! Snapshots as the text that is kept, and what changed in them for a person.

mod changes;

use super::text::module::machine;
use crate::report::report::Kernel;
use crate::report::snapshot::{HEAD, Line, Said, Snapshot};
use crate::report::{Group, ModuleReport, Row, Source, Verdict};
use std::fmt::Write;

pub use changes::changes;

/// A snapshot as text. Every line of figures has two columns of bytes, the second without padding or,
/// for findings, what the first remedy saves; `-` where there is none.
pub fn text(snapshot: &Snapshot) -> String {
    let mut out = format!("{HEAD}\n");
    head(&mut out, snapshot);
    split(&mut out, snapshot);
    alive(&mut out, snapshot);
    buffers(&mut out, snapshot);
    if !snapshot.kernels.is_empty() {
        out.push_str("\nkernels (bytes of scoped VMEM needed, allowed)\n");
        snapshot.kernels.iter().for_each(|kernel| self::kernel(&mut out, kernel));
    }
    out.push_str("\nfindings (bytes, saved by the first remedy)\n");
    snapshot.findings.iter().for_each(|finding| self::finding(&mut out, finding));
    if snapshot.findings.is_empty() {
        out.push_str("  none\n");
    }
    out
}

fn head(out: &mut String, snapshot: &Snapshot) {
    let summary = &snapshot.summary;
    let verdict = match summary.verdict {
        Verdict::DoesNotFit => "does not fit",
        Verdict::Fits => "fits",
        Verdict::NoLimit => "no limit",
        Verdict::FitsAtLeast => "not known whether it fits",
        Verdict::Unknown => "the capacity is not known",
    };
    _ = writeln!(out, "module     {}", summary.name);
    _ = writeln!(out, "compiler   {}", snapshot.compiler);
    _ = writeln!(out, "machine    {}", machine(summary));
    _ = writeln!(out, "text       {}, figures {}", summary.stage, summary.figures);
    _ = writeln!(out, "arguments  {}, signature {}", snapshot.arguments, snapshot.signature);
    _ = writeln!(out, "verdict    {verdict}");
}

/// A line of figures.
fn line(out: &mut String, bytes: Option<u64>, other: Option<u64>, words: &str) {
    let number = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
    let text = format!("  {:>14} {:>14}  {words}", number(bytes), number(other));
    _ = writeln!(out, "{}", text.trim_end());
}

fn split(out: &mut String, snapshot: &Snapshot) {
    let (summary, hbm) = (&snapshot.summary, &snapshot.summary.hbm);
    _ = writeln!(out, "\n{} of one device (bytes)", summary.memory);
    if hbm.capacity_bytes.is_some() {
        line(out, hbm.capacity_bytes, None, "capacity");
    }
    if hbm.available_bytes != hbm.capacity_bytes {
        line(out, hbm.available_bytes, None, "available");
    }
    line(out, Some(hbm.required_bytes), None, "required");
    if hbm.sparsecore_bytes > 0 {
        line(out, Some(hbm.sparsecore_bytes), None, "  embedding tables of SparseCores");
    }
    line(out, Some(hbm.total_bytes), None, "all");
    if hbm.peak_live_bytes.is_some() {
        line(out, hbm.peak_live_bytes, None, "alive at the peak");
    }
    let parts = [
        (hbm.parameters_bytes, "  parameters"),
        (hbm.aliased_bytes, "    donated"),
        (hbm.outputs_bytes, "  results"),
        (hbm.constants_bytes, "  constants"),
        (hbm.temporaries_bytes, "  temporaries at the peak"),
        (hbm.thread_local_bytes, "thread-local"),
        (hbm.fragmentation_bytes, "packing, alignment, tuple tables"),
        (snapshot.padding_bytes, "padding at the peak"),
    ];
    for (bytes, name) in parts {
        line(out, Some(bytes), None, name);
    }
    for space in &summary.spaces {
        let name = format!("memory space {} ({})", space.memory_space, space.name);
        line(out, Some(space.total_bytes), None, &name);
    }
}

fn alive(out: &mut String, snapshot: &Snapshot) {
    match &snapshot.summary.peak {
        None => out.push_str("\nalive at the peak: unknown, not scheduled\n"),
        Some(_) => {
            _ = writeln!(
                out,
                "\nalive at the peak{} (bytes, without padding)",
                moment(&snapshot.summary)
            );
            for group in &snapshot.alive.groups {
                self::group(out, group, snapshot.cutoff_bytes);
            }
        }
    }
}

/// `, backward pass, in a loop, at models.py attention`.
fn moment(summary: &ModuleReport) -> String {
    let mut words = String::new();
    let Some(peak) = &summary.peak else { return words };
    if peak.backward {
        words.push_str(", backward pass");
    }
    if peak.in_loop {
        words.push_str(", in a loop");
    }
    let place = place(peak.source.as_ref());
    if !place.is_empty() {
        _ = write!(words, ", at {place}");
    }
    words
}

fn group(out: &mut String, group: &Group, cutoff_bytes: u64) {
    let unpadded = group.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.unpadded_bytes));
    let source = place(group.source.as_ref());
    line(out, Some(group.bytes), Some(unpadded), &join(&[group.title.as_str(), &source]));
    if let [row] = group.rows.as_slice()
        && group.title.starts_with(&row.label)
    {
        return;
    }
    let is_shown = |row: &&Row| row.bytes / row.count.max(1) >= cutoff_bytes;
    let (shown, rest): (Vec<&Row>, Vec<&Row>) = group.rows.iter().partition(is_shown);
    for row in &shown {
        let words = [&times(row.count, &row.label), &row.operation, &place(row.source.as_ref())];
        let words = join(&words.map(String::as_str));
        line(out, Some(row.bytes), Some(row.unpadded_bytes), &format!("  {words}"));
    }
    if !rest.is_empty() && !shown.is_empty() {
        let count: u64 = rest.iter().map(|row| row.count).sum();
        let sum = |of: fn(&Row) -> u64| {
            Some(rest.iter().fold(0_u64, |sum, row| sum.saturating_add(of(row))))
        };
        let words = format!("  {count} smaller");
        line(out, sum(|row| row.bytes), sum(|row| row.unpadded_bytes), &words);
    }
}

fn buffers(out: &mut String, snapshot: &Snapshot) {
    _ = writeln!(
        out,
        "\nbuffers of {} bytes and more, * alive at the peak (bytes, without padding)",
        snapshot.cutoff_bytes
    );
    for Line { equal, sharding } in &snapshot.buffers {
        let key = &equal.key;
        let mark = if equal.alive > 0 { "*" } else { " " };
        let kind = if key.is_donated { "donated" } else { key.kind.as_str() };
        let name = if key.op_name.is_empty() { "(no op_name)" } else { &key.op_name };
        let words = [
            times(equal.count, name),
            if key.opcode == "parameter" { String::new() } else { key.opcode.clone() },
            key.shape.clone(),
            sharding.clone().unwrap_or_default(),
            place(equal.source.as_ref()),
        ];
        let words = join(&words.each_ref().map(String::as_str));
        line(
            out,
            Some(equal.bytes),
            Some(equal.unpadded_bytes),
            &format!("{mark} {kind}  {words}"),
        );
    }
    if snapshot.small_count > 0 {
        let words = format!("  {} smaller", snapshot.small_count);
        line(out, Some(snapshot.small_bytes), None, &words);
    }
}

fn kernel(out: &mut String, kernel: &Kernel) {
    let (needed, how) = match (kernel.recorded_vmem_bytes, kernel.estimated_vmem_bytes) {
        (Some(recorded), _) => (Some(recorded), "recorded"),
        (None, Some(estimate)) => (Some(estimate), "estimated"),
        (None, None) => (None, "not known"),
    };
    let words = join(&[how, &kernel.op_name, &place(kernel.source.as_ref())]);
    line(out, needed, kernel.vmem_limit_bytes, &words);
}

fn finding(out: &mut String, finding: &Said) {
    let rule = format!("{}[{}]", finding.level.0.as_str(), finding.rule);
    let words = join(&[&rule, &finding.message, &finding.op_name]);
    line(out, Some(finding.bytes), finding.saving_bytes, &words);
}

/// `models.py attention`: no line number, which an edit elsewhere in the file moves.
fn place(source: Option<&Source>) -> String {
    let Some(source) = source else { return String::new() };
    let file = source.file.rsplit(['/', '\\']).next().unwrap_or(&source.file);
    format!("{file} {}", source.function).trim_end().to_owned()
}

/// `2 x bf16[8]`.
fn times(count: u64, what: &str) -> String {
    if count == 1 { what.to_owned() } else { format!("{count} x {what}") }
}

/// The words that are there, two spaces between.
fn join(words: &[&str]) -> String {
    let words = words.iter().filter(|word| !word.is_empty());
    words.copied().collect::<Vec<_>>().join("  ")
}
