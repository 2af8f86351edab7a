//! The way out of a program that does not fit: remedies in the order to try, each with what is left,
//! down to something that fits. Remedies are combined by asking the memory analysis for all their
//! edits at once: savings are never added.

use crate::lint::{Batch, Context, Finding, Floor, Kind, Remedy, all_rules};
use crate::memory::Edit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do about a program that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WayOut {
    /// Bytes that depend on neither batch nor sequence (estimate).
    pub floor_bytes: u64,
    /// Ways to go, the first is the one to try first.
    pub paths: Vec<Path>,
}

/// Steps that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Path {
    /// Whether the program then fits.
    pub fits: bool,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One thing to do, with those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What to do.
    pub action: String,
    /// The rule whose finding names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// HBM bytes that the program needs before it, the steps before it done.
    pub before_bytes: u64,
    /// HBM bytes that the program then needs.
    pub required_bytes_after: u64,
    /// HBM bytes that the program needs with this step alone.
    pub alone_bytes: u64,
    /// What stands behind the figure.
    pub basis: Basis,
    /// What computing values again may need on top of it, at most. Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recomputed_bytes: Option<u64>,
    /// The changes to what is in memory that stand behind the figure, of the steps before it, too; none
    /// for an even split, and where the report was read.
    #[serde(skip)]
    pub edits: Vec<Edit>,
}

/// What stands behind a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The memory analysis, run again.
    Rerun,
    /// The same; what else shrinks is the compiler's business.
    AtMost,
    /// An equal part for each device.
    EvenSplit,
}

/// The most remedies that are combined, each of which is a run of the memory analysis.
const COMBINED: usize = 4;

/// The most remedies that are named where each of them is enough.
const ENOUGH: usize = 3;

/// A remedy that saves less than this share of what is left is not worth a step.
const WORTH: u64 = 20;

/// The most times a batch is cut in half.
const HALVES: usize = 3;

/// The most devices that a split is stated for.
const MOST_DEVICES: u64 = 1 << 20;

/// A remedy of a finding that can be combined with others.
struct Candidate<'f> {
    rule: &'static str,
    is_trade: bool,
    remedy: &'f Remedy,
    alone_bytes: u64,
}

/// The way out, where a program does not fit and what is alive at its peak is known. `findings` are
/// all, those that others speak for included.
pub fn way_out(context: &Context<'_>, findings: &[Finding]) -> Option<WayOut> {
    let available = context.capacity.available_bytes?;
    if context.exceeded_bytes() == 0 || context.hbm().peak_point.is_none() {
        return None;
    }
    let candidates = candidates(findings, available);
    let batch = Batch::of(context);
    let enough: Vec<&Candidate<'_>> =
        candidates.iter().filter(|one| one.alone_bytes <= available).take(ENOUGH).collect();
    let mut paths = Vec::new();
    if enough.is_empty() {
        let combined = Combined::of(context, &candidates);
        paths.extend(with_smaller_batch(context, &combined, batch.as_ref(), available));
        paths.extend(with_more_devices(context, &combined, batch.as_ref(), available));
    } else {
        let alone = Combined::none(context);
        paths.extend(enough.iter().map(|one| Path {
            fits: true,
            steps: vec![alone.step(
                one,
                one.alone_bytes,
                one.remedy.at_most,
                one.remedy.edits.clone(),
            )],
        }));
    }
    Some(WayOut { floor_bytes: Floor::of(context).bytes(), paths })
}

/// The best remedy of each finding: what costs nothing first, then what leaves least.
fn candidates(findings: &[Finding], available: u64) -> Vec<Candidate<'_>> {
    let is_trade = |rule: &str| {
        let found = all_rules().iter().find(|other| other.meta().name == rule);
        found.is_some_and(|rule| rule.meta().kind == Kind::Trade)
    };
    let priced = |remedy: &Remedy| remedy.required_bytes_after;
    let mut found: Vec<Candidate<'_>> = findings
        .iter()
        .filter_map(|finding| {
            // The first that is enough, in the finding's own order, else what leaves least.
            let mut remedies = finding.remedies.iter();
            let remedy = remedies
                .find(|remedy| priced(remedy).is_some_and(|after| after <= available))
                .or_else(|| {
                    let priced_ones = finding.remedies.iter().filter(|r| priced(r).is_some());
                    priced_ones.min_by_key(|remedy| priced(remedy))
                })?;
            let alone_bytes = priced(remedy)?;
            let is_trade = is_trade(finding.rule);
            Some(Candidate { rule: finding.rule, is_trade, remedy, alone_bytes })
        })
        .collect();
    found.sort_by_key(|one| (one.is_trade, one.alone_bytes));
    found
}

