//! `retraced-function`.

use crate::config::Settings;
use crate::lint::context::threshold;
use crate::lint::{
    Compiled, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold, compiled,
};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// See [`META`].
pub struct RetracedFunction;

/// The declaration.
pub static META: Meta = Meta {
    name: "retraced-function",
    summary: "one function is compiled again and again with different shapes",
    documentation: "\
What it does: finds programs of one name in a dump directory that differ in the shapes of their arguments. Single
operations that JAX runs outside jit are left out by their size.
Why it costs memory: each program is compiled apart and stays loaded with its code; the one with the
largest shapes sets what must be free. The time to compile is paid each time.
Example: jit_score compiled for tokens s32[8,61], s32[8,74], s32[8,90] and s32[8,128], one for each
length of a batch.
Remedy: pad the dimension that varies to a few fixed sizes.
References: E1000, 3.F (profile what is compiled).",
    level: Level::Note,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[
        Threshold {
            name: "min_programs",
            default: 4.0,
            documentation: "programs of one name with different shapes from which it is reported",
        },
        Threshold {
            name: "min_instructions",
            default: 16.0,
            documentation: "instructions below which a program is taken for a single operation",
        },
    ],
    reference: Reference { code: "E1000", section: "3.F, profile what is compiled" },
};

impl Rule for RetracedFunction {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, _: &Context<'_>, _: &mut Vec<Finding>) {}

    fn check_dump(&self, programs: &[Compiled], settings: &Settings, out: &mut Vec<Finding>) {
        let least = threshold(settings, &META, "min_programs");
        let instructions = threshold(settings, &META, "min_instructions");
        let mut seen = FxHashSet::default();
        let mut by_name: BTreeMap<(&str, &str), Vec<&Compiled>> = BTreeMap::new();
        for program in programs.iter().filter(|p| p.instructions as f64 >= instructions) {
            let shapes: Vec<&str> = program.arguments.iter().map(|(_, s)| s.as_str()).collect();
            let key = (program.folder(), program.name());
            if seen.insert((key, shapes)) {
                by_name.entry(key).or_default().push(program);
            }
        }
        for ((_, name), group) in by_name {
            if (group.len() as f64) < least {
                continue;
            }
            let Some(first) = group.first() else { continue };
            let mut finding = first.finding(&META);
            finding.message =
                format!("{name} is compiled for {} different shapes of its arguments", group.len());
            let varying = varying(&group);
            finding.details = varying.iter().map(|(_, text)| text.clone()).collect();
            let what = varying.first().map_or("what varies", |(path, _)| path.as_str());
            finding.help = format!("pad {what} to a few fixed sizes");
            finding.remedies = vec![Remedy::new(finding.help.clone())];
            finding.shape = None;
            compiled::push(settings, out, &META, finding);
        }
    }
}

/// The arguments whose shapes differ between programs, each with its shapes.
fn varying(group: &[&Compiled]) -> Vec<(String, String)> {
    const ARGUMENTS: usize = 3;
    const SHAPES: usize = 4;
    let Some(first) = group.first() else { return Vec::new() };
    let mut found = Vec::new();
    for (at, (path, _)) in first.arguments.iter().enumerate() {
        let mut all: Vec<&str> = group
            .iter()
            .filter_map(|program| program.arguments.get(at).map(|(_, shape)| shape.as_str()))
            .collect();
        all.dedup();
        if all.len() > 1 && found.len() < ARGUMENTS {
            let more = all.len().saturating_sub(SHAPES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let shown = all.get(..SHAPES.min(all.len())).unwrap_or(&[]).join(", ");
            found.push((path.clone(), format!("{path}: {shown}{more}")));
        }
    }
    found
}
