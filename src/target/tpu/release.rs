//! Compiler releases: which rules each follows, and how to tell which one wrote a dump (facts:
//! tpu-memory section 12). A new release costs one row of [`RELEASES`].

use super::chip::Chip;
use crate::target::policy::{AsyncStart, Attempt, BufferOrder, FastMerge, Otherwise, Rules};

/// A set of rules, named for the first release that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum RuleSet {
    /// Up to 0.0.40: best of spatial and temporal everywhere.
    P0,
    /// 0.0.41: fast merge everywhere.
    P41,
    /// 0.0.42: fast merge in HBM, results count as required.
    P42,
    /// 0.0.43.2: the same, v4 by the first rules.
    P43,
    /// 0.0.46: buffers in order of their start.
    P46,
    /// 0.0.50: asynchronous values start at the async-start.
    P50,
    /// 0.0.51: three attempts.
    P51,
}

/// How the compiler words that HBM does not suffice (facts: errors-e1000-e1001).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OomForm {
    /// A table; results do not count.
    A,
    /// The same behind a code.
    ACoded,
    /// One line.
    B,
    /// One line with the module's name.
    BModule,
    /// One line with code and module name.
    C,
}

/// A libtpu release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The version.
    pub version: &'static str,
    /// The number behind `.cl_` in file names of its dumps.
    pub build: u64,
    /// Its rules.
    pub rules: RuleSet,
    /// Its wording.
    pub oom_form: OomForm,
}

macro_rules! releases {
    ($($version:literal $build:literal $rules:ident $form:ident),+ $(,)?) => {
        /// Every release measured, oldest version first. Patch releases were built late from old
        /// branches, so builds do not ascend.
        pub const RELEASES: &[Release] = &[$(Release {
            version: $version,
            build: $build,
            rules: RuleSet::$rules,
            oom_form: OomForm::$form,
        }),+];
    };
}

releases! {
    "0.0.11" 738_115_934 P0 A,
    "0.0.11.1" 740_532_664 P0 A,
    "0.0.11.3" 763_908_408 P0 A,
    "0.0.11.4" 765_218_913 P0 A,
    "0.0.12" 743_238_717 P0 A,
    "0.0.13" 747_713_181 P0 A,
    "0.0.14" 753_100_413 P0 A,
    "0.0.15" 759_148_519 P0 A,
    "0.0.16" 766_006_872 P0 A,
    "0.0.17" 769_337_304 P0 A,
    "0.0.17.1" 829_516_930 P0 A,
    "0.0.18" 780_612_712 P0 A,
    "0.0.19" 785_650_892 P0 A,
    "0.0.19.1" 788_670_714 P0 A,
    "0.0.20" 789_893_895 P0 A,
    "0.0.21" 795_515_814 P0 A,
    "0.0.21.1" 799_122_805 P0 A,
    "0.0.22" 802_711_289 P0 A,
    "0.0.23" 804_429_027 P0 A,
    "0.0.23.1" 816_760_386 P0 A,
    "0.0.24" 813_921_542 P0 A,
    "0.0.27" 822_053_585 P0 A,
    "0.0.29" 827_442_347 P0 A,
    "0.0.30" 831_091_709 P0 A,
    "0.0.31" 842_247_725 P0 A,
    "0.0.32" 844_590_465 P0 A,
    "0.0.32.1" 889_434_569 P0 A,
    "0.0.33" 853_872_983 P0 A,
    "0.0.34" 854_318_611 P0 A,
    "0.0.35" 865_085_302 P0 ACoded,
    "0.0.36" 873_080_440 P0 ACoded,
    "0.0.37" 878_335_365 P0 ACoded,
    "0.0.38" 885_286_250 P0 ACoded,
    "0.0.39" 895_581_894 P0 ACoded,
    "0.0.40" 897_798_484 P0 ACoded,
    "0.0.41" 914_450_892 P41 ACoded,
    "0.0.42" 932_483_720 P42 B,
    "0.0.42.1" 933_746_096 P42 B,
    "0.0.43.2" 970_057_490 P43 B,
    "0.0.45" 957_406_610 P43 B,
    "0.0.46" 963_683_785 P46 BModule,
    "0.0.46.1" 974_389_722 P46 BModule,
    "0.0.46.2" 992_558_195 P46 BModule,
    "0.0.46.3" 1_000_002_550 P46 BModule,
    "0.0.47" 972_931_731 P46 BModule,
    "0.0.47.1" 999_217_776 P46 BModule,
    "0.0.48" 981_334_199 P46 BModule,
    "0.0.48.1" 1_000_038_190 P46 BModule,
    "0.0.49" 985_445_144 P46 BModule,
    "0.0.50" 994_787_025 P50 C,
    "0.0.50.1" 1_004_524_046 P50 C,
    "0.0.51" 1_003_875_606 P51 C,
    "0.0.52" 1_014_260_217 P51 C,
}

