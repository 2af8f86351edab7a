//! What `verify` says, for a person: one line a module where everything agrees, the first
//! disagreement otherwise, sums when there are several, and the score.

use crate::report::verify::{Count, Disagreement, Figure, ModuleReport, Pair, Report};
use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(report, &mut out);
    out
}

/// The report as JSON, on one line.
pub fn json(report: &Report) -> String {
    // Nothing in the report is a map with keys that are no strings, so that this does not fail.
    serde_json::to_string(report).unwrap_or_default() + "\n"
}

fn write(report: &Report, out: &mut impl Write) -> fmt::Result {
    for module in &report.modules {
        write_module(module, out)?;
    }
    write_not_compared(report, out)?;
    if report.modules.iter().any(|module| module.figures.spaces.iter().any(|space| !space.compared))
    {
        writeln!(
            out,
            "\nVMEM (and CMEM on v4) is filled before buffer assignment, by an order the text does \
             not show: its offsets and totals are not compared."
        )?;
    }
    if report.of > 1 {
        write_scores(report, out)?;
    }
    writeln!(out, "exact: {} of {}", report.exact, report.of)
}

/// Modules without anything to compare with: the first few by name, by reason.
fn write_not_compared(report: &Report, out: &mut impl Write) -> fmt::Result {
    const SHOWN: usize = 3;
    let reasons: BTreeSet<&str> = report.not_compared.iter().map(|other| other.why).collect();
    for why in reasons {
        let files: Vec<&str> = report
            .not_compared
            .iter()
            .filter(|other| other.why == why)
            .map(|other| other.file.as_str())
            .collect();
        for file in files.iter().take(SHOWN) {
            writeln!(out, "skipped    {file}: {why}")?;
        }
        if files.len() > SHOWN {
            writeln!(out, "skipped    {} more: {why}", files.len() - SHOWN)?;
        }
    }
    Ok(())
}

fn write_module(module: &ModuleReport, out: &mut impl Write) -> fmt::Result {
    let figures = &module.figures;
    let word = match (figures.exact, figures.hbm_exact) {
        (true, _) => "exact".to_owned(),
        (false, true) => format!("{} exact", module.memory),
        (false, false) => "differs".to_owned(),
    };
    write!(out, "{word:<9}  {}", module.file)?;
    if let Some(chip) = &module.chip {
        write!(out, "  {chip}")?;
    }
    if let Some(total) = figures.total {
        match total.is_exact() {
            true => write!(out, "  {} {} bytes", module.memory, total.ours)?,
            false => {
                let less = i128::from(total.ours) - i128::from(total.xla);
                let Pair { ours, xla } = total;
                write!(out, "  {} {ours} bytes, XLA {xla} ({less:+})", module.memory)?;
            }
        }
    }
    let counts = [
        ("sizes", figures.sizes),
        ("live ranges", figures.live_ranges),
        ("allocations", figures.allocations),
        ("offsets", figures.offsets),
    ];
    for (what, count) in counts {
        if let Some(count) = count {
            write!(out, ", {} {what}", of(count))?;
        }
    }
    if !module.duplicates.is_empty() {
        write!(out, ", and {} equal modules", module.duplicates.len())?;
    }
    writeln!(out)?;
    for note in &module.notes {
        writeln!(out, "  note: {note}")?;
    }
    if let Some(first) = &figures.first_disagreement {
        write_disagreement(first, out)?;
        writeln!(out, "  compiler: {}", module.compiler)?;
        for caveat in &module.caveats {
            writeln!(out, "  note: {caveat}")?;
        }
    }
    Ok(())
}

/// `45`, or `44 of 45`.
fn of(count: Count) -> String {
    match count.is_exact() {
        true => count.of.to_string(),
        false => format!("{} of {}", count.equal, count.of),
    }
}

fn write_disagreement(first: &Disagreement, out: &mut impl Write) -> fmt::Result {
    let figure = match first.figure {
        Figure::Size => "size",
        Figure::Value => "value",
        Figure::Schedule => "schedule",
        Figure::LiveRange => "live range",
        Figure::Peak => "peak",
        Figure::XlaLiveRangePeak => "XLA's live-range peak",
        Figure::Allocation => "allocation",
        Figure::Offset => "place",
        Figure::Total => "total",
        Figure::Required => "required",
    };
    write!(out, "  first: {figure} of {}: ours {}, XLA {}", first.subject, first.ours, first.xla)?;
    let section = match first.figure {
        Figure::LiveRange => "live ranges",
        _ => "buffer assignment",
    };
    match first.line {
        Some(line) => writeln!(out, " (line {line} of the {section})"),
        None => writeln!(out),
    }
}

fn write_scores(report: &Report, out: &mut impl Write) -> fmt::Result {
    let scores = &report.scores;
    let is_tpu = report.modules.iter().any(|module| module.backend == "tpu");
    let memory = if is_tpu { "HBM" } else { "memory" };
    let (peaks, totals, required) =
        (format!("{memory} live peaks"), format!("{memory} totals"), format!("{memory} required"));
    let rows = [
        ("sizes", scores.sizes),
        ("schedules", scores.schedules),
        ("live ranges", scores.live_ranges),
        (peaks.as_str(), scores.peaks),
        ("XLA live-range peaks", scores.xla_live_range_peaks),
        (totals.as_str(), scores.hbm_totals),
        (required.as_str(), scores.required),
        ("totals of all spaces", scores.space_totals),
        ("allocation lists", scores.allocation_lists),
        ("allocations", scores.allocations),
        ("offsets", scores.offsets),
    ];
    writeln!(out, "\n{:<22}{:>9}{:>9}", "", "equal", "of")?;
    for (what, count) in rows {
        writeln!(out, "{what:<22}{:>9}{:>9}", count.equal, count.of)?;
    }
    writeln!(out)
}
