//! `budget`.

use super::hbm_over_capacity::advice;
use crate::config::{Budget, bytes_as_xla};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};
use crate::memory::Exactness;

/// See [`META`].
pub struct OverBudget;

/// The declaration.
pub static META: Meta = Meta {
    name: "budget",
    summary: "the program needs more HBM than its budget",
    documentation: "\
What it does: finds a program that needs more than a [[budget]] of hlolint.toml allows for its name:
max_total holds what all allocations take (the figure that XLA compares with the capacity), max_peak
what is alive at the peak. Both are of one device.
Why it costs memory: it may fit today; what it needs more than agreed is missing tomorrow, for a larger
batch, a second program on the same device, or a smaller chip.
Example: module = \"jit_train*\", max_total = \"14GiB\", and a change of jit_train_step that brings it from
13.2 to 14.6 GiB.
Remedy: the table of what is alive at the peak says what to look at first, and the report of the commit
before what was added. Where the change is worth its memory, raise the budget in hlolint.toml.
References: E1000, scenario 3 (the sum is too large).",
    level: Level::Error,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[],
    reference: Reference {
        code: "E1000",
        section: "scenario 3, the sum of allocations is too large",
    },
};

impl Rule for OverBudget {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let usage = context.hbm();
        let peak_bytes = usage.peak_point.map(|_| usage.peak_live_bytes);
        for budget in &context.settings.budgets {
            if !budget.module.matches(context.module.name) {
                continue;
            }
            let measures = [
                ("needed", Some(usage.required_bytes), budget.max_total_bytes),
                ("alive at the peak", peak_bytes, budget.max_peak_bytes),
            ];
            let over: Vec<Over> = measures
                .into_iter()
                .filter_map(|(measure, needed, most)| Some((measure, needed?, most?)))
                .filter(|(_, needed, most)| needed > most)
                .map(|(measure, needed, most)| Over { measure, needed, most })
                .collect();
            if let Some((first, others)) = over.split_first() {
                let finding = finding(context, budget, first, others);
                context.push(findings, &META, finding);
            }
        }
    }
}

/// A figure that is over its budget, in bytes.
struct Over {
    measure: &'static str,
    needed: u64,
    most: u64,
}

impl Over {
    fn words(&self) -> String {
        let Over { measure, needed, most } = *self;
        format!(
            "{} {measure}, {} allowed: {} too much",
            bytes_as_xla(needed),
            bytes_as_xla(most),
            bytes_as_xla(needed - most),
        )
    }
}

/// It is about the module, not about an instruction: what is largest may be another one tomorrow.
fn finding(context: &Context<'_>, budget: &Budget, first: &Over, others: &[Over]) -> Finding {
    let mut finding = context.finding(&META, None);
    let least = match context.profile.exactness {
        Exactness::LowerBound => "at least ",
        _ => "",
    };
    finding.message = format!("{least}{}", first.words());
    finding.details.extend(others.iter().map(Over::words));
    let Budget { module, place, .. } = budget;
    let file = place.file.rsplit('/').next().unwrap_or(&place.file);
    finding.details.push(format!("the budget of {}, {file}:{}", module.text(), place.line));
    let culprit = context.composition.groups.first().and_then(|group| group.rows.first());
    finding.source = culprit.and_then(|row| row.source.clone());
    finding.bytes = first.needed - first.most;
    finding.remedies = advice(context).into_iter().map(Remedy::new).collect();
    finding
}