const fn attempt(order: BufferOrder, fast_merge: FastMerge, hbm_only: bool) -> Attempt {
    Attempt { order, fast_merge, hbm_only }
}

const BEST: FastMerge = FastMerge::In(&[]);
const HBM_FAST: FastMerge = FastMerge::In(&[0]);

const P0: Rules = Rules {
    attempts: &[attempt(BufferOrder::BySize, BEST, false)],
    otherwise: Otherwise::Last,
    async_start: AsyncStart::Own,
    results_are_required: false,
    embedded_tables_are_free: true,
};

const P41: Rules = Rules {
    attempts: &[
        attempt(BufferOrder::BySize, FastMerge::Everywhere, false),
        attempt(BufferOrder::BySize, FastMerge::NotInHbm, false),
    ],
    ..P0
};

const P41_WITHOUT_FALLBACK: Rules =
    Rules { attempts: &[attempt(BufferOrder::BySize, FastMerge::Everywhere, false)], ..P0 };

const P42: Rules = Rules {
    attempts: &[
        attempt(BufferOrder::BySize, HBM_FAST, false),
        attempt(BufferOrder::BySize, BEST, false),
    ],
    results_are_required: true,
    ..P0
};

const P43_V4: Rules = Rules { results_are_required: true, ..P0 };

const P46: Rules = Rules {
    attempts: &[
        attempt(BufferOrder::ByStart, HBM_FAST, false),
        attempt(BufferOrder::BySize, BEST, false),
    ],
    embedded_tables_are_free: false,
    ..P42
};

const P46_V4: Rules = Rules { embedded_tables_are_free: false, ..P43_V4 };

const P50: Rules = Rules { async_start: AsyncStart::AtStartButSparseCore, ..P46 };

const P51: Rules = Rules {
    attempts: &[
        attempt(BufferOrder::ByStart, FastMerge::In(&[0, 6]), false),
        attempt(BufferOrder::ByStart, BEST, true),
        attempt(BufferOrder::BySize, BEST, true),
    ],
    otherwise: Otherwise::Smallest,
    async_start: AsyncStart::AtStart,
    ..P46
};

impl RuleSet {
    /// Every set, oldest first.
    pub const ALL: [RuleSet; 7] = [
        RuleSet::P0,
        RuleSet::P41,
        RuleSet::P42,
        RuleSet::P43,
        RuleSet::P46,
        RuleSet::P50,
        RuleSet::P51,
    ];

    /// The newest set.
    pub const NEWEST: RuleSet = RuleSet::P51;

    /// The rules on a chip. v2 and v3 were not tried near the limit before 0.0.51.
    pub const fn rules(self, chip: Chip) -> Rules {
        match (self, chip) {
            (RuleSet::P0, _) => P0,
            (RuleSet::P41, Chip::V5e | Chip::V5p | Chip::V7x) => P41,
            (RuleSet::P41, _) => P41_WITHOUT_FALLBACK,
            (RuleSet::P43, Chip::V4) => P43_V4,
            (RuleSet::P42 | RuleSet::P43, _) => P42,
            (RuleSet::P46, Chip::V4) => P46_V4,
            (RuleSet::P46, _) => P46,
            (RuleSet::P50, _) => P50,
            (RuleSet::P51, _) => P51,
        }
    }

