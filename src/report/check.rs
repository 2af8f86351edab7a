//! What `check` says: one report a module, and the findings.

use super::suppress::{self, Suppressed, SuppressedBy};
use crate::config::Settings;
use crate::dump::{Dump, Missing, parallel};
use crate::lint::{Context, Finding, Level};
use crate::report::{Diagnostic, ModuleReport, program};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// The name and version of the JSON form.
pub const SCHEMA: &str = "hlolint.check/1";

/// The result of a run of `check`.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    /// [`SCHEMA`].
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
}

impl CheckReport {
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
    check_and(dump, settings, done, |_| ()).0
}

/// The same; of every module also what `then` takes from its analyses, in the order of the modules.
pub fn check_and<T: Send>(
    dump: &Dump,
    settings: &Settings,
    done: &(dyn Fn() + Sync),
    then: impl Fn(&Context<'_>) -> T + Sync,
) -> (CheckReport, Vec<T>) {
    let outcomes = parallel::map(dump.programs.iter().collect(), |program| {
        let outcome = program::analyse(program, settings, &then);
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
    let (modules, more) = modules.into_iter().unzip();
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
