//! The modules of two sides in; which belongs to which out. A module is known by its name; among
//! several of one name by its arguments, and where the name is new by its arguments alone.

use super::report::Parameter;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::hash::Hash;
use xxhash_rust::xxh3::xxh3_64;

/// What a module is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// [`signature`] of its parameters.
    pub signature: String,
    /// Where its text lies below what all texts of the side have in common; empty where that is not known.
    pub folder: String,
}

/// Two modules that belong together, by position, or one that is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// On the old side.
    pub old: Option<usize>,
    /// On the new side.
    pub new: Option<usize>,
}

/// The paths and shapes of the parameters in 16 digits: the same for programs that are called alike.
pub fn signature(parameters: &[Parameter]) -> String {
    let mut text = String::new();
    for parameter in parameters {
        text.extend([parameter.path.as_str(), "\0", parameter.shape.as_str(), "\0"]);
    }
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// Where each of a side's files lies below what all have in common; of a single one its last folder.
pub fn folders<'a>(files: impl Iterator<Item = &'a str>) -> Vec<String> {
    let folder = |file: &'a str| -> Vec<&'a str> {
        let mut parts: Vec<&str> = file.split(['/', '\\']).collect();
        parts.pop();
        parts
    };
    let all: Vec<Vec<&str>> = files.map(folder).collect();
    let Some((first, rest)) = all.split_first() else { return Vec::new() };
    let alike = |parts: &Vec<&str>| first.iter().zip(parts).take_while(|(a, b)| a == b).count();
    let common = rest.iter().map(alike).min().unwrap_or(first.len().saturating_sub(1));
    all.iter().map(|parts| parts.get(common..).unwrap_or_default().join("/")).collect()
}

/// Pairs in the order of the new side, then what only the old side has.
pub fn pair(old: &[Identity], new: &[Identity]) -> Vec<Pair> {
    let mut partner: Vec<Option<usize>> = vec![None; new.len()];
    let mut taken = vec![false; old.len()];
    // Exactly the same first, then the same name at the same place, then in the order in which they stand.
    match_by(old, new, &mut partner, &mut taken, Duplicates::InOrder, |module| {
        (module.name.clone(), module.folder.clone(), module.signature.clone())
    });
    match_by(old, new, &mut partner, &mut taken, Duplicates::None, |module| {
        (module.name.clone(), module.folder.clone())
    });
    match_by(old, new, &mut partner, &mut taken, Duplicates::InOrder, |module| {
        (module.name.clone(), module.signature.clone())
    });
    match_by(old, new, &mut partner, &mut taken, Duplicates::InOrder, |module| module.name.clone());
    // A name that is gone and one that is new: renamed, where only these two take the same arguments.
    match_by(old, new, &mut partner, &mut taken, Duplicates::None, |module| {
        module.signature.clone()
    });
    if let ([None], [false]) = (partner.as_slice(), taken.as_slice()) {
        return vec![Pair { old: Some(0), new: Some(0) }];
    }
    let paired = partner.iter().enumerate().map(|(at, old)| Pair { old: *old, new: Some(at) });
    let gone = taken.iter().enumerate().filter(|(_, taken)| !**taken);
    paired.chain(gone.map(|(at, _)| Pair { old: Some(at), new: None })).collect()
}

/// What is done with several modules of one key.
#[derive(Clone, Copy, PartialEq)]
enum Duplicates {
    InOrder,
    None,
}

fn match_by<K: Hash + Eq>(
    old: &[Identity],
    new: &[Identity],
    partner: &mut [Option<usize>],
    taken: &mut [bool],
    duplicates: Duplicates,
    key: impl Fn(&Identity) -> K,
) {
    let mut left: FxHashMap<K, (VecDeque<usize>, usize)> = FxHashMap::default();
    for (at, module) in old.iter().enumerate().filter(|(at, _)| !taken[*at]) {
        left.entry(key(module)).or_default().0.push_back(at);
    }
    let waiting: Vec<usize> = (0..new.len()).filter(|&at| partner[at].is_none()).collect();
    for &at in &waiting {
        if let Some((_, wanted)) = left.get_mut(&key(&new[at])) {
            *wanted += 1;
        }
    }
    for at in waiting {
        let Some((candidates, wanted)) = left.get_mut(&key(&new[at])) else { continue };
        if duplicates == Duplicates::None && (*wanted > 1 || candidates.len() > 1) {
            continue;
        }
        if let Some(found) = candidates.pop_front() {
            partner[at] = Some(found);
            taken[found] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, pair};

    fn modules(text: &str) -> Vec<Identity> {
        let module = |word: &str| {
            let (name, signature) = word.split_once(':').unwrap();
            let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
            Identity { name: name.into(), signature: signature.into(), folder: folder.into() }
        };
        text.split_whitespace().map(module).collect()
    }

    #[test]
    fn by_name_then_by_arguments() {
        let cases = [
            ("f:1 g:2", "g:2 f:1", "1-0 0-1"),
            ("f:1 f:2", "f:2 f:1", "1-0 0-1"),
            ("f:1", "f:9", "0-0"),
            // The place of a text says more than what arguments happen to be alike.
            ("x/f:1 y/f:2", "x/f:3 y/f:1", "0-0 1-1"),
            ("x/f:1 y/f:2", "y/f:1", "1-0 0--"),
            ("x/f:1 y/f:2", "u/f:2 v/f:1", "1-0 0-1"),
            ("f:1 h:5", "g:1 h:5", "0-0 1-1"),
            // Two candidates: nobody can say which was renamed.
            ("f:1 g:1", "x:1", "--0 0-- 1--"),
            ("f:1 g:2", "x:3", "--0 0-- 1--"),
            ("f:1", "x:3", "0-0"),
            ("", "x:3", "--0"),
            ("f:1", "", "0--"),
        ];
        for (old, new, expected) in cases {
            let side = |at: Option<usize>| at.map_or("-".to_owned(), |at| at.to_string());
            let found: Vec<String> = pair(&modules(old), &modules(new))
                .into_iter()
                .map(|pair| format!("{}-{}", side(pair.old), side(pair.new)))
                .collect();
            assert_eq!(found.join(" "), expected, "{old} / {new}");
        }
    }
}