    /// The flag that a whole `tpu_comp_env.txt` holds from this set's first release on.
    const fn flag(self) -> Option<&'static str> {
        match self {
            RuleSet::P0 => None,
            RuleSet::P41 => Some("xla_tpu_buffer_assignment_enable_fast_merge_fallback"),
            RuleSet::P42 => Some("xla_sc_backend_opt_level"),
            RuleSet::P43 => Some("xla_xprof_enable_custom_call_tracing"),
            RuleSet::P46 => Some("xla_tpu_trace_tc_busy"),
            RuleSet::P50 => Some("xla_tpu_enable_accurate_exp"),
            RuleSet::P51 => Some("xla_tpu_reuse_aliased_entry_params_for_temp"),
        }
    }

    /// The release that the set is named for.
    pub const fn first_version(self) -> &'static str {
        match self {
            RuleSet::P0 => "0.0.11",
            RuleSet::P41 => "0.0.41",
            RuleSet::P42 => "0.0.42",
            RuleSet::P43 => "0.0.43.2",
            RuleSet::P46 => "0.0.46",
            RuleSet::P50 => "0.0.50",
            RuleSet::P51 => "0.0.51",
        }
    }

    /// The rules of a version as `--compiler` names it: `0.0.46.3`, or the version below it that is
    /// known. `None` where the text is no version.
    pub fn of_version(version: &str) -> Option<RuleSet> {
        let parse = |text: &str| {
            text.trim_start_matches("libtpu")
                .trim_matches([' ', '-', 'v'])
                .split('.')
                .map(|part| part.parse::<u32>().ok())
                .collect::<Option<Vec<u32>>>()
        };
        let wanted = parse(version)?;
        RELEASES
            .iter()
            .filter_map(|release| Some((parse(release.version)?, release.rules)))
            .filter(|(known, _)| *known <= wanted)
            .max_by(|left, right| left.0.cmp(&right.0))
            .map(|(_, rules)| rules)
            .or(Some(RuleSet::P0))
    }
}

/// What a dump shows of the compiler that wrote it. Everything is optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs<'a> {
    /// The number behind `.cl_` in the file names.
    pub build: Option<u64>,
    /// The text of `tpu_comp_env.txt`.
    pub comp_env: Option<&'a str>,
    /// Whether a `-live-range.txt` stands beside a memory-usage report (from 0.0.39 on).
    pub has_live_range: Option<bool>,
    /// Whether the allocation lines of the buffer assignment end in `, page 0` (from 0.0.46 on).
    pub allocations_have_pages: Option<bool>,
    /// The HLO text itself, scheduled and optimised.
    pub text: Option<&'a str>,
    /// The chip, for the signs that hold on some chips only.
    pub chip: Option<Chip>,
}

/// Which rules were chosen, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The rules.
    pub rules: RuleSet,
    /// The release, where the build number names one.
    pub release: Option<&'static Release>,
    /// The reason, for a person.
    pub why: String,
}

/// Chooses the rules: by the build number, else by the flags of the compile environment, else by
/// the files and the text, else the newest.
pub fn detect(signs: &Signs<'_>) -> Detected {
    let by_flags = signs.comp_env.and_then(rules_of_flags);
    if let Some(build) = signs.build {
        return by_build(build, by_flags);
    }
    if let Some(rules) = by_flags {
        let why = format!("tpu_comp_env.txt has the flags of libtpu {}", rules.first_version());
        return Detected { rules, release: None, why };
    }
    by_form(signs)
}

