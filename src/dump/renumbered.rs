//! Compiles whose stages stand under two numbers: a program with helper computations of its own
//! (random numbers, FFT) writes `before_optimizations` and the settings under the number it had when
//! the compile began, and the rest under a later one (measured: libtpu 0.0.42.1 and 0.0.52).

use super::name::{FileName, Stage};
use super::program::Group;
use rustc_hash::FxHashMap;

/// Puts the two halves of such compiles together: in one directory, of one module name and build,
/// exactly one group with only what was handed to the compiler and exactly one, of a later number,
/// with only what came out.
pub(super) fn join(groups: Vec<Group>) -> Vec<Group> {
    let mut halves: FxHashMap<Key, (Vec<usize>, Vec<usize>)> = FxHashMap::default();
    for (at, group) in groups.iter().enumerate() {
        let Some(key) = key(group) else { continue };
        let has = |wanted: Stage| group.texts.iter().any(|(stage, _)| *stage == wanted);
        let is_first = has(Stage::BeforeOptimizations);
        let is_second = group.texts.iter().any(|(stage, _)| *stage < Stage::Unnamed);
        let (first, second) = halves.entry(key).or_default();
        match (is_first, is_second) {
            (true, false) => first.push(at),
            (false, true) => second.push(at),
            _ => {}
        }
    }
    let mut into: Vec<Option<usize>> = vec![None; groups.len()];
    for (first, second) in halves.into_values() {
        if let ([first], [second]) = (first.as_slice(), second.as_slice())
            && number(&groups[*first]) < number(&groups[*second])
        {
            into[*first] = Some(*second);
        }
    }
    merge(groups, &into)
}

/// Directory, module name and build.
type Key = (String, String, Option<u64>);

fn key(group: &Group) -> Option<Key> {
    let name = FileName::of_compile(&group.prefix);
    name.number?;
    Some((group.directory.clone(), name.module.to_owned(), name.build))
}

fn number(group: &Group) -> Option<u64> {
    FileName::of_compile(&group.prefix).number
}

/// Moves the files of each group that goes into another one.
fn merge(groups: Vec<Group>, into: &[Option<usize>]) -> Vec<Group> {
    let mut places: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
    for (from, target) in into.iter().enumerate() {
        let Some(target) = *target else { continue };
        let Some(moved) = places.get_mut(from).and_then(Option::take) else { continue };
        if let Some(Some(group)) = places.get_mut(target) {
            group.texts.extend(moved.texts);
            group.sides.extend(moved.sides);
            group.backend = group.backend.or(moved.backend);
        }
    }
    places.into_iter().flatten().collect()
}
