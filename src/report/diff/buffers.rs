//! Buffers of two sides in; those that came, went, grew, shrank or changed out. They are known by
//! operation, opcode and shape, never by the name of an instruction.

use super::Change;
use crate::lint::Source;
use crate::report::equal::{Equal, equal};
use crate::report::report::{Buffer, Kind};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::hash::Hash;

/// What became of equal buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The new side alone has them.
    New,
    /// The old side alone has them.
    Gone,
    /// More bytes: more of them, or of a larger shape.
    Grown,
    /// Fewer bytes.
    Shrunk,
    /// As many bytes, of another shape or kind (an argument that is donated) or in another memory
    /// space.
    Changed,
}

/// What became of equal buffers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BufferChange {
    /// What became of them.
    pub change: What,
    /// The operation in the user's program, or an argument's path.
    pub op_name: String,
    /// The opcode.
    pub opcode: String,
    /// The user's line.
    pub source: Option<Source>,
    /// The buffers of the old side.
    pub old: Option<Held>,
    /// The buffers of the new side.
    pub new: Option<Held>,
    /// Their bytes.
    pub size: Change,
}

/// Equal buffers of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Held {
    /// The shape with its layout.
    pub shape: String,
    /// Why they exist.
    pub kind: Kind,
    /// Whether they are arguments whose memory a result takes.
    pub is_donated: bool,
    /// The memory space (0 is HBM).
    pub memory_space: i64,
    /// How many.
    pub count: u64,
    /// How many are alive at the peak of HBM.
    pub alive: u64,
    /// Which of the module's buffers they are, by position.
    #[serde(skip)]
    pub(in crate::report) members: Vec<usize>,
}

/// What changed, what differs most in HBM first.
pub(super) fn changes(old: &[Buffer], new: &[Buffer]) -> Vec<BufferChange> {
    let (mut old, mut new) = (equal(old), equal(new));
    let mut changes = Vec::new();
    // Each step looks at what the one before left over.
    let steps: [fn(&Equal) -> Likeness; 3] = [by_shape, by_operation, elsewhere];
    for step in steps {
        for (old, new) in take_pairs(&mut old, &mut new, step) {
            changes.extend(change(Some(old), Some(new)));
        }
    }
    changes.extend(old.into_iter().filter_map(|old| change(Some(old), None)));
    changes.extend(new.into_iter().filter_map(|new| change(None, Some(new))));
    changes.sort_by(|a, b| {
        let key = |change: &BufferChange| {
            (change.hbm().distance_bytes(), change.size.old_bytes.max(change.size.new_bytes))
        };
        key(b).cmp(&key(a)).then_with(|| (&a.op_name, &a.opcode).cmp(&(&b.op_name, &b.opcode)))
    });
    changes
}

/// What two groups of buffers have in common when they are taken for the same.
type Likeness = (String, String, String, Option<Kind>, i64, u64);

/// The same operation, opcode and shape, of one kind; an argument may be donated or not.
fn by_shape(equal: &Equal) -> Likeness {
    let key = &equal.key;
    let shape = key.shape.clone();
    (key.op_name.clone(), key.opcode.clone(), shape, Some(key.kind), key.memory_space, 0)
}

/// The same operation and opcode: the shape has changed. Without an operation there is nothing but the
/// shape that tells two apart.
fn by_operation(equal: &Equal) -> Likeness {
    let likeness = by_shape(equal);
    let is_tuple = equal.key.shape.starts_with('(');
    match equal.key.op_name.is_empty() || is_tuple {
        true => likeness,
        false => {
            let (op_name, opcode, _, kind, space, count) = likeness;
            (op_name, opcode, String::new(), kind, space, count)
        }
    }
}

/// As many of the same operation, opcode and shape in another memory space, or of another kind.
fn elsewhere(equal: &Equal) -> Likeness {
    let (op_name, opcode, shape, ..) = by_shape(equal);
    let space = format!("S({})", equal.key.memory_space);
    (op_name, opcode, shape.replace(&space, ""), None, 0, equal.count)
}

/// Takes those of both sides that have a key in common, the largest of a key first.
fn take_pairs<K: Hash + Eq>(
    old: &mut Vec<Equal>,
    new: &mut Vec<Equal>,
    key: impl Fn(&Equal) -> K,
) -> Vec<(Equal, Equal)> {
    // From the end of a list the largest is taken first.
    old.sort_by_key(|equal| equal.bytes);
    new.sort_by_key(|equal| std::cmp::Reverse(equal.bytes));
    let mut by_key: FxHashMap<K, Vec<Equal>> = FxHashMap::default();
    for equal in old.drain(..) {
        by_key.entry(key(&equal)).or_default().push(equal);
    }
    let mut pairs = Vec::new();
    let mut left = Vec::new();
    for equal in new.drain(..) {
        match by_key.get_mut(&key(&equal)).and_then(Vec::pop) {
            Some(found) => pairs.push((found, equal)),
            None => left.push(equal),
        }
    }
    old.extend(by_key.into_values().flatten());
    old.sort_by(|a, b| a.key.cmp(&b.key));
    *new = left;
    pairs
}

/// What became of one pair; `None` where nothing did.
fn change(old: Option<Equal>, new: Option<Equal>) -> Option<BufferChange> {
    let bytes = |equal: &Option<Equal>| equal.as_ref().map_or(0, |equal| equal.bytes);
    let size = Change::new(bytes(&old), bytes(&new));
    let is_alike = |old: &Equal, new: &Equal| old.key == new.key && old.count == new.count;
    let change = match (&old, &new) {
        (None, _) => What::New,
        (_, None) => What::Gone,
        _ if size.new_bytes > size.old_bytes => What::Grown,
        _ if size.new_bytes < size.old_bytes => What::Shrunk,
        (Some(old), Some(new)) if is_alike(old, new) => return None,
        _ => What::Changed,
    };
    let known = new.as_ref().or(old.as_ref())?;
    Some(BufferChange {
        change,
        op_name: known.key.op_name.clone(),
        opcode: known.key.opcode.clone(),
        source: known.source.clone(),
        old: old.map(Held::of),
        new: new.map(Held::of),
        size,
    })
}

impl Held {
    fn of(equal: Equal) -> Held {
        Held {
            shape: equal.key.shape,
            kind: equal.key.kind,
            is_donated: equal.key.is_donated,
            memory_space: equal.key.memory_space,
            count: equal.count,
            alive: equal.alive,
            members: equal.members,
        }
    }
}

impl BufferChange {
    /// The bytes in HBM.
    pub fn hbm(&self) -> Change {
        let in_hbm = |held: &Option<Held>, bytes: u64| {
            held.as_ref().filter(|held| held.memory_space == 0).map_or(0, |_| bytes)
        };
        Change::new(in_hbm(&self.old, self.size.old_bytes), in_hbm(&self.new, self.size.new_bytes))
    }
}
