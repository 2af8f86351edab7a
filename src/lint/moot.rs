//! Findings in; those out that have something to say once the others' remedies are done. Two rules can
//! see one mistake in different buffers: the remedy of the one that saves most leaves the other
//! nothing, and the other is "also seen".

use super::overlap::{saving, speak_for};
use super::{Context, Finding, Kind, Level, Remedy, all_rules};
use crate::config::total_bytes;
use crate::memory::{BufferId, Edit};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// What a remedy must leave of another finding's bytes, or of its saving, for that one to be moot.
const LEFT: f64 = 0.1;

/// What a remedy must leave of arguments for their copies to be its own matter: a donated array that is
/// split is updated in place more often than not (measured: eight copies went away with it).
const LEFT_OF_COPIED: f64 = 0.5;

/// Leaves out the findings that another one speaks for. What the remedies of two warnings save together
/// is asked of the model.
pub fn fold_moot(context: &Context<'_>, findings: Vec<Finding>) -> Vec<Finding> {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|&at| {
        let finding = &findings[at];
        (Reverse(saving(finding)), Reverse(finding.level), at)
    });
    let mut findings: Vec<Option<Finding>> = findings.into_iter().map(Some).collect();
    for (rank, &at) in order.iter().enumerate() {
        let Some(mut speaker) = findings.get_mut(at).and_then(Option::take) else { continue };
        let remedy = Done::of(context, &speaker);
        for (other_rank, &other) in order.iter().enumerate() {
            let Some(slot) = findings.get_mut(other) else { continue };
            let is_told = |other: &mut Finding| {
                let done = remedy.as_ref().filter(|_| may_speak_for(&speaker, other));
                let saves_less = other_rank > rank;
                saves_less && is_one_mistake(&speaker, other)
                    || done.is_some_and(|done| done.shrinks_copied(other))
                    || saves_less && done.is_some_and(|done| done.leaves_nothing(&speaker, other))
            };
            if let Some(told) = slot.take_if(is_told) {
                speak_for(&mut speaker, told);
            }
        }
        findings[at] = Some(speaker);
    }
    findings.into_iter().flatten().collect()
}

/// Whether the rules themselves say that two findings come from one mistake.
fn is_one_mistake(speaker: &Finding, other: &Finding) -> bool {
    speaker.mistake.is_some() && speaker.mistake == other.mistake && speaker.rule != other.rule
}

/// What costs nothing is never hidden behind what costs compute, nor a warning behind a note.
fn may_speak_for(speaker: &Finding, other: &Finding) -> bool {
    let (of_speaker, of_other) = (kind(speaker.rule), kind(other.rule));
    speaker.rule != other.rule
        && other.level <= speaker.level
        && of_other != Some(Kind::Limit)
        && (of_speaker != Some(Kind::Trade) || of_other == Some(Kind::Trade))
}

fn kind(rule: &str) -> Option<Kind> {
    all_rules().iter().map(|rule| rule.meta()).find(|meta| meta.name == rule).map(|meta| meta.kind)
}

/// The remedy with a figure that leaves least.
fn best(finding: &Finding) -> Option<&Remedy> {
    let priced = finding.remedies.iter().filter(|remedy| remedy.required_bytes_after.is_some());
    priced.min_by_key(|remedy| remedy.required_bytes_after).filter(|best| !best.edits.is_empty())
}

/// A finding's best remedy, done.
struct Done<'c, 'a> {
    context: &'c Context<'a>,
    edits: Vec<Edit>,
    /// What is left of each buffer.
    left: FxHashMap<BufferId, u64>,
}

impl<'c, 'a> Done<'c, 'a> {
    fn of(context: &'c Context<'a>, finding: &Finding) -> Option<Done<'c, 'a>> {
        let edits = best(finding)?.edits.clone();
        let mut left: FxHashMap<BufferId, u64> = FxHashMap::default();
        for edit in &edits {
            let (buffer, bytes) = match *edit {
                Edit::Remove(buffer) => (buffer, 0),
                Edit::Shrink { buffer, bytes } => (buffer, bytes),
                Edit::Donate { .. } | Edit::EndAt { .. } => continue,
            };
            let known = left.entry(buffer).or_insert(bytes);
            *known = bytes.min(*known);
        }
        Some(Done { context, edits, left })
    }

    /// Whether another finding has nothing to say any more.
    fn leaves_nothing(&self, speaker: &Finding, other: &Finding) -> bool {
        self.leaves(&other.buffers) <= LEFT || self.saves_all(speaker, other)
    }

    /// Whether the arguments that the other's buffers are copies of become small.
    fn shrinks_copied(&self, other: &Finding) -> bool {
        self.leaves(&other.copies_of) <= LEFT_OF_COPIED
    }

    /// The share of some buffers' bytes that is left; all of no bytes.
    fn leaves(&self, buffers: &[BufferId]) -> f64 {
        let size = |id: &BufferId| self.context.profile.buffers.get(id.0 as usize);
        let sizes = || buffers.iter().filter_map(|id| Some((id, size(id)?.size_bytes)));
        let left = |(id, size)| self.left.get(id).map_or(size, |&left: &u64| left.min(size));
        match total_bytes(sizes().map(|(_, size)| size)) {
            0 => 1.0,
            all => total_bytes(sizes().map(left)) as f64 / all as f64,
        }
    }

    /// Whether the other's remedy saves hardly anything on top, or no longer what makes a warning:
    /// asked for warnings alone.
    fn saves_all(&self, speaker: &Finding, other: &Finding) -> bool {
        let (Some(remedy), Some(alone)) = (best(other), saving(other)) else { return false };
        if other.level < Level::Warn || saving(speaker) < Some(alone) {
            return false;
        }
        let both = [self.edits.as_slice(), &remedy.edits].concat();
        let after = self.context.required_after(&self.edits);
        let (Some(after), Some(both)) = (after, self.context.required_after(&both)) else {
            return false;
        };
        let on_top = after.saturating_sub(both);
        let is_material = |bytes| {
            let share = self.context.settings.materiality_of(other.rule).min_share;
            self.context.is_share(bytes, share)
        };
        (on_top as f64) < alone as f64 * LEFT || is_material(alone) && !is_material(on_top)
    }
}
