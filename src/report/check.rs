//! What `check` says: one report a module, and the findings.

use super::suppress::{self, Suppressed, SuppressedBy};
use super::triage::LogReport;
use super::way_out::WayOut;
use crate::config::Settings;
use crate::dump::{Dump, Missing, parallel};
use crate::lint::{Compiled, Context, Finding, Level, all_rules};
use crate::report::{Diagnostic, ModuleReport, program};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the JSON form.
pub const SCHEMA: &str = "hlolint.check/1";

/// The result of a run of `check`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckReport {
    /// The name and version of this form.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Every module, the worst first.
    pub modules: Vec<ModuleReport>,
    /// Every finding, the worst first.
    pub findings: Vec<Finding>,
    /// Findings that the user has accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<Suppressed>,
    /// What could not be read, and other things a reader should know.
    pub diagnostics: Vec<Diagnostic>,
    /// What the log says, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogReport>,
    /// Findings by rule, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Vec<Statistic>>,
}

/// The findings of one rule together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Statistic {
    /// The rule.
    pub rule: &'static str,
    /// The worst level.
    pub level: Level,
    /// How many there are.
    pub count: usize,
    /// What they speak of, in sum; two findings may speak of the same bytes.
    pub bytes: u64,
}

/// What is said beside the findings: about inputs, and by the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How bad it is.
    pub level: Level,
    /// What kind it is: `input`, or the category of the log's failure.
    pub name: &'static str,
    /// The file it is about.
    pub file: String,
    /// 1-based line, where there is one.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do; empty where nothing is to be said.
    pub help: String,
}

impl CheckReport {
    /// Diagnostics and the log's failures, for outputs that have one list for both.
    pub fn notices(&self) -> Vec<Notice> {
        let diagnostics = self.diagnostics.iter().map(|diagnostic| Notice {
            level: if diagnostic.failed { Level::Error } else { Level::Warn },
            name: "input",
            file: diagnostic.file.clone(),
            line: diagnostic.line,
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
        });
        let incidents = self.log.iter().flat_map(|log| {
            log.incidents.iter().map(|explained| Notice {
                level: Level::Error,
                name: explained.incident.category.as_str(),
                file: log.file.clone(),
                line: Some(explained.line),
                message: explained.summary(),
                help: explained.steps.first().map(|step| step.action.clone()).unwrap_or_default(),
            })
        });
        diagnostics.chain(incidents).collect()
    }

    /// Count and bytes of the findings of each rule, most bytes first.
    pub fn count_by_rule(&self) -> Vec<Statistic> {
        let mut by_rule: BTreeMap<&'static str, Statistic> = BTreeMap::new();
        for finding in &self.findings {
            let (rule, level) = (finding.rule, finding.level);
            let known =
                by_rule.entry(rule).or_insert(Statistic { rule, level, count: 0, bytes: 0 });
            known.level = known.level.max(level);
            known.count += 1;
            known.bytes = known.bytes.saturating_add(finding.bytes);
        }
        let mut all: Vec<Statistic> = by_rule.into_values().collect();
        all.sort_by_key(|statistic| std::cmp::Reverse(statistic.bytes));
        all
    }

    /// How many findings are of a level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// How many findings were accepted in a way.
    pub fn count_suppressed(&self, by: SuppressedBy) -> usize {
        self.suppressed.iter().filter(|suppressed| suppressed.by == by).count()
    }

    /// The findings of each text, by its file.
    pub fn findings_by_file(&self) -> FxHashMap<&str, Vec<&Finding>> {
        let mut by_file: FxHashMap<&str, Vec<&Finding>> = FxHashMap::default();
        for finding in &self.findings {
            by_file.entry(finding.file().unwrap_or("")).or_default().push(finding);
        }
        by_file
    }
}

/// Checks all programs of a dump, in parallel over programs; the order of the result depends on the
/// programs alone. `done` is called behind each program.
pub fn check(dump: &Dump, settings: &Settings, done: &(dyn Fn() + Sync)) -> CheckReport {
    check_and(dump, settings, done, |_, _, _| ()).0
}

/// The same; of every module also what `then` takes from its analyses and findings, in the order of the modules.
pub fn check_and<T: Send>(
    dump: &Dump,
    settings: &Settings,
    done: &(dyn Fn() + Sync),
    then: impl Fn(&Context<'_>, &[Finding], Option<&WayOut>) -> T + Sync,
) -> (CheckReport, Vec<T>) {
    let outcomes = parallel::map(dump.programs.iter().collect(), |program| {
        let outcome = program::analyse(program, settings, |context, findings, way_out| {
            (Compiled::of(context), then(context, findings, way_out))
        });
        done();
        outcome
    });
    let mut modules = Vec::new();
    let mut report = CheckReport {
        schema: SCHEMA,
        modules: Vec::new(),
        findings: Vec::new(),
        suppressed: Vec::new(),
        diagnostics: dump.diagnostics.iter().cloned().map(Diagnostic::from).collect(),
        log: None,
        statistics: None,
    };
    report.diagnostics.extend(missing(&dump.missing));
    for outcome in outcomes {
        modules.extend(outcome.module);
        report.findings.extend(outcome.findings);
        report.diagnostics.extend(outcome.diagnostics);
    }
    let over = |module: &ModuleReport| module.hbm.exceeded_bytes();
    modules.sort_by(|(a, _), (b, _)| {
        (over(b), b.hbm.required_bytes)
            .cmp(&(over(a), a.hbm.required_bytes))
            .then(a.file.cmp(&b.file))
    });
    let (modules, more): (Vec<ModuleReport>, Vec<(Compiled, T)>) = modules.into_iter().unzip();
    let (compiled, more): (Vec<Compiled>, Vec<T>) = more.into_iter().unzip();
    for rule in all_rules() {
        rule.check_dump(&compiled, settings, &mut report.findings);
    }
    report.modules = modules;
    report
        .findings
        .sort_by(|a, b| (b.level, b.bytes).cmp(&(a.level, a.bytes)).then(a.file().cmp(&b.file())));
    suppress::ignore(&mut report, settings);
    (report, more)
}

/// What should be there and is not, each kind once with how many there are of it.
pub(super) fn missing(all: &[Missing]) -> Vec<Diagnostic> {
    Missing::by_kind(all)
        .into_iter()
        .map(|(first, count)| Diagnostic {
            failed: false,
            file: first.path.clone(),
            line: None,
            column: None,
            message: match count {
                1 => first.kind.to_string(),
                _ => format!("{} (and {} more like it)", first.kind, count - 1),
            },
            help: first.help(),
            excerpt: None,
        })
        .collect()
}
