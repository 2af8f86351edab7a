//! The rules' declarations in; what `hlolint rules` and `hlolint explain RULE` say of them, as data,
//! out.

use crate::lint::{Kind, Level, Meta, all_rules};
use serde::Serialize;

/// The name of the format of [`RulesReport`].
const SCHEMA: &str = "hlolint.rules/1";

/// All rules.
#[derive(Debug, Serialize)]
pub struct RulesReport {
    /// `hlolint.rules/1`.
    pub schema: &'static str,
    /// In the order in which they speak.
    pub rules: Vec<RuleDoc>,
}

/// What a rule's documentation says.
#[derive(Debug, Serialize)]
pub struct RuleDoc {
    /// The name.
    pub name: &'static str,
    /// The highest level of its findings.
    pub level: Level,
    /// `limit`, `waste` or `trade`: what its findings speak of.
    pub kind: &'static str,
    /// Whether it is not proven on enough programs yet: its findings are notes.
    pub preview: bool,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// What it does.
    pub what_it_does: String,
    /// Why it costs memory.
    pub why_it_costs_memory: String,
    /// An example.
    pub example: String,
    /// What to do.
    pub remedy: String,
    /// The numbers that hlolint.toml can change.
    pub configuration: Vec<Number>,
    /// The page of OpenXLA's error catalogue and others.
    pub references: String,
}

/// A number of a rule that hlolint.toml can change.
#[derive(Debug, Serialize)]
pub struct Number {
    /// Its name.
    pub name: &'static str,
    /// What holds where nothing is said.
    pub default: f64,
    /// What is compared with it.
    pub documentation: &'static str,
}

/// All rules' documentation.
pub fn rules() -> RulesReport {
    let rules = all_rules().iter().map(|rule| RuleDoc::of(rule.meta())).collect();
    RulesReport { schema: SCHEMA, rules }
}

impl RuleDoc {
    /// A rule's documentation, by sections.
    pub fn of(meta: &Meta) -> RuleDoc {
        let section = |title: &str| section(meta.documentation, title);
        RuleDoc {
            name: meta.name,
            level: meta.level,
            kind: match meta.kind {
                Kind::Limit => "limit",
                Kind::Waste => "waste",
                Kind::Trade => "trade",
            },
            preview: meta.preview,
            summary: meta.summary,
            what_it_does: section("What it does"),
            why_it_costs_memory: section("Why it costs memory"),
            example: section("Example"),
            remedy: section("Remedy"),
            configuration: meta
                .thresholds
                .iter()
                .map(|threshold| Number {
                    name: threshold.name,
                    default: threshold.default,
                    documentation: threshold.documentation,
                })
                .collect(),
            references: section("References"),
        }
    }

    /// When its findings are warnings, in a sentence.
    pub fn when(&self) -> &'static str {
        match (self.preview, self.kind) {
            (true, _) => "in preview: its findings are notes",
            (_, "limit") => "reported at any size",
            (_, "waste") => {
                "below min_share of the chip's HBM a note, unless the program does not fit; below \
                 min_bytes not reported"
            }
            _ => {
                "a note, unless the program does not fit, needs 90% of what is available, or another \
                 rule warns of the same bytes; below min_bytes not reported"
            }
        }
    }
}

/// The text of a section: behind its title, up to the next line that starts with another's.
fn section(documentation: &str, title: &str) -> String {
    const TITLES: [&str; 5] =
        ["What it does", "Why it costs memory", "Example", "Remedy", "References"];
    let title_of = |line: &str| {
        TITLES
            .into_iter()
            .find(|title| line.strip_prefix(title).is_some_and(|behind| behind.starts_with(':')))
    };
    let mut lines = Vec::new();
    let mut is_inside = false;
    for line in documentation.lines() {
        let (is_title, text) = match title_of(line) {
            Some(found) => {
                is_inside = found == title;
                (true, line[found.len() + 1..].trim_start())
            }
            None => (false, line),
        };
        if is_inside && !(is_title && text.is_empty()) {
            lines.push(text);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn sections_end_where_the_next_begins() {
        let text =
            "What it does: finds\nmore.\nExample: of it:\n  Remedy: none\nReferences: E1000.";
        let of = |title| section(text, title);
        assert_eq!(of("What it does"), "finds\nmore.");
        assert_eq!(of("Example"), "of it:\n  Remedy: none");
        assert_eq!(of("References"), "E1000.");
        assert_eq!(of("Remedy"), "");
    }
}
