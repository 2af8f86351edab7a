//! How often a computation runs in one execution of the program.

use super::Dataflow;
use crate::hlo::{CallRole, ComputationId};

/// How often something runs in one execution of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// Not in a loop.
    Once,
    /// In loops that run so many times in all.
    Times(u64),
    /// In a loop whose trip count the text does not tell.
    Unknown,
}

/// The most callers that are followed upwards: loops nest less deeply.
const DEPTH: usize = 64;

/// From a computation up through its callers to the entry, the trip counts of all loops multiplied.
/// Where a computation has several callers, its first one counts.
pub(super) fn repetition(graph: &Dataflow<'_>, computation: ComputationId) -> Repetition {
    let module = graph.module();
    let mut at = computation;
    let mut found = Repetition::Once;
    for _ in 0..DEPTH {
        let Some(caller) = graph.callers(at).first() else { break };
        if matches!(caller.role, CallRole::WhileBody | CallRole::WhileCondition) {
            let trip_count = graph.loop_of(at).and_then(|found| found.trip_count);
            found = match (found, trip_count) {
                (Repetition::Once, Some((n, _))) => Repetition::Times(n),
                (Repetition::Times(inner), Some((n, _))) => {
                    Repetition::Times(inner.saturating_mul(n))
                }
                _ => Repetition::Unknown,
            };
        }
        at = module.instruction(caller.instruction).computation;
    }
    found
}
