//! What `vmem` says, for a person: a row a kernel, the one nearest to its limit first; or the windows
//! of one kernel.

use super::style::{self, paint};
use crate::report::vmem::{Kernel, NewBlocks, VmemReport, Window};
use crate::report::{Level, bytes};
use std::fmt::Write;

/// How many kernels are listed.
const ROWS: usize = 20;

/// Columns of the whole.
const WIDTH: usize = super::text::WIDTH;

/// A row a kernel.
pub fn text(report: &VmemReport) -> String {
    let mut out = String::new();
    if report.kernels.is_empty() {
        if report.programs > 0 {
            _ = writeln!(out, "no Pallas kernels in {}", programs(report.programs));
        }
        return out;
    }
    let rows = alike(&report.kernels);
    head(&mut out, "  share       need   recorded  limit                 kernel");
    for (kernel, count) in rows.iter().take(ROWS) {
        row(&mut out, kernel, *count);
    }
    if rows.len() > ROWS {
        _ = writeln!(
            out,
            "{:>7}  {} more kernels, further from their limits",
            "",
            rows.len() - ROWS
        );
    }
    foot(&mut out, report);
    out
}

/// The windows of each kernel.
pub fn windows(report: &VmemReport) -> String {
    let mut out = String::new();
    for (at, (kernel, count)) in alike(&report.kernels).into_iter().enumerate() {
        if at == ROWS {
            out.push_str("\nmore kernels of that name: --format json\n");
            break;
        }
        if at > 0 {
            out.push('\n');
        }
        one(&mut out, kernel, count);
    }
    out
}

fn programs(count: usize) -> String {
    if count == 1 { "1 program".to_owned() } else { format!("{count} programs") }
}

/// Calls that differ in nothing but the instruction, each once with their number.
fn alike(kernels: &[Kernel]) -> Vec<(&Kernel, usize)> {
    let mut rows: Vec<(&Kernel, usize)> = Vec::new();
    for kernel in kernels {
        let is_same = |(other, _): &&mut (&Kernel, usize)| {
            (&other.file, &other.name, &other.source, &other.windows, &other.unknown)
                == (&kernel.file, &kernel.name, &kernel.source, &kernel.windows, &kernel.unknown)
                && (other.need_bytes, other.used_bytes, other.limit_bytes)
                    == (kernel.need_bytes, kernel.used_bytes, kernel.limit_bytes)
        };
        // Sorted by share: what is alike stands together.
        match rows.last_mut().filter(is_same) {
            Some((_, count)) => *count += 1,
            None => rows.push((kernel, 1)),
        }
    }
    rows
}

fn head(out: &mut String, text: &str) {
    _ = writeln!(out, "{}", paint(style::HEADING, text));
}

/// Red above the limit, yellow from 90% on.
fn share(kernel: &Kernel) -> String {
    let Some(share) = kernel.share else { return format!("{:>7}", "?") };
    let text = format!("{:>6.0}%", (share * 100.0).min(999_999.0));
    if kernel.exceeds.is_some() || share > 1.0 {
        paint(style::of_level(Level::Error), &text)
    } else if share >= 0.9 {
        paint(style::of_level(Level::Warn), &text)
    } else {
        text
    }
}

fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), crate::report::bytes)
}

fn limit(kernel: &Kernel) -> String {
    let source = match kernel.limit_source {
        Some("kernel") => " asked for",
        Some("flag") => " by flag",
        Some(_) => " default",
        None => "",
    };
    format!("{}{source}", size(kernel.limit_bytes))
}

