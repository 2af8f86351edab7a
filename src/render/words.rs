//! A finding in words, for every output that has no layout of its own.

use crate::report::{Finding, Remedy, Unit};

/// What the program needs before and after a remedy: `1.06 -> at most 0.81 GiB`.
pub(super) fn figure(remedy: &Remedy, required_bytes: u64) -> Option<String> {
    let after = remedy.required_bytes_after?;
    let unit = Unit::of(required_bytes);
    let figure = format!(
        "{} -> {}{} {}",
        unit.number_as_xla(required_bytes),
        if remedy.at_most { "at most " } else { "" },
        unit.number_as_xla(after),
        unit.as_str()
    );
    Some(match remedy.recomputed_bytes {
        Some(more) => format!("{figure} (+{} at most to recompute)", unit.number(more)),
        None => figure,
    })
}

/// Facts and remedies, a line each, the message left out.
pub(super) fn facts(finding: &Finding) -> Vec<String> {
    let mut lines: Vec<String> =
        finding.details.iter().map(|line| line.trim_end().to_owned()).collect();
    lines.extend(finding.also_seen.iter().map(|seen| format!("also seen here: {seen}")));
    for (at, remedy) in finding.remedies.iter().enumerate() {
        let word = if at == 0 { "try" } else { "or" };
        lines.push(match figure(remedy, finding.required_bytes) {
            Some(figure) => format!("{word} {}: {figure}", remedy.action),
            None => format!("{word} {}", remedy.action),
        });
    }
    lines
}

/// The message, facts and remedies.
pub(super) fn whole(finding: &Finding) -> String {
    let mut lines = vec![finding.message.clone()];
    lines.extend(facts(finding));
    lines.join("\n")
}
