//! Compiler releases: which rules each follows, and how the text tells which one wrote it (facts:
//! gpu-cpu-memory section 10).

/// A set of rules, named for the jaxlib releases that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleSet {
    /// Up to about 0.6.0: offsets are multiples of 128.
    UpTo060,
    /// From there up to 0.7: offsets are multiples of 256, fusions of slices share by a rule of
    /// their own.
    UpTo07,
    /// 0.8 and later.
    From08,
}

impl RuleSet {
    /// What offsets are multiples of.
    pub const fn alignment_bytes(self) -> u64 {
        match self {
            RuleSet::UpTo060 => 128,
            RuleSet::UpTo07 | RuleSet::From08 => 256,
        }
    }

    /// Whether fusions of slices share by a rule of their own.
    pub const fn has_slice_fusions(self) -> bool {
        matches!(self, RuleSet::UpTo060 | RuleSet::UpTo07)
    }

    /// For a person.
    pub const fn releases(self) -> &'static str {
        match self {
            RuleSet::UpTo060 => "jaxlib up to 0.6.0",
            RuleSet::UpTo07 => "jaxlib 0.6.1 to 0.7",
            RuleSet::From08 => "jaxlib 0.8 and later",
        }
    }
}

/// The rules that a scheduled text was written by, and why.
pub fn detect(text: &str) -> (RuleSet, &'static str) {
    let has = |wanted: &str| memchr::memmem::find(text.as_bytes(), wanted.as_bytes()).is_some();
    if !has("source_file=\"") {
        return (RuleSet::From08, "source files stand in tables or not at all");
    }
    if has("\n  ROOT %") {
        (RuleSet::UpTo07, "source files stand in the metadata, names begin with %")
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
            ("FileNames\n1 \"a.py\"\n  ROOT %x = f32[] add(%a, %b)", RuleSet::From08),
            ("{\n  ROOT %x = f32[] add(%a, %b), metadata={source_file=\"a.py\"}", RuleSet::UpTo07),
            ("{\n  ROOT x = f32[] add(a, b), metadata={source_file=\"a.py\"}", RuleSet::UpTo060),
        ];
        for (text, rules) in cases {
            assert_eq!(detect(text).0, rules, "{text}");
        }
    }
}
