//! Findings and the way out in; the buffers each finding speaks of, and the curves behind the figures of
//! remedies, out.

use super::curve;
use crate::lint::{Context, Finding};
use crate::memory::{BufferId, Edit, live_bytes};
use crate::report::report::{Buffer, Live};
use crate::report::way_out::{Path, WayOut};
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

/// Memory after the steps of a path out.
#[derive(Debug, Serialize)]
pub struct PathView {
    /// The last step that the curve has in it: its position in the path. Behind it stand steps whose
    /// figure is an even split, which has no curve.
    pub step: usize,
    /// What the program then needs.
    pub required_bytes: u64,
    /// HBM bytes alive from a program point on, after these steps.
    pub live: Vec<Live>,
}

/// How many more analyses may run for curves of a module.
pub(super) struct CurvesLeft(usize);

impl CurvesLeft {
    pub(super) fn of(context: &Context<'_>) -> CurvesLeft {
        let values = context.profile.values.len().max(1);
        CurvesLeft((MOST_VALUES / values).clamp(1, MOST_CURVES))
    }

    /// The curve after a change; `None` where there were enough, or the change cannot be made.
    fn draw(&mut self, context: &Context<'_>, edits: &[Edit]) -> Option<Vec<Live>> {
        self.0 = self.0.checked_sub(1)?;
        let profile = context.analysis.profile(edits).ok()?;
        let live = live_bytes(&profile, &context.module.shapes, 0);
        Some(curve::thin(live, profile.schedule.len()))
    }
}

/// What belongs to the paths of the way out, in their order.
pub(super) fn paths(
    context: &Context<'_>,
    way_out: Option<&WayOut>,
    left: &mut CurvesLeft,
) -> Vec<Option<PathView>> {
    let paths = way_out.map_or(&[][..], |way_out| way_out.paths.as_slice());
    paths.iter().map(|path| path_view(context, path, left)).collect()
}

fn path_view(context: &Context<'_>, path: &Path, left: &mut CurvesLeft) -> Option<PathView> {
    let step = path.steps.iter().rposition(|step| !step.edits.is_empty())?;
    let last = path.steps.get(step)?;
    let live = left.draw(context, &last.edits)?;
    Some(PathView { step, required_bytes: last.required_bytes_after, live })
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
    left: &mut CurvesLeft,
) -> Vec<FindingView> {
    let mut at: FxHashMap<BufferId, Vec<u32>> = FxHashMap::default();
    for (number, buffer) in buffers.iter().enumerate() {
        if let Some(id) = buffer.value {
            at.entry(context.profile.value(id).buffer).or_default().push(number as u32);
        }
    }
    let view = |finding: &Finding| FindingView {
        module: 0,
        buffers: finding.buffers.iter().filter_map(|id| at.get(id)).flatten().copied().collect(),
        what_if: what_if(context, finding, left),
        key: key(finding),
    };
    findings.iter().map(view).collect()
}

fn what_if(context: &Context<'_>, finding: &Finding, left: &mut CurvesLeft) -> Option<WhatIf> {
    let has_figure = |remedy: &crate::lint::Remedy| {
        remedy.required_bytes_after.is_some() && !remedy.edits.is_empty()
    };
    let remedy = finding.remedies.iter().position(has_figure)?;
    let chosen = finding.remedies.get(remedy)?;
    let live = left.draw(context, &chosen.edits)?;
    Some(WhatIf { remedy, required_bytes: chosen.required_bytes_after?, live })
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