fn by_build(build: u64, by_flags: Option<RuleSet>) -> Detected {
    if let Some(release) = RELEASES.iter().find(|release| release.build == build) {
        let why = format!("build {build} in the file names is libtpu {}", release.version);
        return Detected { rules: release.rules, release: Some(release), why };
    }
    if let Some(rules) = by_flags {
        let why = format!(
            "build {build} is not known; tpu_comp_env.txt has the flags of libtpu {}",
            rules.first_version()
        );
        return Detected { rules, release: None, why };
    }
    let rules = rules_of_build(build);
    let why = format!(
        "build {build} is not known; by its size it is libtpu {} or later",
        rules.first_version()
    );
    Detected { rules, release: None, why }
}

/// The rules of an unknown build: those of the newest set whose first build is not larger.
fn rules_of_build(build: u64) -> RuleSet {
    let first_build = |rules: RuleSet| {
        RELEASES
            .iter()
            .filter(|release| release.rules == rules)
            .map(|release| release.build)
            .min()
            .unwrap_or(u64::MAX)
    };
    RuleSet::ALL.into_iter().rev().find(|&rules| first_build(rules) <= build).unwrap_or(RuleSet::P0)
}

/// Lines that a `tpu_comp_env.txt` has at least when it lists every flag; a shorter one lists only
/// what was set.
const WHOLE_COMP_ENV_LINES: usize = 900;

fn rules_of_flags(comp_env: &str) -> Option<RuleSet> {
    let has = |flag: &str| memchr::memmem::find(comp_env.as_bytes(), flag.as_bytes()).is_some();
    let newest = RuleSet::ALL.into_iter().rev().find(|rules| rules.flag().is_some_and(has));
    newest.or_else(|| {
        let lines = memchr::memchr_iter(b'\n', comp_env.as_bytes()).count();
        (lines >= WHOLE_COMP_ENV_LINES).then_some(RuleSet::P0)
    })
}

fn by_form(signs: &Signs<'_>) -> Detected {
    let detected = |rules, why: &str| Detected { rules, release: None, why: why.to_owned() };
    if signs.has_live_range == Some(false) {
        return detected(RuleSet::P0, "no live-range file, as before libtpu 0.0.39");
    }
    let text = signs.text.map_or(&[][..], str::as_bytes);
    let has = |wanted: &str| memchr::memmem::find(text, wanted.as_bytes()).is_some();
    if signs.allocations_have_pages == Some(true) {
        return detected(
            RuleSet::P51,
            "allocations name a page, as from libtpu 0.0.46; the newest of those is assumed",
        );
    }
    if has("HloModule") && has("is_scheduled=true") {
        if !has("aliasing_operands") && has("backend_config=") {
            return detected(
                RuleSet::P0,
                "the text has no aliasing_operands, as up to libtpu 0.0.27",
            );
        }
        if has("source_file=\"") && !has("\nFileNames") {
            return detected(
                RuleSet::P0,
                "source files stand in the metadata, as up to libtpu 0.0.31",
            );
        }
        let is_newer_chip =
            matches!(signs.chip, Some(Chip::V5e | Chip::V5p | Chip::V6e | Chip::V7x));
        let starts = has(" copy-start(") || has(" async-start(");
        if is_newer_chip && starts && !has("dma_priority") {
            return detected(
                RuleSet::P42,
                "asynchronous operations have no dma_priority, as up to libtpu 0.0.42.1",
            );
        }
        if signs.allocations_have_pages == Some(false) {
            return detected(RuleSet::P42, "allocations name no page, as up to libtpu 0.0.45");
        }
        if has_flags_before_kernel(text) {
            return detected(
                RuleSet::P46,
                "flag_configs stand before a kernel's configuration, as up to libtpu 0.0.47; the \
                 newest of those is assumed",
            );
        }
    }
    detected(RuleSet::NEWEST, "no sign of the release; the newest known is assumed")
}