fn row(out: &mut String, kernel: &Kernel, count: usize) {
    let times = if count > 1 { format!(" x{count}") } else { String::new() };
    let source = kernel.source.as_ref().map(|source| format!("  {source}")).unwrap_or_default();
    let name = clipped(&kernel.name, 34);
    let place = format!("{name}{times}{source}");
    if let Some(unknown) = &kernel.unknown {
        let recorded = size(kernel.used_bytes);
        _ = writeln!(out, "{:>7} {:>10} {recorded:>10}  {:<20}  {place}", "-", "-", "-");
        _ = writeln!(out, "{:>9}{unknown}", "");
        return;
    }
    let need = size(kernel.need_bytes);
    let recorded = size(kernel.used_bytes);
    _ = writeln!(
        out,
        "{} {need:>10} {recorded:>10}  {:<20}  {place}",
        share(kernel),
        limit(kernel)
    );
    let op_name = kernel.op_name.as_ref().map(|name| format!("  {name}")).unwrap_or_default();
    let place = clipped(&format!("in {}{op_name}", kernel.module), WIDTH - 9);
    _ = writeln!(out, "{:>9}{}", "", paint(style::DIM, &place));
    if let Some(quoted) = &kernel.quoted {
        let code = if kernel.exceeds == Some("limit") { "E1001" } else { "no code" };
        let word = if kernel.lower_bound { "fails" } else { "may fail" };
        _ = writeln!(out, "{:>9}the compile {word} ({code}) and names {quoted}", "");
        for line in remedies(kernel) {
            _ = writeln!(out, "{:>9}{line}", "");
        }
    }
}

fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + "\u{2026}"
}

fn remedies(kernel: &Kernel) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(found) = &kernel.suggestion {
        lines.extend(new_blocks("try", found));
    }
    if let Some(limit) = kernel.suggested_limit_bytes {
        let word = if lines.is_empty() { "try" } else { "or " };
        let vmem = size(kernel.vmem_bytes);
        lines.push(format!(
            "{word} vmem_limit_bytes={limit}, {} of the {vmem} there are",
            bytes(limit)
        ));
    }
    if lines.is_empty() {
        lines.push("try less scratch, or a grid over smaller blocks".to_owned());
    }
    lines
}

/// `try operand 0 (1024, 4096) -> (256, 4096), ...: then 16.00 MiB at least`.
fn new_blocks(word: &str, found: &NewBlocks) -> Vec<String> {
    const SHOWN: usize = 4;
    let mut lines: Vec<String> = Vec::new();
    for block in found.blocks.iter().take(SHOWN) {
        let lead = if lines.is_empty() { word } else { "   " };
        let change = format!("{} -> {}", tuple(&block.from), tuple(&block.to));
        lines.push(format!("{lead} blocks of {} {}: {change}", block.role, block.operand));
    }
    if found.blocks.len() > SHOWN {
        lines.push(format!("    and of {} more in the same way", found.blocks.len() - SHOWN));
    }
    let scratch = if found.scratch_changes { ", scratch of that shape too" } else { "" };
    let steps: Vec<String> = found
        .grid
        .iter()
        .map(|more| {
            format!("{} times as many steps of grid dimension {}", more.times, more.dimension)
        })
        .collect();
    lines.push(format!(
        "    {}{scratch}; then {} at least",
        steps.join(", "),
        bytes(found.total_bytes)
    ));
    lines
}

fn tuple(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("({})", sizes.join(", "))
}

fn foot(out: &mut String, report: &VmemReport) {
    let estimated = |kernel: &&Kernel| kernel.unknown.is_none();
    let mut lines = Vec::new();
    if report.kernels.iter().filter(estimated).any(|kernel| kernel.used_bytes.is_none()) {
        lines.push("need: at least; registers that the compiler spills come on top");
    }
    if report.kernels.iter().filter(estimated).any(|kernel| !kernel.lower_bound) {
        lines.push(
            "before layouts are assigned: windows are an upper bound, arrays placed in VMEM need none",
        );
    }
    if report.kernels.iter().filter(estimated).any(|kernel| kernel.limit_bytes.is_none()) {
        lines.push("the limit depends on the chip: name it with --chip");
    }
    if !lines.is_empty() {
        out.push('\n');
    }
    for line in lines {
        _ = writeln!(out, "{}", paint(style::DIM, line));
    }
}

