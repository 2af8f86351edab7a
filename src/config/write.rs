//! Settings in; the text of a hlolint.toml that says the same, out. What is as it is without being
//! said stands there as a comment.

use super::{Budget, File, Ignore, KnownRule, Materiality, RuleLevel, RuleSettings};
use std::fmt::Write;

/// The text.
pub fn write(file: &File, rules: &[KnownRule]) -> String {
    let mut out = String::new();
    top(&mut out, file);
    for rule in rules {
        let own = file.settings.rules.get(rule.name).cloned().unwrap_or_default();
        _ = writeln!(out, "\n[rules.{}]", rule.name);
        one_rule(&mut out, rule, &own);
    }
    file.settings.ignores.iter().for_each(|ignore| one_ignore(&mut out, ignore));
    file.settings.budgets.iter().for_each(|budget| one_budget(&mut out, budget));
    out
}

fn top(out: &mut String, file: &File) {
    let (settings, default) = (&file.settings, Materiality::default());
    let own = settings.materiality;
    line(out, "chip", settings.chip.map(|chip| quoted(chip.name())), &quoted("the dump's"));
    line(out, "hbm", settings.hbm_bytes.map(size), &quoted("the chip's"));
    line(out, "reserve", Some(settings.reserve_bytes).filter(|&b| b > 0).map(size), "0");
    line(out, "max_total", settings.max_total_bytes.map(size), &quoted("what there is"));
    let fail_on = file.fail_on.unwrap_or_default().name();
    line(out, "fail_on", file.fail_on.map(|_| quoted(fail_on)), &quoted(fail_on));
    let share = Some(own.min_share).filter(|&share| share != default.min_share);
    line(out, "min_share", share.map(number), &number(default.min_share));
    let bytes = Some(own.min_bytes).filter(|&bytes| bytes != default.min_bytes);
    line(out, "min_bytes", bytes.map(size), &size(default.min_bytes));
    line(out, "baseline", file.baseline.as_deref().map(quoted), &quoted("none"));
}

fn one_rule(out: &mut String, rule: &KnownRule, own: &RuleSettings) {
    let level = |level: RuleLevel| quoted(level.name());
    line(out, "level", own.level.map(level), &level(rule.level));
    out_if(out, "min_share", own.min_share.map(number));
    out_if(out, "min_bytes", own.min_bytes.map(size));
    for &(name, default) in &rule.thresholds {
        line(out, name, own.thresholds.get(name).copied().map(number), &number(default));
    }
}

fn one_ignore(out: &mut String, ignore: &Ignore) {
    out.push_str("\n[[ignore]]\n");
    out_if(out, "rule", Some(quoted(&ignore.rule)));
    out_if(out, "module", ignore.module.as_ref().map(|pattern| quoted(pattern.text())));
    out_if(out, "op_name", ignore.op_name.as_ref().map(|pattern| quoted(pattern.text())));
    out_if(out, "shape", ignore.shape.as_deref().map(quoted));
    out_if(out, "reason", Some(quoted(&ignore.reason)));
}

fn one_budget(out: &mut String, budget: &Budget) {
    out.push_str("\n[[budget]]\n");
    out_if(out, "module", Some(quoted(budget.module.text())));
    out_if(out, "max_total", budget.max_total_bytes.map(size));
    out_if(out, "max_peak", budget.max_peak_bytes.map(size));
}

/// `key = value`; `# key = default` where nothing is said.
fn line(out: &mut String, key: &str, value: Option<String>, default: &str) {
    _ = match value {
        Some(value) => writeln!(out, "{key} = {value}"),
        None => writeln!(out, "# {key} = {default}"),
    };
}

fn out_if(out: &mut String, key: &str, value: Option<String>) {
    if let Some(value) = value {
        _ = writeln!(out, "{key} = {value}");
    }
}

/// The escapes of JSON are TOML's, too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn number(number: f64) -> String {
    format!("{number:?}")
}

/// A size to the byte, in the largest unit that divides it.
fn size(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.iter().find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((name, unit)) => quoted(&format!("{}{name}", bytes / unit)),
        None => bytes.to_string(),
    }
}
