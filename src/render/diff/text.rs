//! What changed between two sides, for a person: first what may explain all of it (another compiler),
//! then how much, why, and what.

use super::{became, cause, origin, place, rule, share, signed, told, totals, verdict, what};
use crate::render::style::{self, paint};
use crate::render::text::WIDTH;
use crate::render::wrap;
use crate::report::diff::{Alone, Became, Change, DiffReport, ModuleDiff, Reason};
use crate::report::{bytes, bytes_as_xla};
use std::fmt::Write;

/// The whole comparison.
pub fn text(report: &DiffReport) -> String {
    let mut out = String::new();
    let (same, changed): (Vec<&ModuleDiff>, Vec<&ModuleDiff>) =
        report.modules.iter().partition(|module| module.is_unchanged());
    for module in &changed {
        one(&mut out, module);
        out.push('\n');
    }
    for (word, modules) in [("added", &report.added), ("removed", &report.removed)] {
        for module in modules {
            alone(&mut out, word, module);
        }
    }
    if !same.is_empty() {
        let (count, first) = (same.len(), &same[0]);
        _ = match count {
            1 => writeln!(
                out,
                "the same  {}  {} of {}",
                first.name,
                bytes_as_xla(first.hbm.required.new_bytes),
                first.memory
            ),
            _ => writeln!(out, "the same  {count} modules"),
        };
        let builds = same.iter().find_map(|module| module.compilers.as_ref());
        if let Some(builds) = builds {
            _ = writeln!(out, "   compiled by {}, before by {}", builds.new, builds.old);
        }
    }
    gate(&mut out, report);
    if report.modules.is_empty() && report.added.is_empty() && report.removed.is_empty() {
        out.push_str("No HLO module was read.\n");
    }
    out
}

fn heading(out: &mut String, title: &str) {
    _ = writeln!(out, "\n{}", paint(style::HEADING, title));
}

fn one(out: &mut String, module: &ModuleDiff) {
    if let Some(builds) = &module.compilers {
        _ = writeln!(
            out,
            "{}: {} now, {} before: what differs may be their doing, not the program's",
            paint(style::of_level(crate::report::Level::Warn), "other compiler"),
            builds.new,
            builds.old
        );
    }
    if let Some(machines) = &module.machines {
        _ = writeln!(
            out,
            "{}: {} now, {} before",
            paint(style::of_level(crate::report::Level::Warn), "other machine"),
            machines.new,
            machines.old
        );
    }
    let was = module.old_name.as_ref().map(|old| format!(" (was {old})")).unwrap_or_default();
    _ = writeln!(out, "{}{was}", paint(style::HEADING, &module.name));
    verdict_line(out, module);
    table(out, module);
    if module.hbm.peak_live.is_none() {
        out.push_str(
            "\nNot both sides have a schedule: their buffers are not known and not compared.\n",
        );
    }
    if !module.reasons.is_empty() {
        heading(out, "Why");
        module.reasons.iter().for_each(|reason| self::reason(out, reason));
    }
    if !module.alive_at_peak.is_empty() {
        heading(out, "Alive at the peak, by cause");
        for change in &module.alive_at_peak {
            row(out, cause(change.cause), change.alive);
        }
    }
    buffers(out, module);
    kernels(out, module);
    findings(out, module);
}

fn verdict_line(out: &mut String, module: &ModuleDiff) {
    let required = module.hbm.required;
    let (word, style) = match required.new_bytes.cmp(&required.old_bytes) {
        std::cmp::Ordering::Less => ("less", style::NEW),
        std::cmp::Ordering::Greater => ("more", style::GONE),
        std::cmp::Ordering::Equal => ("as much", style::DIM),
    };
    let verdicts = match (module.verdicts.old, module.verdicts.new) {
        (old, new) if old == new => format!("{} as before", verdict(new)),
        (old, new) => format!("{}, before it {}", verdict(new), verdict(old)),
    };
    let by = match required.is_none() {
        true => String::new(),
        false => format!(" by {}", bytes(required.distance_bytes())),
    };
    let relative = share(required);
    let relative = if relative.is_empty() { relative } else { format!(" ({relative})") };
    _ = writeln!(
        out,
        "needs {}{by}{relative}: {} -> {} of {}; {verdicts}",
        paint(style, word),
        bytes_as_xla(required.old_bytes),
        bytes_as_xla(required.new_bytes),
        module.memory
    );
}

