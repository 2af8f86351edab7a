//! What a rule found, the largest first, in; findings out: so many one by one, priced by the model,
//! and one for all the rest, without a figure. Nothing is left unsaid for being one of many.

use super::{Context, Finding, Meta};
use crate::config::{bytes, total_bytes};

/// How many of the rest are named.
const LINES: usize = 4;

/// Pushes a finding for each of the first `most` of what was found, and one for the others: `what`
/// they are, as in `3 more constants`.
pub(super) fn push_most<T>(
    context: &Context<'_>,
    meta: &Meta,
    findings: &mut Vec<Finding>,
    (most, what): (usize, &str),
    found: &[T],
    report: impl Fn(&T) -> Option<Finding>,
) {
    let (first, rest) = found.split_at(found.len().min(most));
    for finding in first.iter().filter_map(&report) {
        context.push(findings, meta, finding);
    }
    context.stop_asking();
    if let Some(finding) = together(rest.iter().filter_map(report).collect(), what) {
        context.push(findings, meta, finding);
    }
}

/// One finding for several: the first, with what all of them waste and hold.
fn together(all: Vec<Finding>, what: &str) -> Option<Finding> {
    let level = all.iter().map(|finding| finding.level).max()?;
    let total = total_bytes(all.iter().map(|finding| finding.bytes));
    let mut messages: Vec<String> =
        all.iter().take(LINES).map(|finding| finding.message.clone()).collect();
    if let Some(more @ 1..) = all.len().checked_sub(LINES) {
        messages.push(format!("and {more} more"));
    }
    let buffers = all.iter().flat_map(|finding| finding.buffers.iter().copied()).collect();
    let count = all.len();
    let mut finding = all.into_iter().next()?;
    if count > 1 {
        finding.message = format!("{count} more {what}, {}", bytes(total));
        finding.details = messages;
        (finding.level, finding.bytes, finding.buffers) = (level, total, buffers);
    }
    Some(finding)
}
