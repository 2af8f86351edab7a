//! Which meetings of values are phis: those where values still differ after all that are the same
//! have been joined (facts: tpu-memory section 2; XLA `PhiGraph::Optimize`).

use super::values::Source;
use super::{MemoryError, ValueId};
use petgraph::graph::{DiGraph, NodeIndex};
use smallvec::SmallVec;

/// A position where values meet.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    pub(super) position: u32,
    pub(super) inputs: SmallVec<[u32; 2]>,
}

/// What [`settle`] finds.
pub(super) struct Settled {
    /// Per position its value.
    pub(super) at: Vec<ValueId>,
    /// Meetings that are phis, in the order of their ids.
    pub(super) phis: Vec<u32>,
}

/// What a position comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Value(ValueId),
    Meeting(u32),
}

/// Decides which meetings are phis and numbers them from `first_phi` on, in the order given.
pub(super) fn settle(
    sources: &[Source],
    meetings: &[Meeting],
    order: &[u32],
    own: Vec<ValueId>,
    first_phi: usize,
) -> Result<Settled, MemoryError> {
    let roots = roots(sources, &own)?;
    let inputs: Vec<SmallVec<[Root; 2]>> = meetings
        .iter()
        .enumerate()
        .map(|(number, meeting)| {
            let mut inputs: SmallVec<[Root; 2]> = SmallVec::new();
            for &input in &meeting.inputs {
                let root = roots[input as usize];
                if root != Root::Meeting(number as u32) && !inputs.contains(&root) {
                    inputs.push(root);
                }
            }
            inputs
        })
        .collect();
    let mut joined = closed_sets(&inputs);
    join_equal(&inputs, &mut joined);

    let mut ids = vec![ValueId(u32::MAX); meetings.len()];
    let mut phis = Vec::new();
    for &meeting in order {
        if joined[meeting as usize] == Root::Meeting(meeting) {
            ids[meeting as usize] = ValueId((first_phi + phis.len()) as u32);
            phis.push(meeting);
        }
    }
    let mut value_of = |root: Root| match follow(&mut joined, root) {
        Root::Value(value) => value,
        Root::Meeting(meeting) => ids[meeting as usize],
    };
    let at = roots.iter().map(|&root| value_of(root)).collect();
    Ok(Settled { at, phis })
}

/// For every position the value or meeting that its chain of [`Source::Same`] ends at.
fn roots(sources: &[Source], own: &[ValueId]) -> Result<Vec<Root>, MemoryError> {
    let mut roots: Vec<Option<Root>> = vec![None; sources.len()];
    let mut chain = Vec::new();
    for start in 0..sources.len() {
        let mut at = start;
        let root = loop {
            if let Some(root) = roots[at] {
                break root;
            }
            match sources[at] {
                Source::Own => break Root::Value(own[at]),
                Source::Meets(meeting) => break Root::Meeting(meeting),
                Source::Same(next) => {
                    chain.push(at);
                    if chain.len() > sources.len() {
                        return Err(MemoryError::EndlessForwarding);
                    }
                    at = next as usize;
                }
            }
        };
        roots[at] = Some(root);
        for at in chain.drain(..) {
            roots[at] = Some(root);
        }
    }
    Ok(roots.into_iter().flatten().collect())
}

/// A set of meetings that is closed under "inputs" and has one value from outside is that value.
/// Returns what each meeting is joined with so far (itself where it is not).
fn closed_sets(inputs: &[SmallVec<[Root; 2]>]) -> Vec<Root> {
    let mut graph = DiGraph::<(), ()>::with_capacity(inputs.len(), inputs.len() * 2);
    for _ in inputs {
        graph.add_node(());
    }
    for (number, inputs) in inputs.iter().enumerate() {
        for input in inputs {
            if let Root::Meeting(input) = input {
                graph.add_edge(NodeIndex::new(number), NodeIndex::new(*input as usize), ());
            }
        }
    }
    // Components come out with those they read from first.
    let mut outside: Vec<Outside> = vec![Outside::Nothing; inputs.len()];
    for component in petgraph::algo::kosaraju_scc(&graph) {
        let mut found = Outside::Nothing;
        for &meeting in &component {
            for input in &inputs[meeting.index()] {
                found = found.and(match input {
                    Root::Value(value) => Outside::One(*value),
                    Root::Meeting(input) => outside[*input as usize],
                });
            }
        }
        for meeting in component {
            outside[meeting.index()] = found;
        }
    }
    outside
        .into_iter()
        .enumerate()
        .map(|(number, outside)| match outside {
            Outside::One(value) => Root::Value(value),
            _ => Root::Meeting(number as u32),
        })
        .collect()
}

/// Which values reach a set of meetings from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    Nothing,
    One(ValueId),
    Many,
}

impl Outside {
    fn and(self, other: Outside) -> Outside {
        match (self, other) {
            (Outside::Nothing, found) | (found, Outside::Nothing) => found,
            (Outside::One(left), Outside::One(right)) if left == right => self,
            _ => Outside::Many,
        }
    }
}

/// A meeting all of whose inputs are one value or one other meeting is joined with it; repeated as
/// long as anything changes, by a list of those whose inputs changed.
fn join_equal(inputs: &[SmallVec<[Root; 2]>], joined: &mut [Root]) {
    let mut readers: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); inputs.len()];
    for (number, inputs) in inputs.iter().enumerate() {
        for input in inputs {
            if let Root::Meeting(input) = input {
                readers[*input as usize].push(number as u32);
            }
        }
    }
    let mut work: Vec<u32> = (0..inputs.len() as u32).rev().collect();
    while let Some(number) = work.pop() {
        let itself = Root::Meeting(number);
        if joined[number as usize] != itself {
            continue;
        }
        let mut found = SmallVec::<[Root; 2]>::new();
        for &input in &inputs[number as usize] {
            let input = follow(joined, input);
            if input != itself && !found.contains(&input) {
                found.push(input);
            }
        }
        if let [only] = found[..] {
            joined[number as usize] = only;
            // Those that read it now read what it is joined with.
            let moved = std::mem::take(&mut readers[number as usize]);
            work.extend(moved.iter().rev());
            if let Root::Meeting(only) = only {
                readers[only as usize].extend(moved);
            }
        }
    }
}

/// What a root is joined with in the end. Shortens the way for those that ask later.
fn follow(joined: &mut [Root], mut root: Root) -> Root {
    while let Root::Meeting(meeting) = root {
        let next = joined[meeting as usize];
        let Root::Meeting(following) = next else { return next };
        if following == meeting {
            break;
        }
        joined[meeting as usize] = joined[following as usize];
        root = joined[meeting as usize];
    }
    root
}
