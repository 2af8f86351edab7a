//! One program through the pipeline: text → module → graph → memory analysis → findings.

use super::machine::Machine;
use super::way_out::{WayOut, way_out};
use super::{Diagnostic, Hbm, MeshAxis, ModuleReport, Peak, Space, Verdict};
use crate::config::Settings;
use crate::dump::{self, Program, Stage};
use crate::graph::Dataflow;
use crate::hlo::Module;
use crate::lint::{self, Capacity, Context, Finding, Row};
use crate::memory::{Analysis, Exactness, MemoryProfile};
use crate::target::tpu::mosaic::{Kernels, Records};
use crate::target::{Backend, Policy, gpu};
use crate::text::{self, Strictness};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What came of one program.
#[derive(Debug)]
pub struct Outcome<T> {
    /// The report, and what else was asked for; `None` where the text could not be read.
    pub module: Option<(ModuleReport, T)>,
    /// What the rules found.
    pub findings: Vec<Finding>,
    /// What went wrong.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Outcome<T> {
    const fn nothing() -> Outcome<T> {
        Outcome { module: None, findings: Vec::new(), diagnostics: Vec::new() }
    }
}

/// Runs the pipeline over one program; `then` sees the analyses, the findings and the way out
/// before they are gone. A
/// fault of ours costs the program that met it and no other.
pub fn analyse<T>(
    program: &Program,
    settings: &Settings,
    then: impl Fn(&Context<'_>, &[Finding], Option<&WayOut>) -> T,
) -> Outcome<T> {
    let file = program.text.label();
    or_fault(file, || pipeline(program, settings, then)).unwrap_or_else(|fault| {
        let mut outcome = Outcome::nothing();
        outcome.diagnostics.push(*fault);
        outcome
    })
}

/// What a work gives, or what to tell the user where it panics.
fn or_fault<R>(file: &str, work: impl FnOnce() -> R) -> Result<R, Box<Diagnostic>> {
    // Nothing that the work has begun is looked at behind a panic.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        Box::new(Diagnostic {
            failed: true,
            file: file.to_owned(),
            line: None,
            column: None,
            message:
                "not analysed: hlolint itself failed here, the other programs are not concerned"
                    .to_owned(),
            help: "report this text, with the message above".to_owned(),
            excerpt: None,
        })
    })
}

