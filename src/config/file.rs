//! The text of hlolint.toml in; settings, or all that is wrong with it and where, out.

use super::keys::{self, Table, is_same_key};
use super::nearest::unknown;
use super::place::{ConfigError, Place};
use super::values;
use super::{Budget, FailOn, Ignore, RuleLevel, RuleSettings, Settings};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The name of the file.
pub const FILE_NAME: &str = "hlolint.toml";

/// A rule as a configuration may name it.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownRule {
    /// Its name.
    pub name: &'static str,
    /// The highest level of its findings where the user says nothing.
    pub level: RuleLevel,
    /// Its thresholds and what they are where the user says nothing.
    pub thresholds: Vec<(&'static str, f64)>,
}

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The settings; what the file does not say has its default.
    pub settings: Settings,
    /// The level from which findings make the run fail.
    pub fail_on: Option<FailOn>,
    /// The baseline, as the file writes it.
    pub baseline: Option<String>,
}

type Value<'d> = Spanned<DeValue<'d>>;
type Entries<'d> = Vec<(&'static str, &'d Value<'d>)>;

/// Reads a configuration. `name` is the file's, for places; `rules` are the rules it may name.
///
/// # Errors
/// Everything that is wrong with it, in the order of the text.
pub fn read(name: &str, text: &str, rules: &[KnownRule]) -> Result<File, Vec<ConfigError>> {
    let mut reader = Reader { name, text, rules, errors: Vec::new() };
    let file = match DeTable::parse(text) {
        Ok(table) => reader.file(table.get_ref()),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let (message, _) = error.message().split_once('\n').unwrap_or((error.message(), ""));
            reader.error(at, message, "");
            File::default()
        }
    };
    reader.errors.sort_by_key(|error| error.offset);
    if reader.errors.is_empty() { Ok(file) } else { Err(reader.errors) }
}

struct Reader<'t> {
    name: &'t str,
    text: &'t str,
    rules: &'t [KnownRule],
    errors: Vec<ConfigError>,
}

impl<'t> Reader<'t> {
    fn file(&mut self, table: &DeTable<'_>) -> File {
        let mut file = File::default();
        let own = &mut file.settings;
        for (key, value) in self.entries(&keys::TOP, table) {
            match key {
                "chip" => own.chip = self.take(value, values::chip),
                "hbm" => own.hbm_bytes = self.take(value, values::size),
                "reserve" => own.reserve_bytes = self.take(value, values::size).unwrap_or(0),
                "max_total" => own.max_total_bytes = self.take(value, values::size),
                "fail_on" => file.fail_on = self.fail_on(value),
                "min_share" => {
                    own.materiality.min_share = self.take(value, values::share).unwrap_or(0.0);
                }
                "min_bytes" => {
                    own.materiality.min_bytes = self.take(value, values::size).unwrap_or(0);
                }
                "baseline" => file.baseline = self.take(value, values::text).map(str::to_owned),
                "rules" => own.rules = self.all_rules(value),
                "ignore" => own.ignores = self.list(value, Reader::ignore),
                "budget" => own.budgets = self.list(value, Reader::budget),
                _ => {}
            }
        }
        file
    }

    fn all_rules(&mut self, value: &Value<'_>) -> BTreeMap<String, RuleSettings> {
        let mut rules = BTreeMap::new();
        let Some(table) = self.take(value, values::table) else { return rules };
        for (name, value) in table.iter() {
            let at = name.span().start;
            let Some(rule) = self.rule(at, name.get_ref()) else { continue };
            let settings = match value.get_ref() {
                DeValue::String(_) => {
                    RuleSettings { level: self.level(value), ..Default::default() }
                }
                _ => self.rule_settings(rule, value),
            };
            rules.insert(rule.name.to_owned(), settings);
        }
        rules
    }

    fn rule_settings(&mut self, rule: &KnownRule, value: &Value<'_>) -> RuleSettings {
        let mut own = RuleSettings::default();
        let Some(table) = self.take(value, values::table) else { return own };
        for (name, value) in table.iter() {
            let mut thresholds = rule.thresholds.iter().map(|&(name, _)| name);
            let threshold = thresholds.find(|known| is_same_key(known, name.get_ref()));
            if let Some(threshold) = threshold {
                let number = self.take(value, values::number);
                own.thresholds.extend(number.map(|number| (threshold.to_owned(), number)));
                continue;
            }
            match keys::RULE.key(name.get_ref()) {
                Some("level") => own.level = self.level(value),
                Some("min_share") => own.min_share = self.take(value, values::share),
                Some("min_bytes") => own.min_bytes = self.take(value, values::size),
                _ => {
                    let known: Vec<&str> = keys::RULE
                        .names()
                        .chain(rule.thresholds.iter().map(|&(name, _)| name))
                        .collect();
                    let message =
                        unknown("key or threshold", name.get_ref(), known.iter().copied());
                    let help = format!("{} takes {}", rule.name, known.join(", "));
                    self.error(name.span().start, &message, &help);
                }
            }
        }
        own
    }

