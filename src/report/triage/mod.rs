//! What `triage` says: the failures of a log, what their figures point to, what to do, in order; with
//! a dump also the instructions behind them and the findings.

mod advice;
mod join;

use crate::config::Settings;
use crate::dump::Dump;
use crate::log::{self, Incident, Log, Output, Remat, Usage};
use crate::report::check::CheckReport;
use serde::Serialize;

pub use advice::Step;
pub use join::{Joined, Place};

/// The name and version of the JSON form.
pub const SCHEMA: &str = "hlolint.triage/1";

/// The result of a run of `triage`.
#[derive(Debug, Serialize)]
pub struct TriageReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The log.
    pub file: String,
    /// Whether anything in it is known.
    pub is_recognised: bool,
    /// The failures, in the order of the log.
    pub incidents: Vec<Explained>,
    /// How often they were said.
    pub messages: usize,
    /// What a compile that worked says it uses.
    pub usage: Option<Usage>,
    /// Its results.
    pub output: Option<Output>,
    /// What rematerialisation could not reach in it.
    pub remat: Option<Remat>,
    /// An error that is not about memory.
    pub other_error: Option<String>,
    /// The programs of the dump, where one was given.
    pub check: Option<CheckReport>,
}

/// A failure with what it means.
#[derive(Debug, Serialize)]
pub struct Explained {
    /// What the message says.
    #[serde(flatten)]
    pub incident: Incident,
    /// What failed, in words.
    pub title: String,
    /// The page and section of OpenXLA's error catalogue that applies.
    pub section: Option<&'static str>,
    /// What the figures show.
    pub evidence: Vec<String>,
    /// What to do, in the order in which to try.
    pub steps: Vec<Step>,
    /// The program of the dump that failed so, and the instructions that the message names.
    pub dump: Option<Joined>,
}

/// Explains a log; with a dump, joins it to the programs there.
pub fn triage(
    file: &str,
    text: &[u8],
    dump: Option<&Dump>,
    settings: &Settings,
    done: &(dyn Fn() + Sync),
) -> TriageReport {
    let Log { incidents, messages, usage, output, remat, other_error, is_recognised } =
        log::read(text);
    let (check, places) = match dump {
        Some(dump) => {
            let (check, places) = join::check(dump, settings, &incidents, done);
            (Some(check), places)
        }
        None => (None, Vec::new()),
    };
    let explained: Vec<Explained> = incidents
        .into_iter()
        .enumerate()
        .map(|(at, incident)| {
            let joined = check.as_ref().and_then(|check| join::join(check, &places, &incident, at));
            let mut advice = advice::of(&incident, dump.is_some());
            let module = joined.as_ref().zip(check.as_ref()).and_then(|(joined, check)| {
                check.modules.iter().find(|module| module.file == joined.file)
            });
            if let Some(module) = module.filter(|_| advice.section == Some(advice::UNTOLD)) {
                advice.section = Some(advice::section_of(module));
            }
            Explained {
                incident,
                title: advice.title,
                section: advice.section,
                evidence: advice.evidence,
                steps: advice.steps,
                dump: joined,
            }
        })
        .collect();
    TriageReport {
        schema: SCHEMA,
        file: file.to_owned(),
        is_recognised,
        incidents: explained,
        messages,
        usage,
        output,
        remat,
        other_error,
        check,
    }
}
