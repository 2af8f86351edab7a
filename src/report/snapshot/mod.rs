//! What a snapshot says of a module: what a reviewer should see change, and nothing that changes by
//! itself. No path of a machine, no time, no number of an instruction, no program point, no line
//! number.

mod compare;
mod names;
mod tolerance;

use crate::config::Settings;
use crate::dump::Dump;
use crate::lint::{Composition, Finding, Level};
use crate::report::check::check_and;
use crate::report::equal::{Equal, equal};
use crate::report::pairing::signature;
use crate::report::report::{Details, Kernel, Options};
use crate::report::{Diagnostic, ModuleReport};
use names::Names;
use rustc_hash::FxHashMap;

pub use compare::{
    Builds, Comparison, ENDING, Entry, HEAD, Hunk, Kept, Mode, Sign, State, Taken, compare,
};

/// What was taken of a dump.
#[derive(Debug)]
pub struct Snapshots {
    /// One a module, by name, then by content.
    pub modules: Vec<Snapshot>,
    /// What could not be read, and other things a reader should know.
    pub diagnostics: Vec<Diagnostic>,
}

/// A module as a snapshot tells it.
#[derive(Debug)]
pub struct Snapshot {
    /// Machine, verdict, totals with their split.
    pub summary: ModuleReport,
    /// The compiler's build; the rules that were chosen where the dump does not name it.
    pub compiler: String,
    /// How many arguments it takes.
    pub arguments: usize,
    /// What it is known by where its name is not enough.
    pub signature: String,
    /// Bytes that padding adds to what is alive at the peak.
    pub padding_bytes: u64,
    /// What is alive at the peak, by cause.
    pub alive: Composition,
    /// What is smaller is only counted.
    pub cutoff_bytes: u64,
    /// Equal buffers of HBM, those that are alive at the peak and those that are not apart.
    pub buffers: Vec<Line>,
    /// How many buffers are smaller than the cutoff.
    pub small_count: u64,
    /// Their bytes.
    pub small_bytes: u64,
    /// Custom kernels.
    pub kernels: Vec<Kernel>,
    /// What the rules found; no name of an instruction has its number.
    pub findings: Vec<Said>,
}

/// Equal buffers.
#[derive(Debug)]
pub struct Line {
    /// The buffers.
    pub equal: Equal,
    /// The sharding, of arguments.
    pub sharding: Option<String>,
}

/// A finding.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Said {
    /// How bad it is, the worst first.
    pub level: std::cmp::Reverse<Level>,
    /// The rule.
    pub rule: String,
    /// The operation in the user's program.
    pub op_name: String,
    /// What it says.
    pub message: String,
    /// What is wasted or held.
    pub bytes: u64,
    /// What its first remedy saves.
    pub saving_bytes: Option<u64>,
}

/// Takes the snapshots of all modules of a dump.
pub fn take(dump: &Dump, settings: &Settings, done: &(dyn Fn() + Sync)) -> Snapshots {
    let (check, details) = check_and(dump, settings, done, |context, _, _| {
        (Details::of(context, Options::default()), Names::of(context.module))
    });
    let mut findings: FxHashMap<String, Vec<Finding>> = FxHashMap::default();
    for finding in check.findings {
        findings.entry(finding.file().unwrap_or("").to_owned()).or_default().push(finding);
    }
    let modules = check
        .modules
        .into_iter()
        .zip(details)
        .map(|(summary, (details, names))| {
            let findings = findings.remove(&summary.file).unwrap_or_default();
            snapshot(summary, details, &findings, &names)
        })
        .collect();
    Snapshots { modules, diagnostics: check.diagnostics }
}

fn snapshot(
    mut summary: ModuleReport,
    details: Details,
    findings: &[Finding],
    names: &Names,
) -> Snapshot {
    let rules = summary.compiler.split(':').next().unwrap_or_default().to_owned();
    let cutoff_bytes = cutoff_bytes(summary.hbm.total_bytes);
    let alive = summary.peak.as_mut().map(|peak| std::mem::take(&mut peak.alive));
    let shardings: FxHashMap<&str, &str> = details
        .parameters
        .iter()
        .filter_map(|parameter| Some((parameter.path.as_str(), parameter.sharding.as_deref()?)))
        .collect();
    // Those that are alive at the peak and those that are not stand on lines of their own.
    let (at_peak, others): (Vec<_>, Vec<_>) = details
        .buffers
        .iter()
        .filter(|buffer| buffer.memory_space == 0 && buffer.bytes > 0)
        .cloned()
        .partition(|buffer| buffer.is_alive_at_peak);
    let all: Vec<Equal> = [at_peak, others].iter().flat_map(|buffers| equal(buffers)).collect();
    let (mut large, small): (Vec<Equal>, Vec<Equal>) =
        all.into_iter().partition(|equal| equal.bytes / equal.count.max(1) >= cutoff_bytes);
    large.sort_by(|a, b| a.key.cmp(&b.key).then(b.alive.cmp(&a.alive)));
    let mut said: Vec<Said> = findings.iter().map(|finding| said(finding, names)).collect();
    said.sort_unstable();
    let mut alive = alive.unwrap_or_default();
    // By what they are and not by size, so that a line stays where it is when its figure changes.
    alive.groups.sort_by(|a, b| (a.cause, &a.title).cmp(&(b.cause, &b.title)));
    for group in &mut alive.groups {
        group.rows.sort_by(|a, b| (&a.label, &a.operation).cmp(&(&b.label, &b.operation)));
    }
    let mut kernels = details.kernels;
    kernels.sort_by(|a, b| (&a.op_name, &a.source).cmp(&(&b.op_name, &b.source)));
    Snapshot {
        compiler: summary.build.clone().unwrap_or(rules),
        arguments: details.parameters.len(),
        signature: signature(&details.parameters),
        padding_bytes: details.padding_bytes,
        alive,
        cutoff_bytes,
        small_count: small.iter().map(|equal| equal.count).sum(),
        small_bytes: crate::config::total_bytes(small.iter().map(|equal| equal.bytes)),
        buffers: large
            .into_iter()
            .map(|equal| Line {
                sharding: shardings.get(equal.key.op_name.as_str()).map(|text| (*text).to_owned()),
                equal,
            })
            .collect(),
        kernels,
        findings: said,
        summary,
    }
}

/// The power of two at or below a hundredth of the total: it does not move when the total does a
/// little, so that buffers do not come and go by it.
fn cutoff_bytes(total_bytes: u64) -> u64 {
    (total_bytes / 100).checked_ilog2().map_or(1, |power| 1 << power)
}

fn said(finding: &Finding, names: &Names) -> Said {
    Said {
        level: std::cmp::Reverse(finding.level),
        rule: finding.rule.to_owned(),
        op_name: finding.op_name.clone().unwrap_or_default(),
        message: names.without_numbers(&finding.message),
        bytes: finding.bytes,
        saving_bytes: finding.saving_bytes,
    }
}
