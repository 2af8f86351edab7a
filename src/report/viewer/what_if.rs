//! Findings and the way out in; the buffers each finding speaks of, and the curves behind the figures of
//! remedies, out.

use super::curve;
use crate::lint::{Context, Finding};
use crate::memory::{BufferId, Edit, ValueId, live_bytes};
use crate::report::report::{Buffer, Live};
use crate::report::way_out::{Path, WayOut};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::VecDeque;

/// Remedies of a module that get a curve; each is a whole analysis.
const MOST_CURVES: usize = 16;

/// Buffers that one change tells of.
const MOST_AFTER: usize = 4_000;

/// Values that these analyses may look at in sum, so that large modules get fewer curves.
const MOST_VALUES: usize = 4_000_000;

/// What a page shows of a finding beside its report.
#[derive(Debug, Default, Serialize)]
pub struct FindingView {
    /// The module: its position in the report.
    pub module: usize,
    /// The buffers it speaks of: positions in the module's.
    pub buffers: Vec<u32>,
    /// What memory would be after each of its remedies that has a curve, in their order.
    pub what_ifs: Vec<WhatIf>,
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
    /// What becomes of the buffers that it changes.
    pub after: Vec<After>,
}

/// A buffer after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct After {
    /// The buffer: its position in the module's.
    pub buffer: u32,
    /// What becomes of it.
    #[serde(flatten)]
    pub becomes: Becomes,
}

/// What becomes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Becomes {
    /// It has this size. Bytes; 0 where it is gone.
    Bytes(u64),
    /// Its last program point is an earlier one.
    EndsAt(u32),
    /// It takes an argument's memory: whether that is so.
    IsDonated(bool),
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
    /// What becomes of the buffers that these steps change.
    pub after: Vec<After>,
}

/// The buffers of a report by the buffer of the analysis.
pub(super) struct Positions(FxHashMap<BufferId, Vec<u32>>);

impl Positions {
    pub(super) fn of(context: &Context<'_>, buffers: &[Buffer]) -> Positions {
        let mut at: FxHashMap<BufferId, Vec<u32>> = FxHashMap::default();
        for (number, buffer) in buffers.iter().enumerate() {
            if let Some(id) = buffer.value {
                at.entry(context.profile.value(id).buffer).or_default().push(number as u32);
            }
        }
        Positions(at)
    }

    fn get(&self, ids: impl Iterator<Item = BufferId>) -> Vec<u32> {
        ids.filter_map(|id| self.0.get(&id)).flatten().copied().collect()
    }

    /// What becomes of the buffers that edits name, in the order of the edits.
    fn after(&self, context: &Context<'_>, edits: &[Edit]) -> Vec<After> {
        let buffer_of = |value: ValueId| {
            let values = &context.profile.values;
            values.get(value.0 as usize).map(|value| value.buffer)
        };
        let becomes = |edit: &Edit| match *edit {
            Edit::Remove(buffer) => Some((buffer, Becomes::Bytes(0))),
            Edit::Shrink { buffer, bytes } => Some((buffer, Becomes::Bytes(bytes))),
            Edit::Donate { output, .. } => Some((buffer_of(output)?, Becomes::IsDonated(true))),
            Edit::EndAt { value, point } => Some((buffer_of(value)?, Becomes::EndsAt(point))),
        };
        let all = edits.iter().filter_map(becomes).flat_map(|(id, becomes)| {
            let positions = self.0.get(&id).map_or(&[][..], Vec::as_slice);
            positions.iter().map(move |&buffer| After { buffer, becomes })
        });
        all.take(MOST_AFTER).collect()
    }
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
    positions: &Positions,
    left: &mut CurvesLeft,
) -> Vec<Option<PathView>> {
    let view = |path: &Path| {
        let step = path.steps.iter().rposition(|step| !step.edits.is_empty())?;
        let last = path.steps.get(step)?;
        let live = left.draw(context, &last.edits)?;
        let after = positions.after(context, &last.edits);
        Some(PathView { step, required_bytes: last.required_bytes_after, live, after })
    };
    let paths = way_out.map_or(&[][..], |way_out| way_out.paths.as_slice());
    paths.iter().map(view).collect()
}

/// Findings are found again by their text's file and their fingerprint.
fn key(finding: &Finding) -> (String, String) {
    (finding.file().unwrap_or_default().to_owned(), finding.fingerprint.clone())
}

/// What belongs to a module's findings.
pub(super) fn views(
    context: &Context<'_>,
    findings: &[Finding],
    positions: &Positions,
    left: &mut CurvesLeft,
) -> Vec<FindingView> {
    let view = |finding: &Finding| FindingView {
        module: 0,
        buffers: positions.get(finding.buffers.iter().copied()),
        what_ifs: Vec::new(),
        key: key(finding),
    };
    let mut views: Vec<FindingView> = findings.iter().map(view).collect();
    // The first remedy of every finding comes before the second of any.
    let most = findings.iter().map(|finding| finding.remedies.len()).max().unwrap_or(0);
    for nth in 0..most {
        for (finding, view) in findings.iter().zip(&mut views) {
            let remedies = finding.remedies.iter().enumerate();
            let mut with_figure = remedies.filter(|(_, remedy)| !remedy.edits.is_empty());
            let chosen = with_figure.nth(nth);
            view.what_ifs.extend(chosen.and_then(|(at, remedy)| {
                let required_bytes = remedy.required_bytes_after?;
                let live = left.draw(context, &remedy.edits)?;
                let after = positions.after(context, &remedy.edits);
                Some(WhatIf { remedy: at, required_bytes, live, after })
            }));
        }
    }
    views
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