/// Whether the first kernel's backend_config is not in alphabetical order (facts: mosaic-vmem section
/// 11).
fn has_flags_before_kernel(text: &[u8]) -> bool {
    use memchr::memmem::{find, rfind};
    const FAR: usize = 4096;
    let Some(at) = find(text, b"\"custom_call_config\":") else { return false };
    let before = text.get(at.saturating_sub(FAR)..at).unwrap_or_default();
    let start = rfind(before, b"backend_config={").unwrap_or(before.len());
    before.get(start..).is_some_and(|keys| find(keys, b"\"flag_configs\":").is_some())
}

#[cfg(test)]
mod tests {
    use super::{RELEASES, RuleSet, Signs, detect};
    use crate::target::tpu::Chip;

    #[test]
    fn builds_and_versions_are_unique() {
        for (at, release) in RELEASES.iter().enumerate() {
            for other in &RELEASES[at + 1..] {
                assert_ne!(release.build, other.build);
                assert_ne!(release.version, other.version);
            }
        }
    }

    #[test]
    fn build_numbers_first_patch_releases_included() {
        let rules = |build| detect(&Signs { build: Some(build), ..Signs::default() }).rules;
        for release in RELEASES {
            assert_eq!(rules(release.build), release.rules, "{}", release.version);
        }
        // Between known builds, and beyond the last.
        assert_eq!(rules(897_798_485), RuleSet::P0);
        assert_eq!(rules(915_000_000), RuleSet::P41);
        assert_eq!(rules(2_000_000_000), RuleSet::NEWEST);
    }

    #[test]
    fn flags_where_the_build_is_unknown() {
        let comp_env = "xla_tpu_trace_tc_busy: true\nxla_sc_backend_opt_level: 1\n";
        let signs = Signs { build: Some(1), comp_env: Some(comp_env), ..Signs::default() };
        assert_eq!(detect(&signs).rules, RuleSet::P46);
        let whole = "a: 1\n".repeat(1011);
        let signs = Signs { comp_env: Some(&whole), ..Signs::default() };
        assert_eq!(detect(&signs).rules, RuleSet::P0);
        // A short one lists only what was set: no sign.
        let signs = Signs { comp_env: Some("a: 1\n"), ..Signs::default() };
        assert_eq!(detect(&signs).rules, RuleSet::NEWEST);
    }

    #[test]
    fn the_text_itself() {
        let rules = |text: &str| {
            detect(&Signs { text: Some(text), chip: Some(Chip::V5e), ..Signs::default() }).rules
        };
        let head = "HloModule m, is_scheduled=true\n\nFileNames\n";
        assert_eq!(rules(""), RuleSet::NEWEST);
        assert_eq!(rules(&format!("{head}backend_config={{}}")), RuleSet::P0);
        let hints = "backend_config={\"aliasing_operands\":{}}";
        assert_eq!(rules(&format!("{head}{hints}")), RuleSet::NEWEST);
        assert_eq!(rules(&format!("{head} copy-start( {hints}")), RuleSet::P42);
        assert_eq!(rules(&format!("{head} copy-start( {hints} dma_priority")), RuleSet::NEWEST);
        let kernel = |first: &str, second: &str| {
            format!("{head}{hints} backend_config={{\"{first}\":{{\"a\":[]}},\"{second}\":{{}}}}")
        };
        assert_eq!(rules(&kernel("flag_configs", "custom_call_config")), RuleSet::P46);
        assert_eq!(rules(&kernel("custom_call_config", "flag_configs")), RuleSet::NEWEST);
    }

    #[test]
    fn versions() {
        for (version, rules) in [
            ("0.0.41", RuleSet::P41),
            ("0.0.46.3", RuleSet::P46),
            ("0.0.42.7", RuleSet::P42),
            ("libtpu-0.0.99", RuleSet::P51),
            ("0.0.1", RuleSet::P0),
        ] {
            assert_eq!(RuleSet::of_version(version), Some(rules), "{version}");
        }
        assert_eq!(RuleSet::of_version("new"), None);
    }
}
