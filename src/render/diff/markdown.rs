//! What changed between two sides as Markdown, for a comment on a pull request: a table of all
//! modules, the details of each folded away.

use super::{became, origin, rule, share, signed, told, totals, verdict, what};
use crate::render::markdown::escaped;
use crate::report::diff::{Became, Change, DiffReport, ModuleDiff};
use crate::report::{bytes, bytes_as_xla};
use std::fmt::Write;

/// The whole comparison.
pub fn markdown(report: &DiffReport) -> String {
    let mut out = String::from("### Memory\n\n");
    if let Some(gate) = &report.gate {
        for exceeded in &gate.exceeded {
            _ = writeln!(
                out,
                "**{} grew by {}**: {} allows {}\n",
                escaped(&super::named(report, exceeded)),
                bytes(exceeded.increase_bytes),
                gate.max_increase,
                bytes(exceeded.allowed_bytes)
            );
        }
    }
    for builds in report.modules.iter().filter_map(|module| module.compilers.as_ref()).take(1) {
        _ = writeln!(
            out,
            "Other compiler: {} now, {} before. What differs may be its doing.\n",
            escaped(&builds.new),
            escaped(&builds.old)
        );
    }
    out.push_str("| module | before | now | change | |\n| --- | ---: | ---: | ---: | --- |\n");
    let (same, changed): (Vec<&ModuleDiff>, Vec<&ModuleDiff>) =
        report.modules.iter().partition(|module| module.is_unchanged());
    changed.iter().for_each(|module| summary(&mut out, module));
    for (word, modules) in [("added", &report.added), ("removed", &report.removed)] {
        for module in modules {
            let (name, size) = (escaped(&module.name), bytes_as_xla(module.required_bytes));
            let (before, now) =
                if word == "added" { ("", size.as_str()) } else { (size.as_str(), "") };
            _ = writeln!(out, "| {name} | {before} | {now} | | {word} |");
        }
    }
    if !same.is_empty() {
        _ = writeln!(out, "| {} unchanged | | | | |", same.len());
    }
    changed.iter().for_each(|module| details(&mut out, module));
    out
}

fn summary(out: &mut String, module: &ModuleDiff) {
    let required = module.hbm.required;
    let was = module.old_name.as_ref().map(|old| format!("was {}", escaped(old)));
    let verdicts = (module.verdicts.old != module.verdicts.new).then(|| {
        format!("**{}** (before: {})", verdict(module.verdicts.new), verdict(module.verdicts.old))
    });
    let notes: Vec<String> = verdicts.into_iter().chain(was).collect();
    _ = writeln!(
        out,
        "| {} | {} | {} | {} {} | {} |",
        escaped(&module.name),
        bytes_as_xla(required.old_bytes),
        bytes_as_xla(required.new_bytes),
        signed(required),
        share(required),
        notes.join("; ")
    );
}

fn details(out: &mut String, module: &ModuleDiff) {
    _ = writeln!(out, "\n<details><summary>{}</summary>\n", escaped(&module.name));
    if let Some(machines) = &module.machines {
        _ = writeln!(out, "{} now, {} before\n", escaped(&machines.new), escaped(&machines.old));
    }
    for reason in &module.reasons {
        let size = match reason.frees {
            true => Change { old_bytes: reason.size.new_bytes, new_bytes: reason.size.old_bytes },
            false => reason.size,
        };
        _ = writeln!(out, "- {}: {}", signed(size), escaped(&reason.message));
    }
    out.push_str("\n| part | before | now | change |\n| --- | ---: | ---: | ---: |\n");
    for (name, change) in totals(module) {
        _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            name.trim_start(),
            bytes(change.old_bytes),
            bytes(change.new_bytes),
            signed(change)
        );
    }
    let (shown, rest) = told(module);
    if !shown.is_empty() {
        out.push_str("\n| change | | buffers | from |\n| ---: | --- | --- | --- |\n");
    }
    for change in &shown {
        _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            signed(change.hbm()),
            became(change.change),
            escaped(&what(change)),
            escaped(&origin(change))
        );
    }
    if !rest.is_empty() {
        _ = writeln!(out, "| | | {} more | |", rest.len());
    }
    if !module.findings.is_empty() {
        out.push('\n');
    }
    for change in &module.findings {
        let word = match change.change {
            Became::New => "new",
            Became::Worse => "worse",
            Became::Better => "better",
            Became::Gone => "gone",
        };
        let (rule, message) = (escaped(&rule(change)), escaped(&change.finding.message));
        _ = writeln!(out, "- {word}: {rule} {message}");
    }
    out.push_str("\n</details>\n");
}
