//! What changed between two sides, for a person and as Markdown.

mod markdown;
mod text;

pub use markdown::markdown;
pub use text::text;

use crate::report::diff::{
    BufferChange, Change, DiffReport, Exceeded, FindingChange, HbmChange, Held, ModuleDiff, What,
};
use crate::report::{Cause, Source, Verdict, bytes};

/// How many buffers are told one by one.
const BUFFERS: usize = 10;

/// `+32.00 MiB`, `-128.00 MiB`, `0 B`.
fn signed(change: Change) -> String {
    let sign = match change.new_bytes.cmp(&change.old_bytes) {
        std::cmp::Ordering::Greater => "+",
        std::cmp::Ordering::Less => "-",
        std::cmp::Ordering::Equal => "",
    };
    format!("{sign}{}", bytes(change.distance_bytes()))
}

/// `+12%`; empty where there is nothing to relate it to.
fn share(change: Change) -> String {
    if change.old_bytes == 0 || change.is_none() {
        return String::new();
    }
    let percent = 100.0 * change.distance_bytes() as f64 / change.old_bytes as f64;
    let sign = if change.increase_bytes() > 0 { "+" } else { "-" };
    match percent {
        9.95.. => format!("{sign}{percent:.0}%"),
        0.005.. => format!("{sign}{percent:.2}%"),
        _ => String::new(),
    }
}

/// The name of a module that grew too much; where others have it too, with its text.
fn named(report: &DiffReport, exceeded: &Exceeded) -> String {
    let namesakes = report.modules.iter().filter(|module| module.name == exceeded.name);
    match namesakes.take(2).count() {
        2 => format!("{} ({})", exceeded.name, exceeded.file),
        _ => exceeded.name.clone(),
    }
}

/// The rows of the table of totals; of the parts those that changed.
fn totals(module: &ModuleDiff) -> Vec<(String, Change)> {
    let HbmChange { required, total, peak_live, .. } = module.hbm;
    let mut rows = vec![(0, "required", required)];
    if total != required {
        rows.push((0, "all allocations", total));
    }
    if let Some(peak) = peak_live.filter(|peak| *peak != required) {
        rows.push((0, "alive at the peak", peak));
    }
    let hbm = module.hbm;
    let parts = [
        (0, "embedding tables of SparseCores", hbm.sparsecore),
        (1, "parameters", hbm.parameters),
        (2, "of them donated", hbm.aliased),
        (1, "results", hbm.outputs),
        (1, "constants", hbm.constants),
        (1, "temporaries at the peak", hbm.temporaries),
        (1, "thread-local", hbm.thread_local),
        (1, "packing, alignment, tuple tables", hbm.fragmentation),
        (0, "padding at the peak", hbm.padding),
    ];
    // What is donated is a part of the parameters: both or none.
    let is_told = |name: &str, change: Change| {
        !change.is_none() || name == "parameters" && !hbm.aliased.is_none()
    };
    rows.extend(parts.into_iter().filter(|(_, name, change)| is_told(name, *change)));
    let named = |(depth, name, change): (usize, &str, Change)| {
        (format!("{}{name}", "  ".repeat(depth)), change)
    };
    let spaces = module.spaces.iter().map(|space| {
        (format!("memory space {} ({})", space.memory_space, space.name), space.total)
    });
    rows.into_iter().map(named).chain(spaces).collect()
}

/// The cause as a reader calls it.
const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Argument => "arguments",
        Cause::Output => "results",
        Cause::Constant => "constants",
        Cause::Residual => "kept by loops for the backward pass",
        Cause::Gradient => "gradients",
        Cause::ArgumentCopy => "copies of arguments",
        Cause::Activation => "activations with a batch dimension",
        Cause::Other => "others",
    }
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::DoesNotFit => "does not fit",
        Verdict::Fits => "fits",
        Verdict::NoLimit => "has no limit",
        Verdict::FitsAtLeast => "may fit",
        Verdict::Unknown => "has no known capacity",
    }
}

/// The word for what became of buffers.
const fn became(what: What) -> &'static str {
    match what {
        What::New => "new",
        What::Gone => "gone",
        What::Grown => "grown",
        What::Shrunk => "shrunk",
        What::Changed => "changed",
    }
}

/// The buffer changes that are told: those that HBM feels, the largest first.
fn told(module: &ModuleDiff) -> (Vec<&BufferChange>, Vec<&BufferChange>) {
    let least = module.hbm.total.old_bytes.max(module.hbm.total.new_bytes) / 1000;
    let felt = module.buffers.iter().filter(|change| {
        let is_other = change.change == What::Changed
            && change.hbm().old_bytes > least
            && !is_donation(change);
        change.hbm().distance_bytes() > least || is_other
    });
    let mut felt: Vec<&BufferChange> = felt.collect();
    let rest = felt.split_off(felt.len().min(BUFFERS));
    (felt, rest)
}

/// Whether only the donation of an argument changed: the reasons say so.
fn is_donation(change: &BufferChange) -> bool {
    let is_argument =
        |held: &Option<Held>| held.as_ref().is_some_and(|held| held.kind.as_str() == "parameter");
    change.size.is_none() && is_argument(&change.old) && is_argument(&change.new)
}

/// `2 x output f32[8,128]{1,0}`, `f32[8] -> f32[16]`, `parameter -> donated`.
fn what(change: &BufferChange) -> String {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            let kind = arrow(kind(old), kind(new));
            let shapes = arrow(counted(old), counted(new));
            format!("{kind}  {shapes}")
        }
        (Some(held), None) | (None, Some(held)) => format!("{}  {}", kind(held), counted(held)),
        (None, None) => String::new(),
    }
}

fn arrow(old: String, new: String) -> String {
    if old == new { new } else { format!("{old} -> {new}") }
}

fn kind(held: &Held) -> String {
    match (held.is_donated, held.memory_space) {
        (true, 0) => "donated".to_owned(),
        (_, 0) => held.kind.as_str().to_owned(),
        (_, space) => format!("in S({space})"),
    }
}

/// `2 x f32[8,128]`: layouts only where nothing else differs.
fn counted(held: &Held) -> String {
    let shape = without_layout(&held.shape);
    if held.count == 1 { shape.to_owned() } else { format!("{} x {shape}", held.count) }
}

fn without_layout(shape: &str) -> &str {
    if shape.starts_with('(') { shape } else { shape.split('{').next().unwrap_or(shape) }
}

/// `fusion, jit(step)/dot_general, models.py:64`.
fn origin(change: &BufferChange) -> String {
    let place = change.source.as_ref().map(ToString::to_string).unwrap_or_default();
    let words = [change.op_name.as_str(), &change.opcode, &place];
    let words = words.iter().filter(|word| !word.is_empty() && **word != "parameter");
    words.copied().collect::<Vec<_>>().join("  ")
}

/// `warn[debug-print]`, `note -> warn[debug-print]`.
fn rule(change: &FindingChange) -> String {
    let finding = &change.finding;
    let before = change.old_level.map(|level| format!("{} -> ", level.as_str()));
    format!("{}{}[{}]", before.unwrap_or_default(), finding.level.as_str(), finding.rule)
}

fn place(source: Option<&Source>) -> String {
    source.map(ToString::to_string).unwrap_or_default()
}
