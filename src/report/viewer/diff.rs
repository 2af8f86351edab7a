//! Two sides in; their comparison out, with what a page needs beside it: the curve of each side, its
//! program points, and of each buffer that changed when it is alive. What a saved report does not hold
//! and what is too much for a page is left out, and said.

use super::buffers::Written;
use super::steps::Steps;
use super::{buffers, curve, most_of_each};
use crate::config::Settings;
use crate::dump::Dump;
use crate::lint::{Context, Source};
use crate::memory::live_unpadded_bytes;
use crate::report::check::check_and;
use crate::report::diff::{DiffReport, Held, ModuleDiff, Side, diff};
use crate::report::report::{Buffer, Details, Live, Options, Report};
use crate::report::{Space, bytes, total_bytes};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Changes of buffers that one page holds, of all modules together.
const MOST_CHANGES: usize = 12_000;

/// What a page holds of each module, of however many.
const LEAST_CHANGES: usize = 100;

/// Buffers whose live ranges one page holds.
const MOST_MEMBERS: usize = 40_000;

/// Live ranges of one side of a change.
const MOST_EQUAL: usize = 200;

/// What a page shows of a comparison.
#[derive(Debug, Serialize)]
pub struct DiffViewer {
    /// The comparison; where it is too large for a page, the largest changes of buffers alone.
    pub diff: DiffReport,
    /// What belongs to each module that both sides have, in its order.
    pub modules: Vec<PairView>,
}

/// What a page shows of a module beside its comparison.
#[derive(Debug, Serialize)]
pub struct PairView {
    /// The old side.
    pub old: SideView,
    /// The new side.
    pub new: SideView,
    /// Where the buffers of each change are, in their order.
    pub buffers: Vec<Places>,
    /// What the page does not hold.
    pub left_out: Vec<String>,
}

/// A module of one side.
#[derive(Debug, Serialize)]
pub struct SideView {
    /// Which stage of compilation the text is.
    pub stage: String,
    /// Why its figures are not exact.
    pub caveats: Vec<String>,
    /// What may be used of the memory of a device.
    pub available_bytes: Option<u64>,
    /// The names of memory spaces other than HBM, by number.
    pub spaces: BTreeMap<i64, String>,
    /// How many program points there are; 0 without a schedule.
    pub points: u32,
    /// The program point at which most is alive.
    pub peak: Option<u32>,
    /// HBM bytes alive from a program point on.
    pub live: Vec<Live>,
    /// What only a dump says.
    #[serde(flatten)]
    pub more: Option<More>,
}

/// What a dump says of a module beside its report.
#[derive(Debug, Default, Serialize)]
pub struct More {
    /// HBM bytes alive from a program point on, without what padding adds.
    pub unpadded: Vec<Live>,
    /// What stands at program points.
    pub steps: Steps,
    /// Of each buffer when it is alive, where there are gaps.
    #[serde(skip)]
    ranges: Vec<Vec<(u32, u32)>>,
    /// Of each buffer how the text has it.
    #[serde(skip)]
    written: Vec<Written>,
}

/// Where the buffers of a change are.
#[derive(Debug, Default, Serialize)]
pub struct Places {
    /// On the old side; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Place>,
    /// On the new side; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Place>,
}

/// Equal buffers of one side.
#[derive(Debug, Serialize)]
pub struct Place {
    /// Their bytes without padding.
    pub unpadded_bytes: u64,
    /// The line that computes the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How the text has the largest of them.
    #[serde(flatten)]
    pub written: Written,
    /// The buffers, the largest first; of very many the first alone.
    pub members: Vec<Member>,
}

/// A buffer.
#[derive(Debug, Serialize)]
pub struct Member {
    /// Its instruction.
    pub instruction: String,
    /// Where in the instruction's result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<u32>,
    /// Its size, padding included.
    pub bytes: u64,
    /// The first program point at which it is alive.
    pub start: Option<u32>,
    /// The last one.
    pub end: Option<u32>,
    /// When it is alive, where a dump shows gaps between them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(u32, u32)>,
}

/// One side of a page: its report, and what belongs to its modules where it is a dump.
#[derive(Debug)]
pub struct PageSide {
    /// The report.
    pub report: Side,
    more: Vec<More>,
}

impl From<Side> for PageSide {
    fn from(report: Side) -> PageSide {
        PageSide { report, more: Vec::new() }
    }
}

impl PageSide {
    /// A dump as one side.
    pub fn of(dump: &Dump, settings: &Settings, done: &(dyn Fn() + Sync)) -> PageSide {
        let (check, taken) = check_and(dump, settings, done, |context, _, _| {
            let details = Details::of(context, Options::default());
            let more = More::of(context, &details);
            (details, more)
        });
        let (details, more) = taken.into_iter().unzip();
        PageSide { report: Report::of(check, details).into(), more }
    }
}

impl More {
    fn of(context: &Context<'_>, details: &Details) -> More {
        let points = context.profile.schedule.len();
        let curve = live_unpadded_bytes(context.profile, &context.module.shapes, 0);
        let steps = Steps::of(context, &curve::thin_again(&details.live, points));
        let ranges = details.buffers.iter().map(|buffer| buffers::ranges(context.profile, buffer));
        More {
            unpadded: curve::thin(curve, points),
            steps,
            ranges: ranges.collect(),
            written: buffers::written(context, &details.buffers),
        }
    }
}

