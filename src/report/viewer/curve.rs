//! A curve in; one short enough to draw out.

use crate::memory::Curve;
use crate::report::report::Live;

/// Steps that a curve has at most; no screen is wider.
const MOST_STEPS: usize = 16_384;

/// Whether a program has more points than a curve shows one by one.
pub(super) const fn is_long(points: usize) -> bool {
    points > MOST_STEPS
}

/// How many program points stand in one step of a thinned curve.
pub(super) const fn points_a_step(points: usize) -> usize {
    if is_long(points) { points.div_ceil(MOST_STEPS) } else { 1 }
}

/// The curve of a report, where it is long the most of each step.
pub(super) fn thin_again(live: &[Live], points: usize) -> Vec<Live> {
    thin(live.iter().map(|live| (live.point, live.bytes)).collect(), points)
}

/// The curve, where it is long the most of each step: a peak is never cut off.
pub(super) fn thin(curve: Curve, points: usize) -> Vec<Live> {
    let each = points_a_step(points) as u32;
    let live = |(point, bytes)| Live { point, bytes };
    if each == 1 {
        return curve.into_iter().map(live).collect();
    }
    let mut thinned: Vec<Live> = Vec::new();
    let (mut before, mut at) = (0, 0);
    for start in (0..points as u32).step_by(each as usize) {
        let end = start.saturating_add(each);
        let begins_here = curve.get(at).is_some_and(|&(point, _)| point == start);
        let mut most = if begins_here { 0 } else { before };
        while let Some(&(_, bytes)) = curve.get(at).filter(|(point, _)| *point < end) {
            (most, before, at) = (most.max(bytes), bytes, at + 1);
        }
        if thinned.last().is_none_or(|last| last.bytes != most) {
            thinned.push(live((start, most)));
        }
    }
    thinned
}

#[cfg(test)]
mod tests {
    use super::{MOST_STEPS, thin};

    #[test]
    fn the_peak_of_a_long_curve_stays() {
        let points = 4 * MOST_STEPS;
        let curve = vec![(0, 5), (2, 9), (3, 1), (4, 2), (9, 7), (points as u32 - 1, 100)];
        let thinned: Vec<_> =
            thin(curve.clone(), points).iter().map(|l| (l.point, l.bytes)).collect();
        assert_eq!(thinned, [(0, 9), (4, 2), (8, 7), (points as u32 - 4, 100)]);
        assert_eq!(thin(curve.clone(), 10).len(), curve.len());
    }
}