    fn ignore(&mut self, at: usize, table: &DeTable<'_>) -> Option<Ignore> {
        let entries = self.entries(&keys::IGNORE, table);
        self.require(at, &entries, "an ignore", &["rule", "reason"]);
        let (mut rule, mut reason, mut shape) = (None, None, None);
        let (mut module, mut op_name) = (None, None);
        for (key, value) in entries {
            match key {
                "rule" => {
                    let name = self.take(value, values::text).unwrap_or_default();
                    rule = self.rule(value.span().start, name).map(|rule| rule.name.to_owned());
                }
                "reason" => reason = self.take(value, values::some_text).map(str::to_owned),
                "module" => module = self.take(value, values::pattern),
                "op_name" => op_name = self.take(value, values::pattern),
                "shape" => shape = self.take(value, values::text).map(|text| text.replace(' ', "")),
                _ => {}
            }
        }
        let place = self.place(at);
        Some(Ignore { rule: rule?, module, op_name, shape, reason: reason?, place })
    }

    fn budget(&mut self, at: usize, table: &DeTable<'_>) -> Option<Budget> {
        let entries = self.entries(&keys::BUDGET, table);
        self.require(at, &entries, "a budget", &["module"]);
        if entries.iter().all(|(key, _)| *key == "module") {
            self.error(at, "a budget without a size", "give max_total, max_peak or both");
        }
        let (mut module, mut max_total_bytes, mut max_peak_bytes) = (None, None, None);
        for (key, value) in entries {
            match key {
                "module" => module = self.take(value, values::pattern),
                "max_total" => max_total_bytes = self.take(value, values::size),
                "max_peak" => max_peak_bytes = self.take(value, values::size),
                _ => {}
            }
        }
        let place = self.place(at);
        Some(Budget { module: module?, max_total_bytes, max_peak_bytes, place })
    }

    /// Says what a table needs and does not have.
    fn require(&mut self, at: usize, entries: &Entries<'_>, what: &str, needed: &[&str]) {
        for name in needed {
            if entries.iter().all(|(key, _)| key != name) {
                self.error(at, &format!("{what} without '{name}'"), "it is required");
            }
        }
    }

    /// The entries of a table under the names of its keys; of others it is said that they are none.
    fn entries<'d>(&mut self, known: &Table, table: &'d DeTable<'d>) -> Entries<'d> {
        let mut entries: Entries<'d> = Vec::new();
        for (name, value) in table.iter() {
            let at = name.span().start;
            match known.key(name.get_ref()) {
                Some(key) if entries.iter().any(|(other, _)| *other == key) => {
                    self.error(at, &format!("'{key}' stands here twice"), "keep one of the two");
                }
                Some(key) => entries.push((key, value)),
                None => {
                    let message = unknown("key", name.get_ref(), known.names());
                    let names: Vec<&str> = known.names().collect();
                    let head =
                        if known.head.is_empty() { "the top of the file" } else { known.head };
                    self.error(at, &message, &format!("{head} takes {}", names.join(", ")));
                }
            }
        }
        entries
    }

    /// What each table of a list holds.
    fn list<'d, T>(
        &mut self,
        value: &'d Value<'d>,
        read: impl Fn(&mut Self, usize, &DeTable<'d>) -> Option<T>,
    ) -> Vec<T> {
        let Some(tables) = self.take(value, values::list) else { return Vec::new() };
        let mut all = Vec::new();
        for table in tables.iter() {
            let at = table.span().start;
            if let Some(table) = self.take(table, values::table) {
                all.extend(read(self, at, table));
            }
        }
        all
    }

