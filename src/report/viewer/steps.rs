//! The schedule in; what stands at each program point out, each source line once.

use crate::lint::Context;
use crate::report::report::Live;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Program points that a page names one by one.
const MOST_STEPS: usize = 40_000;

/// What stands at program points.
#[derive(Debug, Default, Serialize)]
pub struct Steps {
    /// How many program points there are.
    pub points: usize,
    /// The points that are named; absent where it is all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<u32>>,
    /// The instruction at each.
    pub instructions: Vec<String>,
    /// The line at each, a position in `lines`.
    pub sources: Vec<u32>,
    /// The lines of the user's program; the first stands for none.
    pub lines: Vec<String>,
}

impl Steps {
    /// Every point of a short program, those at which the curve changes of a long one.
    pub(super) fn of(context: &Context<'_>, live: &[Live]) -> Steps {
        let schedule = &context.profile.schedule;
        let is_long = schedule.len() > MOST_STEPS;
        let at = is_long.then(|| live.iter().map(|live| live.point).collect::<Vec<u32>>());
        let mut steps = Steps { points: schedule.len(), ..Steps::default() };
        let mut known: FxHashMap<String, u32> = FxHashMap::default();
        steps.lines.push(String::new());
        let named: Vec<u32> = at.clone().unwrap_or_else(|| (0..schedule.len() as u32).collect());
        for &id in named.iter().filter_map(|&point| schedule.get(point as usize)) {
            let line = context.source(id).map(|source| source.to_string()).unwrap_or_default();
            let next = steps.lines.len() as u32;
            let number =
                *known.entry(line.clone()).or_insert(if line.is_empty() { 0 } else { next });
            if number == next {
                steps.lines.push(line);
            }
            steps.sources.push(number);
            steps.instructions.push(context.module.instruction(id).name.to_owned());
        }
        steps.at = at;
        steps
    }
}
