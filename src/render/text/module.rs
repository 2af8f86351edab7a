//! One module: its name, the verdict, what is alive, its findings.

use super::{Options, finding, peak, way_out};
use crate::render::style::{self, paint};
use crate::render::wrap;
use crate::report::{
    Finding, Level, ModuleReport, Unit, Verdict, bytes, bytes_as_xla, fine_percent, percent,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Findings of one rule and level that are told one by one in a module.
const OF_ONE_RULE: usize = 6;

/// Everything about a module.
pub(super) fn full(
    out: &mut String,
    module: &ModuleReport,
    findings: &[&Finding],
    options: Options<'_>,
) {
    heading(out, module, options);
    verdict(out, module);
    if !module.duplicates.is_empty() {
        _ = writeln!(out, "{}", paint(style::DIM, same(module).trim()));
    }
    for caveat in &module.caveats {
        for line in wrap::lines(caveat, "   ", options.width) {
            _ = writeln!(out, "{}", paint(style::DIM, &line));
        }
    }
    if options.verbose {
        split(out, module);
    }
    match &module.peak {
        Some(peak) => peak::alive(out, module, peak, options),
        None => _ = writeln!(out, "peak unknown: not scheduled"),
    }
    findings_of(out, findings, options);
    if let Some(found) = module.way_out.as_ref().filter(|_| !findings.is_empty()) {
        way_out::way_out(out, found, options);
    }
}

/// The findings in full; of many of one rule and level the first few, the rest as a count.
fn findings_of(out: &mut String, findings: &[&Finding], options: Options<'_>) {
    let most = if options.verbose { usize::MAX } else { OF_ONE_RULE };
    let mut seen: BTreeMap<(Level, &str), usize> = BTreeMap::new();
    for found in findings {
        let count = seen.entry((found.level, found.rule)).or_default();
        *count += 1;
        if *count <= most {
            out.push('\n');
            finding::full(out, found, options);
        }
    }
    for ((level, rule), count) in seen {
        if let Some(more) = count.checked_sub(most).filter(|&more| more > 0) {
            let words = format!("{more} more {}[{rule}]  (all: --verbose)", level.as_str());
            _ = writeln!(out, "\n{}", paint(style::DIM, &words));
        }
    }
}

/// A healthy module in one line.
pub(super) fn one_line(
    out: &mut String,
    module: &ModuleReport,
    name: &str,
    width: usize,
    options: Options<'_>,
) {
    let hbm = &module.hbm;
    let available = hbm.available_bytes.unwrap_or(0);
    let word = match module.verdict {
        Verdict::NoLimit => "needs",
        _ => "fits",
    };
    _ = write!(out, "{}", paint(style::of_verdict(module.verdict), word));
    let mut needs = format!("  {name:width$}  ");
    _ = match module.verdict {
        Verdict::NoLimit => {
            write!(needs, "{} of {}", bytes_as_xla(hbm.required_bytes), module.memory)
        }
        _ => write!(
            needs,
            "{} ({})",
            of(hbm.required_bytes, available),
            fine_percent(hbm.required_bytes, available),
        ),
    };
    let same = same(module);
    let mut lines = vec![format!("{needs}{same}")];
    let largest = module.peak.as_ref().and_then(|peak| peak.largest.as_ref());
    if let Some(row) = largest {
        let needs = format!("{needs}  largest {} {}", row.label, bytes(row.bytes));
        lines.push(format!("{needs}{same}"));
        lines.extend(row.source.as_ref().map(|source| format!("{needs}, {source}{same}")));
    }
    let left = options.width.saturating_sub(word.len());
    _ = writeln!(out, "{}", wrap::first_that_fits(lines.into_iter().rev(), left));
}

/// `0.24 of 15.75 GiB`; two units where the first figure would be small in the second's.
fn of(needed: u64, available: u64) -> String {
    if needed < available / 1000 {
        return format!("{} of {}", bytes_as_xla(needed), bytes_as_xla(available));
    }
    format!("{} of {}", Unit::of(available).number_as_xla(needed), bytes_as_xla(available))
}

/// `  (the same in 12 other files)`.
fn same(module: &ModuleReport) -> String {
    match module.duplicates.len() {
        0 => String::new(),
        1 => "  (the same in 1 other file)".to_owned(),
        count => format!("  (the same in {count} other files)"),
    }
}

fn heading(out: &mut String, module: &ModuleReport, options: Options<'_>) {
    let machine = machine(module);
    let (used, length) = (module.name.chars().count(), machine.chars().count());
    out.push_str(&paint(style::HEADING, &module.name));
    match options.width.checked_sub(used + length).filter(|&gap| gap >= 2) {
        Some(gap) => out.push_str(&" ".repeat(gap)),
        None => _ = write!(out, "\n{}", " ".repeat(options.width.saturating_sub(length))),
    }
    _ = writeln!(out, "{machine}");
}

/// `TPU v5e, 32 devices, mesh "data"=8 x "model"=4`.
pub(in crate::render) fn machine(module: &ModuleReport) -> String {
    let mut words = module.backend.to_uppercase();
    if let Some(chip) = &module.chip {
        _ = write!(words, " {chip}");
    }
    _ = write!(words, ", {} device{}", module.devices, if module.devices == 1 { "" } else { "s" });
    let axes: Vec<String> =
        module.mesh.iter().map(|axis| format!("\"{}\"={}", axis.name, axis.size)).collect();
    if module.devices > 1 && !axes.is_empty() {
        _ = write!(words, ", mesh {}", axes.join(" x "));
    }
    words
}

fn verdict(out: &mut String, module: &ModuleReport) {
    let hbm = &module.hbm;
    let each = if module.devices > 1 { " on each device" } else { "" };
    let word = |text: &str| paint(style::of_verdict(module.verdict), text);
    let needed = bytes_as_xla(hbm.required_bytes);
    let available = hbm.available_bytes.map(bytes_as_xla).unwrap_or_default();
    let least = if module.figures == "lower-bound" { "at least " } else { "" };
    _ = match module.verdict {
        Verdict::DoesNotFit => writeln!(
            out,
            "{}   {least}{needed} needed{each}, {available} available: {} too much",
            word("DOES NOT FIT"),
            in_unit_of(hbm.exceeded_bytes(), hbm.required_bytes),
        ),
        Verdict::Fits => writeln!(
            out,
            "{}   {needed} of {available}{each} ({})",
            word("fits"),
            fine_percent(hbm.required_bytes, hbm.available_bytes.unwrap_or(0)),
        ),
        Verdict::FitsAtLeast => writeln!(
            out,
            "{}   at least {needed} of {available} needed{each} ({})",
            word("not known whether it fits"),
            fine_percent(hbm.required_bytes, hbm.available_bytes.unwrap_or(0)),
        ),
        Verdict::NoLimit => writeln!(out, "{least}{needed} of {} needed{each}", module.memory),
        Verdict::Unknown => {
            writeln!(out, "{least}{needed} needed{each}; {}", word("the capacity is not known"))
        }
    };
    if hbm.sparsecore_bytes > 0 {
        _ = writeln!(
            out,
            "of it {} for SparseCores, in no allocation of the text",
            bytes_as_xla(hbm.sparsecore_bytes)
        );
    }
}

/// A size in the unit in which another reads best, where it does not vanish there.
fn in_unit_of(size_bytes: u64, other_bytes: u64) -> String {
    let unit = Unit::of(other_bytes);
    let number = unit.number_as_xla(size_bytes);
    if number == "0.00" { bytes_as_xla(size_bytes) } else { format!("{number} {}", unit.as_str()) }
}

fn first_upper(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The split of the device's memory, the other memory spaces, the rules that were used.
fn split(out: &mut String, module: &ModuleReport) {
    let hbm = &module.hbm;
    let total = (bytes(hbm.total_bytes), hbm.total_bytes);
    _ = writeln!(out, "\n{} in all  {}  ({} bytes)", first_upper(&module.memory), total.0, total.1);
    let donated = format!("parameters (donated: {})", bytes(hbm.aliased_bytes));
    let parts = [
        (donated.as_str(), hbm.parameters_bytes),
        ("results", hbm.outputs_bytes),
        ("constants", hbm.constants_bytes),
        ("thread-local", hbm.thread_local_bytes),
        ("temporaries at the peak", hbm.temporaries_bytes),
        ("packing, alignment, tuple tables", hbm.fragmentation_bytes),
    ];
    for (name, size) in parts {
        _ = writeln!(out, "   {:>12}  {:>4}  {name}", bytes(size), percent(size, hbm.total_bytes));
    }
    for space in &module.spaces {
        let name = format!("memory space {} ({})", space.memory_space, space.name);
        _ = writeln!(out, "   {:>12}        {name}", bytes(space.total_bytes));
    }
    if let Some(limits) = module.gpu_limits {
        let (scheduler, remat) = (limits.scheduler_bytes, limits.rematerialization_bytes);
        _ = writeln!(
            out,
            "   limits    scheduler {}, rematerialization {}",
            bytes(scheduler),
            bytes(remat)
        );
    }
    _ = writeln!(out, "   text      {} ({})", module.file, module.stage);
    _ = writeln!(out, "   compiler  {}", module.compiler);
}
