//! One program in: its text analysed, XLA's own files read, both compared.

use super::{ModuleReport, NotCompared, Oracle, Subject, compare, recoloured};
use crate::config::Settings;
use crate::dump::side::{SideError, buffer_assignment, live_range, memory_usage_report};
use crate::dump::{Diagnostic, File, Program, SideKind, Source, Stage};
use crate::graph::Dataflow;
use crate::memory;
use crate::report::machine::Machine;
use crate::target::Backend;
use crate::text;

/// What came of one program.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How it compares.
    pub module: Option<ModuleReport>,
    /// Why it was not compared.
    pub not_compared: Option<NotCompared>,
    /// What could not be read.
    pub diagnostics: Vec<Diagnostic>,
}

/// Analyses a program and compares it with what XLA wrote beside it.
pub fn verify(program: &Program, settings: &Settings) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(why) = not_comparable(program) {
        let file = program.text.label().to_owned();
        outcome.not_compared = Some(NotCompared { file, why });
        return outcome;
    }
    let files = Files::read(program, &mut outcome.diagnostics);
    let diagnostics = &mut outcome.diagnostics;
    let mut assignment = files.parse(&files.assignment, buffer_assignment::parse, diagnostics);
    let live_ranges = files.parse(&files.live_ranges, live_range::parse, diagnostics);
    let mut report = files.parse(&files.report, memory_usage_report::parse, diagnostics);
    let is_recoloured = program.backend == Some(Backend::Gpu)
        && recoloured::undo(assignment.as_mut(), report.as_mut());
    let oracle = Oracle {
        assignment: assignment.as_ref(),
        live_ranges: live_ranges
            .as_ref()
            .or(assignment.as_ref().and_then(|assignment| assignment.live_ranges.as_ref())),
        report: report.as_ref(),
    };
    if oracle.is_empty() {
        return outcome;
    }
    match analyse(program, settings, &oracle) {
        Ok(mut module) => {
            module.notes.extend(is_recoloured.then_some(recoloured::NOTE));
            outcome.module = Some(module);
        }
        Err(diagnostic) => outcome.diagnostics.push(diagnostic),
    }
    outcome
}

/// Why a program has nothing to compare with.
fn not_comparable(program: &Program) -> Option<&'static str> {
    const FIGURES: [SideKind; 3] =
        [SideKind::BufferAssignment, SideKind::LiveRange, SideKind::MemoryUsageReport];
    if !FIGURES.iter().any(|kind| program.side(*kind).is_some()) {
        return Some("XLA wrote no figures beside it");
    }
    let is_theirs = matches!(
        program.stage,
        Stage::AfterOptimizations
            | Stage::AfterBufferAssignment
            | Stage::OomIntermediate
            | Stage::AfterCodegen
    );
    (!is_theirs).then_some("the text that XLA's figures belong to (after_optimizations) is missing")
}

/// XLA's files.
struct Files {
    assignment: Option<Source>,
    live_ranges: Option<Source>,
    report: Option<Source>,
}

impl Files {
    fn read(program: &Program, diagnostics: &mut Vec<Diagnostic>) -> Files {
        let mut read = |kind| {
            let read = program.side(kind).map(File::read)?;
            read.map_err(|diagnostic| diagnostics.push(diagnostic)).ok()
        };
        Files {
            assignment: read(SideKind::BufferAssignment),
            live_ranges: read(SideKind::LiveRange),
            report: read(SideKind::MemoryUsageReport),
        }
    }

    fn parse<'s, T>(
        &'s self,
        source: &'s Option<Source>,
        parse: impl FnOnce(&'s str) -> Result<T, SideError>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<T> {
        let source = source.as_ref()?;
        let parsed = source
            .text()
            .and_then(|text| parse(text).map_err(|error| error.in_file(source.label())));
        parsed.map_err(|diagnostic| diagnostics.push(diagnostic)).ok()
    }
}

fn analyse(
    program: &Program,
    settings: &Settings,
    oracle: &Oracle<'_>,
) -> Result<ModuleReport, Diagnostic> {
    let label = program.text.label();
    let text = program.text.text()?;
    let parsed = text::parse(text).map_err(|error| {
        let place = error.location(text.as_bytes());
        Diagnostic::new(label, error.message.clone(), "dump the module again")
            .at_line(place.line as u64)
    })?;
    let module = &parsed.module;
    let machine = Machine::of(program, module, settings)
        .map_err(|error| Diagnostic::new(label, error.message, error.help))?;
    let graph = Dataflow::new(module);
    let profile = memory::analyse(&graph, &machine.policy)
        .map_err(|error| Diagnostic::new(label, error.to_string(), "report it with this text"))?;
    let subject = Subject {
        module,
        profile: &profile,
        results_are_required: machine.policy.rules.results_are_required,
        memory: machine.policy.space_name(0),
    };
    Ok(ModuleReport {
        name: module.name.to_owned(),
        file: label.to_owned(),
        backend: match machine.policy.backend {
            Backend::Tpu => "tpu",
            Backend::Gpu => "gpu",
            Backend::Cpu => "cpu",
        },
        chip: machine.chip,
        compiler: machine.compiler,
        memory: machine.policy.space_name(0),
        caveats: profile.caveats.clone(),
        notes: Vec::new(),
        duplicates: program.duplicates.clone(),
        figures: compare(&subject, oracle),
    })
}
