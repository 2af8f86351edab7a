//! Two modules in; what their data shows of why memory changed out: donation, shardings, arguments,
//! padding, packing.

use super::{Change, HbmChange};
use crate::report::report::{Module, Parameter};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

/// How many names a reason tells.
const NAMES: usize = 4;

/// What is below this share of the larger total is no reason.
const LEAST: u64 = 1000;

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonKind {
    /// Results take the memory of other arguments than before.
    Donation,
    /// Arguments are split over the devices in another way.
    Sharding,
    /// Arguments have another shape, type or layout.
    Arguments,
    /// Arguments are there that were not, or the other way round.
    ArgumentList,
    /// Padding at the peak.
    Padding,
    /// Packing, alignment and tuple tables.
    Packing,
}

/// A reason for a change, as far as the data shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// What changed.
    pub kind: ReasonKind,
    /// The bytes it is about: of donated arguments, of arguments, of padding, of packing.
    pub size: Change,
    /// Whether the module needs less for it, where that is `size` the other way round.
    pub frees: bool,
    /// What it is, in one line.
    pub message: String,
    /// The arguments, where it is about arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// Everything that is worth a word, the largest first.
pub(super) fn reasons(old: &Module, new: &Module, hbm: &HbmChange) -> Vec<Reason> {
    let mut reasons = arguments(old, new);
    reasons.extend(plain(ReasonKind::Padding, hbm.padding, "padding at the peak"));
    reasons.extend(plain(
        ReasonKind::Packing,
        hbm.fragmentation,
        "packing, alignment, tuple tables",
    ));
    let least = hbm.total.old_bytes.max(hbm.total.new_bytes) / LEAST;
    reasons.retain(|reason| reason.size.distance_bytes() > least);
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.size.distance_bytes()));
    reasons
}

fn plain(kind: ReasonKind, size: Change, what: &str) -> Option<Reason> {
    (!size.is_none()).then(|| Reason {
        kind,
        size,
        frees: false,
        message: format!("{what} ({} bytes)", size.distance_bytes()),
        arguments: Vec::new(),
    })
}

/// Arguments of both sides with the bytes that a reason is about.
#[derive(Default)]
struct Found {
    size: Change,
    paths: Vec<String>,
}

impl Found {
    fn add(&mut self, path: &str, old_bytes: u64, new_bytes: u64) {
        self.size.old_bytes = self.size.old_bytes.saturating_add(old_bytes);
        self.size.new_bytes = self.size.new_bytes.saturating_add(new_bytes);
        self.paths.push(path.to_owned());
    }

    /// `params['w0'], params['w1'] and 3 others`.
    fn names(&self) -> String {
        let shown = self.paths.len().min(NAMES);
        let mut names = self.paths[..shown].join(", ");
        match self.paths.len() - shown {
            0 => {}
            1 => names.push_str(" and 1 other"),
            more => names.push_str(&format!(" and {more} others")),
        }
        names
    }

    fn reason(self, kind: ReasonKind, said: &str) -> Option<Reason> {
        (!self.paths.is_empty()).then(|| Reason {
            kind,
            size: self.size,
            frees: kind == ReasonKind::Donation,
            message: format!(
                "{} ({} bytes)",
                said.replace("{}", &self.names()),
                self.size.distance_bytes()
            ),
            arguments: self.paths,
        })
    }
}

fn arguments(old: &Module, new: &Module) -> Vec<Reason> {
    let mut before: FxHashMap<&str, &Parameter> =
        old.details.parameters.iter().map(|was| (was.path.as_str(), was)).collect();
    let [mut donated, mut kept, mut split, mut shaped, mut came] =
        [(); 5].map(|()| Found::default());
    for is in &new.details.parameters {
        let Some(was) = before.remove(is.path.as_str()) else {
            came.add(&is.path, 0, is.bytes);
            continue;
        };
        match (was.is_donated, is.is_donated) {
            (false, true) => donated.add(&is.path, 0, is.bytes),
            (true, false) => kept.add(&is.path, was.bytes, 0),
            _ => {}
        }
        if was.bytes != is.bytes {
            let found = if was.sharding == is.sharding { &mut shaped } else { &mut split };
            found.add(&is.path, was.bytes, is.bytes);
        }
    }
    let mut went = Found::default();
    for was in old.details.parameters.iter().filter(|was| before.contains_key(was.path.as_str())) {
        went.add(&was.path, was.bytes, 0);
    }
    let donated_said = "donation: {} are donated now; results share their memory, where the old side's \
                        had memory of their own";
    let kept_said = "donation: {} are not donated any more; results do not share their memory and need \
                     as much of their own";
    [
        donated.reason(ReasonKind::Donation, donated_said),
        kept.reason(ReasonKind::Donation, kept_said),
        split.reason(ReasonKind::Sharding, "sharding of {}"),
        shaped.reason(ReasonKind::Arguments, "shape, type or layout of {}"),
        came.reason(ReasonKind::ArgumentList, "new arguments: {}"),
        went.reason(ReasonKind::ArgumentList, "arguments that are gone: {}"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
