//! What `triage` says: the failures of a log, what their figures point to, what to do, in order; with
//! a dump also the instructions behind them and the findings.

mod advice;
mod join;

use crate::config::Settings;
use crate::dump::Dump;
use crate::log::{self, Category, Incident, Log, Output, Remat, Resharding, Usage};
use crate::report::ModuleReport;
use crate::report::check::CheckReport;
use schemars::JsonSchema;
use serde::Serialize;

pub use advice::Step;
pub use join::{Joined, Place};

/// The name and version of the JSON form.
pub const SCHEMA: &str = "hlolint.triage/1";

/// The result of a run of `triage`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TriageReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What the log says.
    #[serde(flatten)]
    pub log: LogReport,
    /// The programs of the dump, where one was given.
    pub check: Option<CheckReport>,
}

/// What a log says, explained.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogReport {
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
    /// Values that the partitioner holds whole on every device for a while, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reshardings: Vec<Resharding>,
    /// An error that is not about memory.
    pub other_error: Option<String>,
}

/// A failure with what it means.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// What the message says.
    #[serde(flatten)]
    pub incident: Incident,
    /// The line of the log in which it is first said, from 1.
    pub line: u32,
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

impl Explained {
    /// The failure in one line: `the program needs more HBM than the chip has: 16.38G needed, 15.75G
    /// available`.
    pub fn summary(&self) -> String {
        let incident = &self.incident;
        let mut words = match &incident.code {
            Some(code) => format!("{code}: {}", self.title),
            None => self.title.clone(),
        };
        let sizes = [(&incident.needed, "needed"), (&incident.available, "available")];
        let sizes: Vec<String> = sizes
            .iter()
            .filter_map(|(size, word)| Some(format!("{} {word}", size.as_ref()?.text)))
            .collect();
        if !sizes.is_empty() {
            words.push_str(&format!(": {}", sizes.join(", ")));
        }
        words
    }
}

/// Explains a log; with a dump, joins it to the programs there.
pub fn triage(
    file: &str,
    text: &[u8],
    dump: Option<&Dump>,
    settings: &Settings,
    done: &(dyn Fn() + Sync),
) -> TriageReport {
    let (log, check) = match dump {
        Some(dump) => {
            let (log, check) = with_dump(file, text, dump, settings, done);
            (log, Some(check))
        }
        None => {
            let log = log::read(text);
            (report(file, text, log, |_, incident| explained(incident, false, None)), None)
        }
    };
    TriageReport { schema: SCHEMA, log, check }
}

/// Explains a log by a dump, and checks the programs of the dump.
pub fn with_dump(
    file: &str,
    text: &[u8],
    dump: &Dump,
    settings: &Settings,
    done: &(dyn Fn() + Sync),
) -> (LogReport, CheckReport) {
    let log = log::read(text);
    let (check, places) = join::check(dump, settings, &log.incidents, done);
    let report = report(file, text, log, |at, mut incident| {
        let joined = join::join(&check, &places, &incident, at);
        complete(&mut incident, joined.as_ref());
        let module = joined
            .as_ref()
            .and_then(|joined| check.modules.iter().find(|module| module.file == joined.file));
        Explained { dump: joined.clone(), ..explained(incident, true, module) }
    });
    (report, check)
}

fn report(
    file: &str,
    text: &[u8],
    log: Log,
    explain: impl Fn(usize, Incident) -> Explained,
) -> LogReport {
    let Log { incidents, messages, usage, output, remat, reshardings, other_error, is_recognised } =
        log;
    let mut incidents: Vec<Explained> =
        incidents.into_iter().enumerate().map(|(at, incident)| explain(at, incident)).collect();
    for explained in &mut incidents {
        explained.line = crate::text::location(text, explained.incident.offset).line;
    }
    let file = file.to_owned();
    LogReport {
        file,
        is_recognised,
        incidents,
        messages,
        usage,
        output,
        remat,
        reshardings,
        other_error,
    }
}

/// What a cut message leaves out of its instruction, the text of the program has.
fn complete(incident: &mut Incident, joined: Option<&Joined>) {
    let Some(subject) = incident.subject.as_mut().filter(|subject| subject.opcode.is_none()) else {
        return;
    };
    let places = joined.map_or(&[][..], |joined| &joined.places);
    let place = places.iter().find(|place| Some(&place.instruction) == subject.name.as_ref());
    if let Some(place) = place {
        subject.opcode = Some(place.opcode.to_owned());
        subject.is_kernel |= place.opcode == "custom-call";
    }
}

fn explained(incident: Incident, has_dump: bool, module: Option<&ModuleReport>) -> Explained {
    let mut advice = advice::of(&incident, has_dump);
    if let Some(module) = module.filter(|_| advice.section == Some(advice::UNTOLD)) {
        advice.section = Some(advice::section_of(module));
    }
    if incident.category == Category::HbmOom {
        // What the dump shows to be enough comes before what helps in general.
        let measured = module.and_then(|module| module.way_out.as_ref()).map(advice::measured);
        advice.steps.splice(0..0, measured.into_iter().flatten());
    }
    Explained {
        incident,
        line: 1,
        title: advice.title,
        section: advice.section,
        evidence: advice.evidence,
        steps: advice.steps,
        dump: None,
    }
}