/// Compares two sides, with what a page needs.
pub fn diff_viewer(mut old: PageSide, mut new: PageSide) -> DiffViewer {
    let mut diff = diff(&old.report, &new.report);
    let mut members = MOST_MEMBERS;
    let changes: usize = diff.modules.iter().map(|module| module.buffers.len()).sum();
    let most = if changes <= MOST_CHANGES {
        MOST_CHANGES
    } else {
        (MOST_CHANGES / diff.modules.len().max(1)).max(LEAST_CHANGES)
    };
    let mut modules = Vec::new();
    for module in &mut diff.modules {
        modules.push(pair(module, [&mut old, &mut new], most, &mut members));
    }
    DiffViewer { diff, modules }
}

/// What belongs to a module; cuts off the changes that are too many.
fn pair(
    diff: &mut ModuleDiff,
    sides: [&mut PageSide; 2],
    most: usize,
    members: &mut usize,
) -> PairView {
    let mut left_out = Vec::from_iter(keep_largest(diff, most));
    let [old_at, new_at] = diff.sides;
    let [old, new] = sides;
    let mut place = |held: &Option<Held>, side: &PageSide, at: usize| -> Option<Place> {
        let buffers = &side.report.modules[at].details.buffers;
        held.as_ref().map(|held| Place::of(held, buffers, side.more.get(at), members))
    };
    let places: Vec<Places> = diff
        .buffers
        .iter()
        .map(|change| Places {
            old: place(&change.old, old, old_at),
            new: place(&change.new, new, new_at),
        })
        .collect();
    let count = |place: &Option<Place>| place.as_ref().map_or(0, |place| place.members.len());
    let told = places.iter().map(|places| count(&places.old) + count(&places.new)).sum::<usize>();
    let held = |held: &Option<Held>| held.as_ref().map_or(0, |held| held.members.len());
    let all =
        diff.buffers.iter().map(|change| held(&change.old) + held(&change.new)).sum::<usize>();
    if told < all {
        left_out.push(format!(
            "the live ranges of {} of {all} buffers, of equal ones the smaller",
            all - told
        ));
    }
    let views = [SideView::of(old, old_at), SideView::of(new, new_at)];
    for (view, side) in views.iter().zip(["old", "new"]) {
        if curve::is_long(view.points as usize) {
            left_out.push(format!("{side} side: {}", most_of_each(view.points as usize)));
        }
    }
    left_out.extend(saved(&views));
    let [old, new] = views;
    PairView { old, new, buffers: places, left_out }
}

/// What saved reports do not hold.
fn saved([old, new]: &[SideView; 2]) -> Option<String> {
    let sides = match (&old.more, &new.more) {
        (None, None) => "both sides are saved reports",
        (None, Some(_)) => "the old side is a saved report",
        (Some(_), None) => "the new side is a saved report",
        (Some(_), Some(_)) => return None,
    };
    Some(format!(
        "{sides}, without instructions at program points, the curve without padding and gaps in live ranges"
    ))
}

/// Keeps the largest changes, which stand first; says what went.
fn keep_largest(diff: &mut ModuleDiff, most: usize) -> Option<String> {
    let gone = diff.buffers.split_off(diff.buffers.len().min(most));
    let largest = gone.iter().map(|change| change.hbm().distance_bytes()).max()?;
    let sum = total_bytes(gone.iter().map(|change| change.hbm().distance_bytes()));
    Some(format!(
        "{} small changes of buffers are not on this page, none larger than {} ({} in sum)",
        gone.len(),
        bytes(largest),
        bytes(sum)
    ))
}

impl SideView {
    fn of(side: &mut PageSide, at: usize) -> SideView {
        let module = &side.report.modules[at];
        let peak = module.summary.peak.as_ref();
        let points = peak.map_or(0, |peak| peak.points);
        let space = |space: &Space| (space.memory_space, space.name.clone().into_owned());
        // Each module belongs to one pair: what belongs to it is needed once.
        let more = side.more.get_mut(at).map(std::mem::take);
        SideView {
            stage: module.summary.stage.clone(),
            caveats: module.summary.caveats.clone(),
            available_bytes: module.summary.hbm.available_bytes,
            spaces: module.summary.spaces.iter().map(space).collect(),
            points,
            peak: peak.map(|peak| peak.point),
            live: curve::thin_again(&module.details.live, points as usize),
            more,
        }
    }
}

impl Place {
    /// Takes the members that it tells from what the page may still hold.
    fn of(held: &Held, buffers: &[Buffer], more: Option<&More>, left: &mut usize) -> Place {
        let mut members: Vec<(usize, &Buffer)> =
            held.members.iter().filter_map(|&at| Some((at, buffers.get(at)?))).collect();
        let unpadded_bytes = total_bytes(members.iter().map(|(_, buffer)| buffer.unpadded_bytes));
        members.sort_by_key(|(_, buffer)| (Reverse(buffer.bytes), buffer.start));
        let source = members.iter().filter_map(|(_, buffer)| buffer.source.clone()).min();
        members.truncate(MOST_EQUAL.min(*left));
        *left -= members.len();
        let written = |&(at, _): &(usize, _)| more?.written.get(at).cloned();
        let written = members.first().and_then(written).unwrap_or_default();
        let ranges = |at: usize| more?.ranges.get(at).cloned();
        let member = |(at, buffer)| Member::of(buffer, ranges(at).unwrap_or_default());
        let members = members.into_iter().map(member).collect();
        Place { unpadded_bytes, source, written, members }
    }
}

impl Member {
    fn of(buffer: &Buffer, ranges: Vec<(u32, u32)>) -> Member {
        Member {
            instruction: buffer.instruction.clone(),
            index: buffer.index.clone(),
            bytes: buffer.bytes,
            start: buffer.start,
            end: buffer.end,
            ranges,
        }
    }
}