fn table(out: &mut String, module: &ModuleDiff) {
    _ = writeln!(out, "\n{:34}{:>12} {:>12} {:>13}", "", "old", "new", "change");
    for (name, change) in totals(module) {
        row(out, &name, change);
    }
}

fn row(out: &mut String, name: &str, change: Change) {
    let line = format!(
        "{name:34}{:>12} {:>12} {:>13}  {}",
        bytes(change.old_bytes),
        bytes(change.new_bytes),
        signed(change),
        share(change)
    );
    _ = writeln!(out, "{}", line.trim_end());
}

fn reason(out: &mut String, reason: &Reason) {
    let size = if reason.frees {
        Change { old_bytes: reason.size.new_bytes, new_bytes: reason.size.old_bytes }
    } else {
        reason.size
    };
    let text = format!("{:>13}  {}", signed(size), reason.message);
    wrap::write(out, &text, &" ".repeat(15), WIDTH);
}

fn buffers(out: &mut String, module: &ModuleDiff) {
    let (shown, rest) = told(module);
    if shown.is_empty() {
        return;
    }
    heading(out, "Buffers of HBM, matched by operation, opcode and shape");
    for change in &shown {
        let line = format!(
            "{:>13}  {:7}  {}  {}",
            signed(change.hbm()),
            became(change.change),
            what(change),
            origin(change)
        );
        wrap::write(out, line.trim_end(), &" ".repeat(24), WIDTH);
    }
    if !rest.is_empty() {
        _ = writeln!(out, "{:>13}  {} more (--format json)", "", rest.len());
    }
}

fn kernels(out: &mut String, module: &ModuleDiff) {
    if module.kernels.is_empty() {
        return;
    }
    heading(out, "Kernels: scoped VMEM");
    for kernel in &module.kernels {
        let counts = match (kernel.old_count, kernel.new_count) {
            (old, new) if old == new => String::new(),
            (old, new) => format!("  {old} -> {new} calls"),
        };
        _ = writeln!(
            out,
            "{:>13}  {} -> {}  {}{counts}  {}",
            signed(kernel.vmem),
            bytes(kernel.vmem.old_bytes),
            bytes(kernel.vmem.new_bytes),
            kernel.op_name,
            place(kernel.source.as_ref())
        );
    }
}

fn findings(out: &mut String, module: &ModuleDiff) {
    if module.findings.is_empty() {
        return;
    }
    heading(out, "Findings");
    for change in &module.findings {
        let word = match change.change {
            Became::New => paint(style::GONE, "new"),
            Became::Worse => paint(style::GONE, "worse"),
            Became::Better => paint(style::NEW, "better"),
            Became::Gone => paint(style::NEW, "gone"),
        };
        let words = format!(
            "{word}  {}  {}  {}",
            rule(change),
            change.finding.message,
            place(change.finding.source.as_ref())
        );
        wrap::write(out, &format!("   {}", words.trim_end()), &" ".repeat(9), WIDTH);
    }
}

fn alone(out: &mut String, word: &str, module: &Alone) {
    _ = writeln!(
        out,
        "{}  {}  {} required",
        paint(style::HEADING, word),
        module.name,
        bytes_as_xla(module.required_bytes)
    );
}

fn gate(out: &mut String, report: &DiffReport) {
    let Some(gate) = &report.gate else { return };
    for exceeded in &gate.exceeded {
        _ = writeln!(
            out,
            "{}  {} grew by {}, --max-increase {} allows {}",
            paint(style::of_level(crate::report::Level::Error), "FAILED"),
            super::named(report, exceeded),
            bytes(exceeded.increase_bytes),
            gate.max_increase,
            bytes(exceeded.allowed_bytes)
        );
    }
    if gate.holds {
        _ = writeln!(out, "no module grew by more than {}", gate.max_increase);
    }
}
