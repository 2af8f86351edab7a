//! Edits of a program's memory, for asking what a remedy would save.

use super::analysis::Analysis;
use super::live_ranges::separate;
use super::{BufferId, LiveRange, ValueId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A change to what a program keeps in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A buffer is gone, with all its values.
    Remove(BufferId),
    /// No value of a buffer is larger than this. Bytes.
    Shrink {
        /// The buffer.
        buffer: BufferId,
        /// Its new size.
        bytes: u64,
    },
    /// A result takes a parameter's memory (donation): both values, in either order.
    Donate {
        /// A value of the entry parameter.
        parameter: ValueId,
        /// A value of the result.
        output: ValueId,
    },
    /// A value is not alive behind a program point.
    EndAt {
        /// The value.
        value: ValueId,
        /// Its last program point.
        point: u32,
    },
}

/// Sizes, live ranges and aliases after all edits.
#[derive(Clone, Debug)]
pub(super) struct Effective {
    bytes: Vec<u64>,
    ranges: Vec<Option<LiveRange>>,
    /// Per buffer, whether it is gone.
    is_removed: Vec<bool>,
    /// Results that take a parameter's memory: the parameter's buffer, the result's.
    donations: Vec<(BufferId, BufferId)>,
    /// The same by the parameter's buffer.
    donated_to: FxHashMap<BufferId, SmallVec<[BufferId; 1]>>,
    /// Per buffer, whether it takes a parameter's memory.
    is_donated: Vec<bool>,
    /// Per buffer its size: the largest of its values'.
    buffer_bytes: Vec<u64>,
}

impl Effective {
    /// Applies edits. Those that name a value or buffer that does not exist do nothing.
    pub(super) fn new(analysis: &Analysis<'_, '_>, edits: &[Edit]) -> Effective {
        let count = analysis.buffers.len();
        let mut found = Effective {
            bytes: analysis.sizes.bytes.clone(),
            ranges: analysis.ranges.of.clone(),
            is_removed: vec![false; count],
            donations: Vec::new(),
            donated_to: FxHashMap::default(),
            is_donated: vec![false; count],
            buffer_bytes: Vec::new(),
        };
        for edit in edits {
            found.apply(analysis, edit);
        }
        found.end_donated_parameters(analysis);
        for &(parameter, output) in &found.donations {
            let mut values = analysis.buffers.values(parameter).to_vec();
            values.extend(analysis.buffers.values(output));
            separate(&values, &mut found.ranges);
        }
        found.buffer_bytes = analysis
            .buffers
            .ids()
            .map(|buffer| {
                let values = analysis.buffers.values(buffer);
                values.iter().map(|value| found.bytes[value.0 as usize]).max().unwrap_or(0)
            })
            .collect();
        found
    }

    fn apply(&mut self, analysis: &Analysis<'_, '_>, edit: &Edit) {
        let buffer_of = |value: ValueId| analysis.buffers.of.get(value.0 as usize).copied();
        match *edit {
            Edit::Remove(buffer) => {
                if let Some(removed) = self.is_removed.get_mut(buffer.0 as usize) {
                    *removed = true;
                }
            }
            Edit::Shrink { buffer, bytes } if (buffer.0 as usize) < analysis.buffers.len() => {
                for value in analysis.buffers.values(buffer) {
                    let size = &mut self.bytes[value.0 as usize];
                    *size = (*size).min(bytes);
                }
            }
            Edit::Shrink { .. } => {}
            Edit::Donate { parameter, output } => {
                if let (Some(to), Some(from)) = (buffer_of(parameter), buffer_of(output)) {
                    self.donate(analysis, to, from);
                }
            }
            Edit::EndAt { value, point } => {
                if let Some(Some(range)) = self.ranges.get_mut(value.0 as usize) {
                    range.end = range.end.min(point.max(range.start));
                }
            }
        }
    }

    pub(super) fn value_bytes(&self, value: ValueId) -> u64 {
        self.bytes[value.0 as usize]
    }

    pub(super) fn range(&self, value: ValueId) -> Option<LiveRange> {
        self.ranges[value.0 as usize]
    }

    pub(super) fn buffer_bytes(&self, buffer: BufferId) -> u64 {
        self.buffer_bytes[buffer.0 as usize]
    }

    pub(super) fn is_removed(&self, buffer: BufferId) -> bool {
        self.is_removed[buffer.0 as usize]
    }

    /// The results that an edit lets take the memory of a parameter's buffer.
    pub(super) fn donated(&self, parameter: BufferId) -> impl Iterator<Item = BufferId> {
        self.donated_to.get(&parameter).into_iter().flatten().copied()
    }

    /// Whether an edit lets a result's buffer take a parameter's memory.
    pub(super) fn is_donated(&self, output: BufferId) -> bool {
        self.is_donated[output.0 as usize]
    }

    /// Lets a result take the memory of a parameter that is not donated yet.
    fn donate(&mut self, analysis: &Analysis<'_, '_>, parameter: BufferId, output: BufferId) {
        let facts = |buffer: BufferId| &analysis.facts[buffer.0 as usize];
        if parameter == output
            || facts(parameter).parameter.is_none()
            || facts(output).parameter.is_some()
            || facts(output).has_constant
            || self.is_donated(output)
        {
            return;
        }
        self.donations.push((parameter, output));
        self.donated_to.entry(parameter).or_default().push(output);
        self.is_donated[output.0 as usize] = true;
    }

    /// The values of a parameter that is donated end with their last use.
    fn end_donated_parameters(&mut self, analysis: &Analysis<'_, '_>) {
        if self.donations.is_empty() {
            return;
        }
        for &(value, end) in &analysis.ranges.undonated {
            if self.donated_to.contains_key(&analysis.buffers.of[value.0 as usize])
                && let Some(range) = &mut self.ranges[value.0 as usize]
            {
                range.end = range.end.min(end);
            }
        }
    }
}
