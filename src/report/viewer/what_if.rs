//! Findings in; the buffers each speaks of, and the curve behind a remedy's figure, out.

use super::curve;
use crate::lint::{Context, Finding};
use crate::memory::{BufferId, live_bytes};
use crate::report::report::{Buffer, Live};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::VecDeque;

/// Remedies of a module that get a curve; each is a whole analysis.
const MOST_CURVES: usize = 8;

/// Values that these analyses may look at in sum, so that large modules get fewer curves.
const MOST_VALUES: usize = 4_000_000;

/// What a page shows of a finding beside its report.
#[derive(Debug, Default, Serialize)]
pub struct FindingView {
    /// The module: its position in the report.
    pub module: usize,
    /// The buffers it speaks of: positions in the module's.
    pub buffers: Vec<u32>,
    /// What memory would be after a remedy.
    pub what_if: Option<WhatIf>,
    #[serde(skip)]
    key: (String, String),
}

/// Memory after a remedy.
#[derive(Debug, Serialize)]
pub struct WhatIf {
    /// The position among the finding's remedies.
    pub remedy: usize,
    /// What the program then needs.
    pub required_bytes: u64,
    /// HBM bytes alive from a program point on, after the remedy.
    pub live: Vec<Live>,
}

/// Findings are found again by their text's file and their fingerprint.
fn key(finding: &Finding) -> (String, String) {
    (finding.file().unwrap_or_default().to_owned(), finding.fingerprint.clone())
}

/// What belongs to a module's findings.
pub(super) fn views(
    context: &Context<'_>,
    findings: &[Finding],
    buffers: &[Buffer],
) -> Vec<FindingView> {
    let mut at: FxHashMap<BufferId, Vec<u32>> = FxHashMap::default();
    for (number, buffer) in buffers.iter().enumerate() {
        if let Some(id) = buffer.value {
            at.entry(context.profile.value(id).buffer).or_default().push(number as u32);
        }
    }
    let mut curves = (MOST_VALUES / context.profile.values.len().max(1)).clamp(1, MOST_CURVES);
    let view = |finding: &Finding| FindingView {
        module: 0,
        buffers: finding.buffers.iter().filter_map(|id| at.get(id)).flatten().copied().collect(),
        what_if: what_if(context, finding, &mut curves),
        key: key(finding),
    };
    findings.iter().map(view).collect()
}

fn what_if(context: &Context<'_>, finding: &Finding, left: &mut usize) -> Option<WhatIf> {
    let has_figure = |remedy: &crate::lint::Remedy| {
        remedy.required_bytes_after.is_some() && !remedy.edits.is_empty()
    };
    let remedy = finding.remedies.iter().position(has_figure)?;
    *left = left.checked_sub(1)?;
    let chosen = finding.remedies.get(remedy)?;
    let profile = context.analysis.profile(&chosen.edits).ok()?;
    let live = live_bytes(&profile, &context.module.shapes, 0);
    Some(WhatIf {
        remedy,
        required_bytes: chosen.required_bytes_after?,
        live: curve::thin(live, profile.schedule.len()),
    })
}

/// The views in the order of a report's findings; those the user accepted are left out.
pub(super) fn in_order(
    views: Vec<FindingView>,
    findings: &[Finding],
    files: &[String],
) -> Vec<FindingView> {
    let modules: FxHashMap<&str, usize> =
        files.iter().enumerate().map(|(at, file)| (file.as_str(), at)).collect();
    let mut by_key: FxHashMap<(String, String), VecDeque<FindingView>> = FxHashMap::default();
    for view in views {
        by_key.entry(view.key.clone()).or_default().push_back(view);
    }
    findings
        .iter()
        .map(|finding| {
            let view = by_key.get_mut(&key(finding)).and_then(VecDeque::pop_front);
            let module = finding.file().and_then(|file| modules.get(file)).copied();
            FindingView { module: module.unwrap_or(0), ..view.unwrap_or_default() }
        })
        .collect()
}