    /// The rule of a name.
    fn rule(&mut self, at: usize, name: &str) -> Option<&'t KnownRule> {
        let rules = self.rules;
        let found = rules.iter().find(|rule| rule.name == name);
        if found.is_none() {
            let message = unknown("rule", name, rules.iter().map(|rule| rule.name));
            self.error(at, &message, "docs/rules.md has all rules");
        }
        found
    }

    fn fail_on(&mut self, value: &Value<'_>) -> Option<FailOn> {
        self.take(value, |value| values::name(value, "level", &FailOn::ALL, FailOn::name))
    }

    fn level(&mut self, value: &Value<'_>) -> Option<RuleLevel> {
        self.take(value, |value| values::name(value, "level", &RuleLevel::ALL, RuleLevel::name))
    }

    /// A value, or `None` where it is wrong, which is then said.
    fn take<'d, T>(
        &mut self,
        value: &'d Value<'d>,
        read: impl FnOnce(&'d DeValue<'d>) -> Result<T, String>,
    ) -> Option<T> {
        match read(value.get_ref()) {
            Ok(read) => Some(read),
            Err(message) => {
                self.error(value.span().start, &message, "");
                None
            }
        }
    }

    fn place(&self, offset: usize) -> Place {
        Place::of(self.name, self.text, offset)
    }

    fn error(&mut self, offset: usize, message: &str, help: &str) {
        let place = self.place(offset);
        self.errors.push(ConfigError {
            offset,
            place,
            message: message.to_owned(),
            help: help.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{File, KnownRule, read};
    use crate::config::{FailOn, RuleLevel, Settings, write};
    use crate::target::Chip;

    fn rules() -> Vec<KnownRule> {
        vec![
            KnownRule { name: "debug-print", level: RuleLevel::Warn, thresholds: Vec::new() },
            KnownRule {
                name: "large-allocation",
                level: RuleLevel::Warn,
                thresholds: vec![("share", 0.5), ("most_rows", 4.0)],
            },
        ]
    }

    fn parse(text: &str) -> File {
        read("hlolint.toml", text, &rules()).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
    }

    #[test]
    fn an_empty_file_is_the_default() {
        assert_eq!(parse(""), File::default());
        assert_eq!(parse("# nothing\n").settings, Settings::default());
    }

    const EVERYTHING: &str = r#"
            chip = "v5e"
            hbm = "14GiB"
            reserve = 1_048_576
            max-total = "12GiB"   # hyphens are underscores
            fail_on = "error"
            min_share = 0.02
            min_bytes = "2MiB"
            baseline = "known.json"
            [rules]
            debug-print = "allow"
            [rules.large-allocation]
            level = "error"
            min_share = 1
            min_bytes = "5MiB"
            share = 0.25
            most-rows = 7
            [[ignore]]
            rule = "debug-print"
            module = "jit_eval*"
            op_name = "jit(f)/*"
            shape = "f32[8, 128]"
            reason = "wanted"
            [[budget]]
            module = "jit_train*"
            max_total = "14GiB"
            max_peak = "12GiB"
            "#;

    /// A configuration that is written says the same, but for the places of what it says.
    #[test]
    fn written_and_read_again() {
        let written = write(&parse(EVERYTHING), &rules());
        assert_eq!(write(&parse(&written), &rules()), written);
        let (first, again) = (parse(EVERYTHING).settings, parse(&written).settings);
        assert_eq!((first.rules, first.materiality), (again.rules, again.materiality));
        assert_eq!((first.chip, first.hbm_bytes), (again.chip, again.hbm_bytes));
        assert_eq!(first.ignores.len(), again.ignores.len());
    }

    #[test]
    fn everything() {
        let file = parse(EVERYTHING);
        let settings = file.settings;
        assert_eq!(settings.chip.map(Chip::name), Some("v5e"));
        assert_eq!(settings.hbm_bytes, Some(14 << 30));
        assert_eq!(settings.reserve_bytes, 1 << 20);
        assert_eq!(settings.max_total_bytes, Some(12 << 30));
        assert_eq!(file.fail_on, Some(FailOn::Error));
        assert_eq!(
            (settings.materiality.min_share, settings.materiality.min_bytes),
            (0.02, 2 << 20)
        );
        assert_eq!(file.baseline.as_deref(), Some("known.json"));
        assert_eq!(settings.rules["debug-print"].level, Some(RuleLevel::Allow));
        let large = &settings.rules["large-allocation"];
        assert_eq!(large.level, Some(RuleLevel::Error));
        assert_eq!((large.min_share, large.min_bytes), (Some(1.0), Some(5 << 20)));
        assert_eq!((large.thresholds["share"], large.thresholds["most_rows"]), (0.25, 7.0));
        let ignore = &settings.ignores[0];
        assert!(ignore.module.as_ref().is_some_and(|module| module.matches("jit_eval_step")));
        assert!(ignore.op_name.as_ref().is_some_and(|name| name.matches("jit(f)/add")));
        assert_eq!(ignore.shape.as_deref(), Some("f32[8,128]"));
        assert_eq!((ignore.reason.as_str(), ignore.place.line), ("wanted", 18));
        let budget = &settings.budgets[0];
        assert_eq!(
            (budget.max_total_bytes, budget.max_peak_bytes),
            (Some(14 << 30), Some(12 << 30))
        );
    }

    /// Every way to be wrong: the text, where, and what is said.
    #[test]
    fn mistakes() {
        let cases = [
            ("chpi = 1", "1:1: no key 'chpi'; did you mean 'chip'?"),
            ("# x\n  max-totals = 1", "2:3: no key 'max-totals'; did you mean 'max_total'?"),
            ("colour = 1", "1:1: no key 'colour'"),
            ("chip = \"v5d\"", "1:8: no chip 'v5d'; did you mean 'v5e'? (one of v2, v3, v4,"),
            ("chip = 5", "1:8: a text in quotes belongs here, this is of type integer"),
            ("hbm = \"14XB\"", "1:7: unknown unit 'xb': write a size like 14GiB or 500MiB"),
            ("hbm = -1", "1:7: it is no number of bytes"),
            ("hbm = 1.5", "1:7: a size such as \"14GiB\" belongs here, this is of type float"),
            ("min_share = 2", "1:13: a share is a number from 0 to 1"),
            ("min_share = nan", "1:13: it is no number from 0"),
            ("fail_on = \"wran\"", "1:11: no level 'wran'; did you mean 'warn'? (one of note,"),
            ("hbm = 1\nh-b-m = 2", "2:1: no key 'h-b-m'; did you mean 'hbm'?"),
            ("min_share = 1\nmin-share = 1", "1:1: 'min_share' stands here twice"),
            ("rules = 1", "1:9: a table belongs here"),
            (
                "[rules]\ndebug-prnt = \"allow\"",
                "2:1: no rule 'debug-prnt'; did you mean 'debug-print'?",
            ),
            ("[rules]\ndebug-print = \"alow\"", "2:15: no level 'alow'; did you mean 'allow'?"),
            (
                "[rules.large-allocation]\nshares = 1",
                "2:1: no key or threshold 'shares'; did you mean 'share'?",
            ),
            ("[rules.debug-print]\nshare = 1", "2:1: no key or threshold 'share'"),
            ("[rules.large-allocation]\nshare = \"1\"", "2:9: a number belongs here"),
            ("ignore = 1", "1:10: a list of tables ([[...]]) belongs here"),
            ("[[ignore]]\nrule = \"debug-print\"", "1:1: an ignore without 'reason'"),
            ("[[ignore]]\nreason = \"x\"", "1:1: an ignore without 'rule'"),
            ("[[ignore]]\nrule = \"debug-print\"\nreason = \" \"", "3:10: it says nothing"),
            (
                "[[ignore]]\nrule = \"debug\"\nreason = \"x\"",
                "2:8: no rule 'debug'; did you mean 'debug-print'?",
            ),
            ("[[ignore]]\nrule = \"debug-print\"\nreason = \"x\"\nop = \"x\"", "4:1: no key 'op'"),
            ("[[budget]]\nmax_total = 1", "1:1: a budget without 'module'"),
            ("[[budget]]\nmodule = \"x\"", "1:1: a budget without a size"),
            ("[[budget]]\nmodule = \"x\"\nmax_total = \"x\"", "3:13: unknown unit 'x'"),
            ("chip = ", "1:8: "),
            ("chip = \"v5e\"\nchip = \"v5e\"", "2:1: duplicate key"),
        ];
        for (text, expected) in cases {
            let errors = read("c.toml", text, &rules()).expect_err(text);
            let said = errors[0].to_string();
            assert!(said.starts_with(&format!("c.toml:{expected}")), "{text}\n{said}");
        }
    }

    #[test]
    fn all_mistakes_are_said_at_once() {
        let errors = read("c.toml", "chpi = 1\nhbm = \"x\"\n[rules]\nx = 1", &rules()).unwrap_err();
        let lines: Vec<u32> = errors.iter().map(|error| error.place.line).collect();
        assert_eq!(lines, [1, 2, 4]);
    }
}