fn pipeline<T>(
    program: &Program,
    settings: &Settings,
    then: impl Fn(&Context<'_>, &[Finding], Option<&WayOut>) -> T,
) -> Outcome<T> {
    let mut outcome = Outcome::nothing();
    let Some(module) = read(&program.text, &mut outcome.diagnostics) else { return outcome };
    let before = program
        .before_optimizations
        .as_ref()
        .and_then(|source| read(source, &mut outcome.diagnostics));
    match judge(program, &module, before.as_ref(), settings, then) {
        Ok((report, findings)) => {
            outcome.module = Some(report);
            outcome.findings = findings;
        }
        Err(diagnostic) => outcome.diagnostics.push(*diagnostic),
    }
    outcome
}

/// What the compiler recorded of Pallas kernels when it generated code: only that text has it. A text
/// that cannot be read records nothing; the estimates stand without it.
pub(super) fn kernel_records(program: &Program, module: &Module<'_>) -> Records {
    if Kernels::new(module).ids().is_empty() || program.stage == Stage::AfterCodegen {
        return Records::default();
    }
    let source = program.stage(Stage::AfterCodegen).and_then(|file| file.read().ok());
    let parsed = source
        .as_ref()
        .and_then(|source| text::parse_with(source.text().ok()?, Strictness::Lenient).ok());
    parsed.map_or_else(Records::default, |parsed| Records::of(&parsed.module))
}

/// Reads a text; what is wrong with it goes to the diagnostics.
pub(super) fn read<'s>(
    source: &'s dump::Source,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Module<'s>> {
    let text = match source.text() {
        Ok(text) => text,
        Err(error) => {
            diagnostics.push(error.into());
            return None;
        }
    };
    match text::parse_with(text, Strictness::Lenient) {
        Ok(parsed) => {
            diagnostics.extend(parsed.warnings.iter().take(1).map(|warning| {
                let more = parsed.warnings.len() - 1;
                let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                let place = text::location(text.as_bytes(), warning.offset);
                Diagnostic {
                    failed: false,
                    file: source.label().to_owned(),
                    line: Some(place.line),
                    column: Some(place.column),
                    message: format!("{}{more}", warning.message),
                    help: String::new(),
                    excerpt: Some(text::excerpt(text.as_bytes(), warning.offset)),
                }
            }));
            Some(parsed.module)
        }
        Err(error) => {
            let place = error.location(text.as_bytes());
            diagnostics.push(Diagnostic {
                failed: true,
                file: source.label().to_owned(),
                line: Some(place.line),
                column: Some(place.column),
                message: error.message.clone(),
                help:
                    "dump the module again; a compiler killed while writing leaves part of a file"
                        .to_owned(),
                excerpt: Some(text::excerpt(text.as_bytes(), error.offset)),
            });
            None
        }
    }
}

/// A program that cannot be judged.
pub(super) fn failed(program: &Program, message: String, help: &str) -> Diagnostic {
    Diagnostic {
        failed: true,
        file: program.text.label().to_owned(),
        line: None,
        column: None,
        message,
        help: help.to_owned(),
        excerpt: None,
    }
}

/// The report, what else was asked for, and the findings.
type Judged<T> = ((ModuleReport, T), Vec<Finding>);

fn judge<T>(
    program: &Program,
    module: &Module<'_>,
    before: Option<&Module<'_>>,
    settings: &Settings,
    then: impl Fn(&Context<'_>, &[Finding], Option<&WayOut>) -> T,
) -> Result<Judged<T>, Box<Diagnostic>> {
    let failed = |message, help| Box::new(failed(program, message, help));
    let machine = Machine::of(program, module, settings)
        .map_err(|error| failed(error.message, error.help))?;
    let graph = Dataflow::new(module);
    let cannot = |error: crate::memory::MemoryError| failed(error.to_string(), "report this text");
    let analysis = Analysis::new(&graph, &machine.policy).map_err(cannot)?;
    let profile = analysis.profile(&[]).map_err(cannot)?;
    let capacity = capacity(&machine.policy, settings);
    let mut context = Context::new(
        module,
        before,
        &graph,
        &machine.policy,
        &analysis,
        &profile,
        machine.kernels,
        machine.serialized_tables,
        settings,
        program.text.label(),
        capacity,
    );
    context.kernel_records = kernel_records(program, module);
    let mut findings = Vec::new();
    for rule in lint::all_rules() {
        context.renew_questions();
        rule.check(&context, &mut findings);
    }
    context.renew_questions();
    let way_out = way_out(&context, &findings);
    let findings = lint::fold(findings, &profile);
    context.renew_questions();
    let findings = lint::fold_moot(&context, findings);
    let more = then(&context, &findings, way_out.as_ref());
    let report = report(program, &context, &machine, way_out);
    Ok(((report, more), findings))
}

fn capacity(policy: &Policy, settings: &Settings) -> Capacity {
    let capacity_bytes = policy.limit_bytes;
    let left = capacity_bytes.map(|bytes| bytes.saturating_sub(settings.reserve_bytes));
    let available_bytes = match (left, settings.max_total_bytes) {
        (Some(left), Some(most)) => Some(left.min(most)),
        (left, most) => left.or(most),
    };
    Capacity { capacity_bytes, available_bytes }
}

fn report(
    program: &Program,
    context: &Context<'_>,
    machine: &Machine,
    way_out: Option<WayOut>,
) -> ModuleReport {
    let hbm = hbm(context);
    let (profile, policy) = (context.profile, context.policy);
    ModuleReport {
        name: context.module.name.to_owned(),
        file: program.text.label().to_owned(),
        stage: program.stage.as_str().to_owned(),
        backend: match policy.backend {
            Backend::Tpu => "tpu",
            Backend::Gpu => "gpu",
            Backend::Cpu => "cpu",
        }
        .into(),
        chip: machine.chip.clone(),
        memory: policy.space_name(0).into(),
        compiler: machine.compiler.clone(),
        build: machine.build.clone(),
        devices: context.mesh.devices,
        mesh: context
            .mesh
            .axes
            .iter()
            .map(|axis| MeshAxis { name: axis.name.clone(), size: axis.size })
            .collect(),
        verdict: verdict(policy.backend, &hbm, profile.exactness),
        figures: match profile.exactness {
            Exactness::Exact => "exact",
            Exactness::Estimate => "estimate",
            Exactness::LowerBound => "lower-bound",
        }
        .into(),
        caveats: profile.caveats.clone(),
        spaces: profile
            .spaces
            .iter()
            .filter(|space| space.memory_space != 0 && space.total_bytes > 0)
            .map(|space| Space {
                memory_space: space.memory_space,
                name: policy.space_name(space.memory_space).into(),
                total_bytes: space.total_bytes,
            })
            .collect(),
        gpu_limits: policy
            .limit_bytes
            .filter(|_| policy.backend == Backend::Gpu)
            .and_then(|memory_bytes| gpu::limits(context.module, memory_bytes)),
        peak: peak(context),
        way_out,
        duplicates: program.duplicates.clone(),
        hbm,
    }
}

fn verdict(backend: Backend, hbm: &Hbm, exactness: Exactness) -> Verdict {
    match hbm.available_bytes {
        None if backend == Backend::Cpu => Verdict::NoLimit,
        None => Verdict::Unknown,
        Some(available) if hbm.required_bytes > available => Verdict::DoesNotFit,
        Some(_) if exactness == Exactness::LowerBound => Verdict::FitsAtLeast,
        Some(_) => Verdict::Fits,
    }
}

fn hbm(context: &Context<'_>) -> Hbm {
    let usage = context.hbm();
    Hbm {
        capacity_bytes: context.capacity.capacity_bytes,
        available_bytes: context.capacity.available_bytes,
        required_bytes: usage.required_bytes,
        sparsecore_bytes: context.sparsecore_bytes(),
        total_bytes: usage.total_bytes,
        peak_live_bytes: usage.peak_point.map(|_| usage.peak_live_bytes),
        parameters_bytes: usage.parameters_bytes,
        outputs_bytes: usage.outputs_bytes,
        aliased_bytes: usage.aliased_bytes,
        constants_bytes: usage.constants_bytes,
        thread_local_bytes: usage.thread_local_bytes,
        temporaries_bytes: usage.temporaries_live_bytes,
        fragmentation_bytes: usage.fragmentation_bytes,
    }
}

fn peak(context: &Context<'_>) -> Option<Peak> {
    let profile: &MemoryProfile = context.profile;
    let point = context.hbm().peak_point?;
    let instruction = *profile.schedule.get(point as usize)?;
    let module = context.module;
    let metadata = module.metadata(instruction);
    let alive = context.composition.clone();
    let largest: Option<Row> = alive.largest().cloned();
    Some(Peak {
        point,
        points: profile.schedule.len() as u32,
        instruction: module.instruction(instruction).name.to_owned(),
        backward: metadata.is_some_and(|metadata| lint::is_backward(metadata.op_name)),
        in_loop: module.instruction(instruction).computation != module.entry,
        source: context.source_near(instruction),
        alive,
        largest,
    })
}

#[cfg(test)]
mod tests {
    use super::or_fault;

    #[test]
    fn a_fault_of_ours_is_told() {
        assert_eq!(or_fault("f.txt", || 1).ok(), Some(1));
        let fault = or_fault("f.txt", || panic!("met")).expect_err("a panic");
        assert!(fault.failed && fault.file == "f.txt" && fault.message.contains("hlolint itself"));
    }
}
