//! The buffers of a module in; equal ones as one, under what stays the same when instructions are
//! renumbered, out.

use super::report::{Buffer, Kind};
use crate::lint::Source;
use std::collections::BTreeMap;

/// What buffers are known by: not by the names of their instructions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Why they exist.
    pub kind: Kind,
    /// Whether they are arguments whose memory a result takes.
    pub is_donated: bool,
    /// The operation in the user's program, or an argument's path.
    pub op_name: String,
    /// The opcode.
    pub opcode: String,
    /// The shape with its layout.
    pub shape: String,
    /// The memory space.
    pub memory_space: i64,
}

/// Equal buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equal {
    /// What they are known by.
    pub key: Key,
    /// How many.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of all of them without padding.
    pub unpadded_bytes: u64,
    /// How many are alive at the peak of HBM.
    pub alive: u64,
    /// The line that computes the first of them.
    pub source: Option<Source>,
    /// Which of the module's buffers they are, by position.
    pub members: Vec<usize>,
}

/// Equal buffers of a module, by key.
pub fn equal(buffers: &[Buffer]) -> Vec<Equal> {
    let mut by_key: BTreeMap<Key, Equal> = BTreeMap::new();
    for (at, buffer) in buffers.iter().enumerate() {
        let key = Key {
            kind: buffer.kind,
            is_donated: buffer.is_donated,
            op_name: buffer.op_name.clone(),
            opcode: buffer.opcode.clone(),
            shape: buffer.shape.clone(),
            memory_space: buffer.memory_space,
        };
        let equal = by_key.entry(key).or_insert_with_key(|key| Equal {
            key: key.clone(),
            count: 0,
            bytes: 0,
            unpadded_bytes: 0,
            alive: 0,
            source: None,
            members: Vec::new(),
        });
        equal.count += 1;
        equal.members.push(at);
        equal.bytes = equal.bytes.saturating_add(buffer.bytes);
        equal.unpadded_bytes = equal.unpadded_bytes.saturating_add(buffer.unpadded_bytes);
        equal.alive += u64::from(buffer.is_alive_at_peak);
        equal.source = match (equal.source.take(), &buffer.source) {
            (Some(known), Some(other)) => Some(known.min(other.clone())),
            (known, other) => known.or_else(|| other.clone()),
        };
    }
    by_key.into_values().collect()
}
