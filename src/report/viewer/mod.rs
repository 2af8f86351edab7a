//! A dump in; the report out, with what a page needs to be looked at beside it: curves, program
//! points, and of each buffer its text, layout, users and aliases. What is too much for a page is
//! left out, and said.

mod buffers;
mod curve;
mod diff;
mod layout;
mod steps;
mod what_if;

use crate::config::Settings;
use crate::dump::Dump;
use crate::lint::{Context, Finding};
use crate::memory::{live_bytes, live_unpadded_bytes};
use crate::report::check::{CheckReport, check_and};
use crate::report::report::{Details, Live, Options, Report};
use crate::report::vmem::{self, Kernel};
use crate::report::way_out::WayOut;
use serde::Serialize;
use what_if::{CurvesLeft, Positions};

pub use buffers::{BufferView, Category, Written};
pub use diff::{
    DiffViewer, Member, More, PageSide, PairView, Place, Places, SideView, diff_viewer,
};
pub use steps::Steps;
pub use what_if::{After, Becomes, FindingView, PathView, WhatIf};

/// Buffers that one page holds, of all modules together.
const MOST_BUFFERS: usize = 24_000;

/// What a page shows.
#[derive(Debug, Serialize)]
pub struct Viewer {
    /// The report; where a module is too large for a page, its largest buffers alone.
    pub report: Report,
    /// What belongs to each module of the report, in its order.
    pub modules: Vec<ModuleView>,
    /// What belongs to each finding of the report, in its order.
    pub findings: Vec<FindingView>,
}

/// What a page shows of a module beside its report.
#[derive(Debug, Serialize)]
pub struct ModuleView {
    /// HBM bytes alive from a program point on, without what padding adds.
    pub unpadded: Vec<Live>,
    /// The program points.
    pub steps: Steps,
    /// The allocations, by their number.
    pub allocations: Vec<AllocationView>,
    /// What belongs to each buffer of the report, in its order.
    pub buffers: Vec<BufferView>,
    /// What belongs to the paths of the way out, in their order.
    pub paths: Vec<Option<PathView>>,
    /// The memory spaces besides HBM that have buffers.
    pub spaces: Vec<SpaceView>,
    /// What `vmem` says of the kernels, the one that uses most of its limit first.
    pub kernels: Vec<Kernel>,
    /// What the page does not hold.
    pub left_out: Vec<String>,
}

/// An allocation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AllocationView {
    /// The memory space (0 is HBM).
    pub memory_space: i64,
    /// Its size.
    pub bytes: u64,
}

/// A memory space besides HBM.
#[derive(Debug, Serialize)]
pub struct SpaceView {
    /// Its number.
    pub memory_space: i64,
    /// Bytes alive in it from a program point on, padding included.
    pub live: Vec<Live>,
    /// The same without what padding adds.
    pub unpadded: Vec<Live>,
}

/// What is taken of a module while its analyses are there.
struct Taken {
    details: Details,
    view: ModuleView,
    findings: Vec<FindingView>,
}

/// The report of all programs of a dump, with what a page needs.
pub fn viewer(dump: &Dump, settings: &Settings, done: &(dyn Fn() + Sync)) -> Viewer {
    let most = (MOST_BUFFERS / dump.programs.len().max(1)).max(100);
    let (check, taken) = check_and(dump, settings, done, |context, findings, way_out| {
        take(context, findings, way_out, most)
    });
    let (mut details, mut modules, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for module in taken {
        details.push(module.details);
        modules.push(module.view);
        found.extend(module.findings);
    }
    let files = files(&check);
    for ((details, view), file) in details.iter().zip(&mut modules).zip(&files) {
        // What a kernel is made of is read from the text again, where there is one.
        if !details.kernels.is_empty() {
            view.kernels = vmem::of_program(dump, file, settings);
        }
    }
    let findings = what_if::in_order(found, &check.findings, &files);
    Viewer { report: Report::of(check, details), modules, findings }
}

/// The texts of the modules, in their order.
fn files(check: &CheckReport) -> Vec<String> {
    check.modules.iter().map(|module| module.file.clone()).collect()
}

/// What is said of a long curve.
fn most_of_each(points: usize) -> String {
    format!("curves show the most of each {} program points", curve::points_a_step(points))
}

fn take(
    context: &Context<'_>,
    findings: &[Finding],
    way_out: Option<&WayOut>,
    most: usize,
) -> Taken {
    let (profile, shapes) = (context.profile, &context.module.shapes);
    let mut details = Details::of(context, Options { stacks: true });
    let mut left_out = buffers::keep_largest(&mut details.buffers, most);
    let points = profile.schedule.len();
    if curve::is_long(points) {
        left_out.push(most_of_each(points));
    }
    let lives = |curve| curve::thin(curve, points);
    details.live = lives(live_bytes(profile, shapes, 0));
    let allocation = |allocation: &crate::memory::Allocation| AllocationView {
        memory_space: allocation.memory_space,
        bytes: allocation.size_bytes,
    };
    let others = profile.spaces.iter().map(|space| space.memory_space).filter(|&space| space != 0);
    let spaces = others.map(|memory_space| SpaceView {
        memory_space,
        live: lives(live_bytes(profile, shapes, memory_space)),
        unpadded: lives(live_unpadded_bytes(profile, shapes, memory_space)),
    });
    let mut left = CurvesLeft::of(context);
    let positions = Positions::of(context, &details.buffers);
    let view = ModuleView {
        unpadded: lives(live_unpadded_bytes(profile, shapes, 0)),
        steps: Steps::of(context, &details.live),
        allocations: profile.allocations.iter().map(allocation).collect(),
        buffers: buffers::views(context, &details.buffers),
        paths: what_if::paths(context, way_out, &positions, &mut left),
        spaces: spaces.collect(),
        kernels: Vec::new(),
        left_out,
    };
    let findings = what_if::views(context, findings, &positions, &mut left);
    Taken { details, view, findings }
}
