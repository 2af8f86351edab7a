//! Compiler releases: which rules each follows, and how the text tells which one wrote it (facts:
//! gpu-cpu-memory section 10).

/// A set of rules, named for the jaxlib releases that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleSet {
    /// Up to about 0.6.0: offsets are multiples of 128.
    UpTo060,
    /// From there up to about 0.8.1: offsets are multiples of 256, fusions of slices share by a rule of
    /// their own.
    UpTo081,
    /// 0.8.2 and later.
    From082,
}

impl RuleSet {
    /// What offsets are multiples of.
    pub const fn alignment_bytes(self) -> u64 {
        match self {
            RuleSet::UpTo060 => 128,
            RuleSet::UpTo081 | RuleSet::From082 => 256,
        }
    }

    /// Whether fusions of slices share by a rule of their own.
    pub const fn has_slice_fusions(self) -> bool {
        matches!(self, RuleSet::UpTo060 | RuleSet::UpTo081)
    }

    /// For a person.
    pub const fn releases(self) -> &'static str {
        match self {
            RuleSet::UpTo060 => "jaxlib up to 0.6.0",
            RuleSet::UpTo081 => "jaxlib 0.6.1 to 0.8.1",
            RuleSet::From082 => "jaxlib 0.8.2 and later",
        }
    }
}

/// The rules that a scheduled text was written by, and why. The architecture is that of the file's
/// name: from 0.8.2 on it is `sm_9.0a` where it was `sm_9.0`. Older cards show no such sign, so that
/// 0.8.2 itself, which still has source files in the metadata, is taken for its predecessor there.
pub fn detect(text: &str, architecture: Option<&str>) -> (RuleSet, &'static str) {
    let has = |wanted: &str| memchr::memmem::find(text.as_bytes(), wanted.as_bytes()).is_some();
    if !has("source_file=\"") {
        return (RuleSet::From082, "source files stand in tables or not at all");
    }
    if architecture.is_some_and(|name| name.ends_with('a')) {
        return (RuleSet::From082, "the architecture in the file name ends in a");
    }
    if has("\n  ROOT %") {
        (RuleSet::UpTo081, "source files stand in the metadata, names begin with %")
    } else {
        (RuleSet::UpTo060, "source files stand in the metadata, names are bare")
    }
}

#[cfg(test)]
mod tests {
    use super::{RuleSet, detect};

    #[test]
    fn texts() {
        let cases = [
            ("FileNames\n1 \"a.py\"\n  ROOT %x = f32[] add(%a, %b)", RuleSet::From082),
            ("{\n  ROOT %x = f32[] add(%a, %b), metadata={source_file=\"a.py\"}", RuleSet::UpTo081),
            ("{\n  ROOT x = f32[] add(a, b), metadata={source_file=\"a.py\"}", RuleSet::UpTo060),
        ];
        for (text, rules) in cases {
            assert_eq!(detect(text, Some("sm_9.0")).0, rules, "{text}");
            assert_eq!(detect(text, Some("sm_9.0a")).0, RuleSet::From082, "{text}");
        }
    }
}