fn one(out: &mut String, kernel: &Kernel, count: usize) {
    let source = kernel.source.as_ref().map(|source| format!("  {source}")).unwrap_or_default();
    let times = if count > 1 { format!(", {count} such calls") } else { String::new() };
    let chip = kernel.chip.as_ref().map(|chip| format!("  {chip}")).unwrap_or_default();
    head(out, &format!("{}{source}", kernel.name));
    _ = writeln!(out, "   %{} in {}{chip}{times}", kernel.instruction, kernel.module);
    if let Some(op_name) = &kernel.op_name {
        _ = writeln!(out, "   {}", clipped(op_name, WIDTH - 3));
    }
    if let Some(unknown) = &kernel.unknown {
        _ = writeln!(out, "   not estimated: {unknown}");
        return;
    }
    let percent = kernel.share.map(|share| format!(" ({:.0}%)", share * 100.0)).unwrap_or_default();
    let word = if kernel.used_bytes.is_some() { "needs" } else { "needs at least" };
    _ = writeln!(out, "   {word} {} of {}{percent}", size(kernel.need_bytes), limit(kernel));
    if !kernel.grid.is_empty() {
        let sizes: Vec<String> = kernel
            .grid
            .iter()
            .map(|size| size.map_or_else(|| "?".to_owned(), |size| size.to_string()))
            .collect();
        _ = writeln!(out, "   grid ({})", sizes.join(", "));
    }
    parts(out, kernel);
    if kernel.exceeds.is_some() {
        out.push('\n');
        for line in remedies(kernel) {
            _ = writeln!(out, "   {line}");
        }
    }
}

/// What the need is made of.
fn parts(out: &mut String, kernel: &Kernel) {
    head(out, "\n      bytes     buffers     padding  window      array                     block");
    for window in &kernel.windows {
        window_row(out, window);
    }
    for scratch in &kernel.scratch {
        let fate = if scratch.deleted { ", deleted by the compiler" } else { "" };
        _ = writeln!(
            out,
            "{:>11} {:>22}  scratch     {}, {} bits{fate}",
            bytes(scratch.bytes),
            "",
            tuple(&scratch.shape),
            scratch.element_bits
        );
    }
    for (what, size) in [
        ("run_scoped", kernel.run_scoped_bytes),
        ("internal scratch of the compiler", kernel.internal_scratch_bytes),
        ("less what the compiler deletes", kernel.deleted_bytes),
    ] {
        if let Some(size) = size.filter(|&size| size > 0) {
            _ = writeln!(out, "{:>11} {:>22}  {what}", bytes(size), "");
        }
    }
    let spills = if kernel.spills_are_usual { " (usual with matrices of this size)" } else { "" };
    match (kernel.total_bytes, kernel.used_bytes) {
        (Some(total), Some(used)) if used > total => {
            _ = writeln!(
                out,
                "{:>11} {:>22}  recorded above the estimate: spilled registers{spills}",
                bytes(used - total),
                ""
            );
            _ = writeln!(out, "{:>11} {:>22}  recorded by XLA", bytes(used), "");
        }
        (_, Some(used)) => _ = writeln!(out, "{:>11} {:>22}  recorded by XLA", bytes(used), ""),
        (Some(total), None) => {
            _ = writeln!(
                out,
                "{:>11} {:>22}  in all, without spilled registers{spills}",
                bytes(total),
                ""
            );
        }
        _ => {}
    }
}

fn window_row(out: &mut String, window: &Window) {
    let name = format!("{} {}", window.role, window.operand);
    let buffers = match window.buffers {
        0 if window.block.is_empty() => "-".to_owned(),
        0 => "in VMEM".to_owned(),
        buffers => format!("{buffers} x"),
    };
    let padding = if window.buffers > 0 && window.padded_bytes > 0 {
        let share = window.padding_bytes as f64 / window.padded_bytes as f64;
        format!("{:.0}%", share * 100.0)
    } else {
        String::new()
    };
    let block = if window.block.is_empty() { "no window".to_owned() } else { tuple(&window.block) };
    let fate = if window.deleted { ", deleted" } else { "" };
    let shape = clipped(&window.shape, 24);
    _ = writeln!(
        out,
        "{:>11} {buffers:>11} {padding:>10}  {name:<10}  {shape:<24}  {block}{fate}",
        bytes(window.bytes)
    );
}
