//! Every key of hlolint.toml: what the reader takes, what errors name and what
//! `docs/configuration.md` is written from.

/// A table of the file and its keys.
#[derive(Debug)]
pub struct Table {
    /// How its head is written; empty for the top of the file.
    pub head: &'static str,
    /// What it is for.
    pub documentation: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key.
#[derive(Debug)]
pub struct Key {
    /// The name, snake_case; with hyphens it is the same key.
    pub name: &'static str,
    /// What kind of value it takes.
    pub value: &'static str,
    /// What it does, in one line.
    pub documentation: &'static str,
    /// The option of `check` that comes before it.
    pub flag: Option<&'static str>,
}

const SIZE: &str = "size";
const SHARE: &str = "share, 0 to 1";
const LEVEL: &str = "`allow`, `note`, `warn` or `error`";
const PATTERN: &str = "pattern";

/// The top of the file.
pub static TOP: Table = Table {
    head: "",
    documentation: "They stand before the first table.",
    keys: &[
        Key {
            name: "chip",
            value: "name of a chip",
            documentation: "the chip, where the dump does not name it; a dump of another chip is an error",
            flag: Some("--chip"),
        },
        Key {
            name: "hbm",
            value: SIZE,
            documentation: "HBM of one device, instead of the chip's",
            flag: Some("--hbm"),
        },
        Key {
            name: "reserve",
            value: SIZE,
            documentation: "HBM that something else uses: other live arrays, program code",
            flag: Some("--reserve"),
        },
        Key {
            name: "max_total",
            value: SIZE,
            documentation: "the most a program may need, where that is less than what the chip has",
            flag: Some("--max-total"),
        },
        Key {
            name: "fail_on",
            value: "`note`, `warn`, `error` or `never`",
            documentation: "the level from which findings make the run fail",
            flag: Some("--fail-on"),
        },
        Key {
            name: "min_share",
            value: SHARE,
            documentation: "the share of HBM from which a finding is a warning",
            flag: Some("--min-share"),
        },
        Key {
            name: "min_bytes",
            value: SIZE,
            documentation: "the size below which a finding is not reported",
            flag: Some("--min-bytes"),
        },
        Key {
            name: "baseline",
            value: "path, from the folder of the file",
            documentation: "findings that are known and stay silent",
            flag: Some("--baseline"),
        },
        Key {
            name: "rules",
            value: "table",
            documentation: "what differs for single rules, by name",
            flag: None,
        },
        Key {
            name: "ignore",
            value: "list of tables",
            documentation: "findings that are accepted, each with a reason",
            flag: None,
        },
        Key {
            name: "budget",
            value: "list of tables",
            documentation: "what programs may need, by name",
            flag: None,
        },
    ],
};

/// `[rules.NAME]`; the rule's own thresholds are keys, too.
pub static RULE: Table = Table {
    head: "[rules.NAME]",
    documentation: "\
What differs for one rule. `[rules]` with `NAME = \"allow\"` is short for `level` alone. The numbers of a
rule, its thresholds, stand here, too: [rules.md](rules.md) has their names.",
    keys: &[
        Key {
            name: "level",
            value: LEVEL,
            documentation: "`allow`: not reported; `note` and `warn`: at most that; `error`: what \
                            is a warning fails as an error",
            flag: Some("--allow, --warn, --deny"),
        },
        Key {
            name: "min_share",
            value: SHARE,
            documentation: "the key of the same name at the top, for this rule",
            flag: None,
        },
        Key {
            name: "min_bytes",
            value: SIZE,
            documentation: "the key of the same name at the top, for this rule",
            flag: None,
        },
    ],
};

/// `[[ignore]]`.
pub static IGNORE: Table = Table {
    head: "[[ignore]]",
    documentation: "\
Findings that are accepted: they are not shown and do not fail the run. Every key that is given must
match. One that matches nothing in the programs that were checked is reported, so that the list only
holds what is still true.",
    keys: &[
        Key {
            name: "rule",
            value: "name of a rule",
            documentation: "the rule; required",
            flag: None,
        },
        Key {
            name: "reason",
            value: "text",
            documentation: "why it is accepted; required",
            flag: None,
        },
        Key {
            name: "module",
            value: PATTERN,
            documentation: "the module's name: `jit_train*`",
            flag: None,
        },
        Key {
            name: "op_name",
            value: PATTERN,
            documentation: "the framework's name of the operation, as `--verbose` shows it",
            flag: None,
        },
        Key {
            name: "shape",
            value: "shape without layout",
            documentation: "the shape the finding is about: `f32[8,128]`",
            flag: None,
        },
    ],
};

/// `[[budget]]`.
pub static BUDGET: Table = Table {
    head: "[[budget]]",
    documentation: "\
What programs may need on each device; the rule `budget` reports those that need more. At least one
of the two sizes is needed. One that matches no program is reported.",
    keys: &[
        Key {
            name: "module",
            value: PATTERN,
            documentation: "the modules' names; required",
            flag: None,
        },
        Key {
            name: "max_total",
            value: SIZE,
            documentation: "the most that all allocations may take: the figure of XLA's error",
            flag: None,
        },
        Key {
            name: "max_peak",
            value: SIZE,
            documentation: "the most that may be alive at the peak",
            flag: None,
        },
    ],
};

/// All tables, in the order in which they are documented.
pub static TABLES: [&Table; 4] = [&TOP, &RULE, &IGNORE, &BUDGET];

impl Table {
    /// The key of a name, with hyphens or underscores.
    pub fn key(&self, name: &str) -> Option<&'static str> {
        let keys = self.keys.iter().map(|key| key.name);
        keys.into_iter().find(|key| is_same_key(key, name))
    }

    /// The names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}

/// Whether two names are the same key: hyphens are underscores.
pub fn is_same_key(one: &str, other: &str) -> bool {
    let bytes = |name: &str| name.bytes().map(|b| if b == b'-' { b'_' } else { b }).collect();
    let (one, other): (Vec<u8>, Vec<u8>) = (bytes(one), bytes(other));
    one == other
}