/// Steps that were taken, and what they leave.
struct Combined {
    steps: Vec<Step>,
    edits: Vec<Edit>,
    left_bytes: u64,
    at_most: bool,
}

impl Combined {
    fn none(context: &Context<'_>) -> Combined {
        let left_bytes = context.hbm().required_bytes;
        Combined { steps: Vec::new(), edits: Vec::new(), left_bytes, at_most: false }
    }

    /// Remedies that each save something on top of those before.
    fn of(context: &Context<'_>, candidates: &[Candidate<'_>]) -> Combined {
        let mut combined = Combined::none(context);
        // What changes no buffer cannot be combined: its figure stands for itself.
        let combinable = candidates.iter().filter(|one| !one.remedy.edits.is_empty());
        for one in combinable.take(COMBINED) {
            let edits = [combined.edits.as_slice(), &one.remedy.edits].concat();
            let after = match combined.steps.as_slice() {
                [] => Some(one.alone_bytes),
                _ => context.required_after(&edits),
            };
            let Some(after) = after else { continue };
            if combined.left_bytes.saturating_sub(after) < combined.left_bytes / WORTH {
                continue;
            }
            combined.at_most |= one.remedy.at_most;
            let step = combined.step(one, after, combined.at_most, edits.clone());
            combined.steps.push(step);
            combined.edits = edits;
            combined.left_bytes = after;
        }
        combined
    }

    fn step(&self, one: &Candidate<'_>, after: u64, at_most: bool, edits: Vec<Edit>) -> Step {
        Step {
            action: one.remedy.action.clone(),
            rule: Some(one.rule.to_owned()),
            before_bytes: self.left_bytes,
            required_bytes_after: after,
            alone_bytes: one.alone_bytes,
            basis: if at_most { Basis::AtMost } else { Basis::Rerun },
            recomputed_bytes: one.remedy.recomputed_bytes,
            edits,
        }
    }

    /// The path that ends with one more step.
    fn and(&self, step: Option<Step>, fits: bool) -> Path {
        Path { fits, steps: self.steps.iter().cloned().chain(step).collect() }
    }
}

/// The batch cut in half until it fits, with the steps before; those alone where they are enough.
fn with_smaller_batch(
    context: &Context<'_>,
    combined: &Combined,
    batch: Option<&Batch>,
    available: u64,
) -> Option<Path> {
    if combined.left_bytes <= available {
        return Some(combined.and(None, true));
    }
    let batch = batch?;
    let halves = std::iter::successors(Some(batch.size()), |rows| {
        (rows.is_multiple_of(2)).then_some(rows / 2)
    });
    for rows in halves.skip(1).take(HALVES) {
        let edits = batch.cut_to(context, rows, &combined.edits);
        let after = context.required_after(&edits)?;
        if after > available {
            continue;
        }
        let step = Step {
            action: batch.remedy(rows).action,
            rule: None,
            before_bytes: combined.left_bytes,
            required_bytes_after: after,
            alone_bytes: context.required_after(&batch.cut_to(context, rows, &[]))?,
            basis: Basis::AtMost,
            recomputed_bytes: None,
            edits,
        };
        return Some(combined.and(Some(step), true));
    }
    None
}

/// Everything over so many more devices that an equal part leaves a twentieth to spare: parts are
/// never quite equal.
fn with_more_devices(
    context: &Context<'_>,
    combined: &Combined,
    batch: Option<&Batch>,
    available: u64,
) -> Option<Path> {
    if combined.left_bytes <= available {
        return None;
    }
    let ways = std::iter::successors(Some(2_u64), |ways| ways.checked_mul(2))
        .take_while(|&ways| ways <= MOST_DEVICES)
        .find(|ways| combined.left_bytes.div_ceil(*ways) <= available / 20 * 19)?;
    let what = match (Floor::of(context).state_bytes, batch) {
        (1.., Some(_)) => "state and batch",
        (1.., None) => "the state",
        (0, Some(_)) => "the batch",
        (0, None) => "it",
    };
    let devices = context.mesh.devices.max(1);
    let action = format!("shard {what} over {} devices", devices.saturating_mul(ways));
    let step = Step {
        action,
        rule: None,
        before_bytes: combined.left_bytes,
        required_bytes_after: combined.left_bytes.div_ceil(ways),
        alone_bytes: context.hbm().required_bytes.div_ceil(ways),
        basis: Basis::EvenSplit,
        recomputed_bytes: None,
        edits: Vec::new(),
    };
    Some(combined.and(Some(step), true))
}
