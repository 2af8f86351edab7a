//! One program through the pipeline: text → module → graph → memory analysis → findings.

use super::check::{Diagnostic, Hbm, MeshAxis, ModuleReport, Peak, Space, Verdict};
use crate::config::Settings;
use crate::dump::{self, Program, SideKind};
use crate::graph::Dataflow;
use crate::hlo::Module;
use crate::lint::{self, Capacity, Context, Finding, Row};
use crate::memory::{Analysis, Exactness, MemoryProfile};
use crate::target::tpu::{Chip, RuleSet, Signs, detect};
use crate::target::{Backend, Policy};
use crate::text::{self, Strictness};

/// What came of one program.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The report; `None` where the text could not be read.
    pub module: Option<ModuleReport>,
    /// What the rules found.
    pub findings: Vec<Finding>,
    /// What went wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Runs the pipeline over one program.
pub fn analyse(program: &Program, settings: &Settings) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(module) = read(&program.text, &mut outcome.diagnostics) else { return outcome };
    let before = program
        .before_optimizations
        .as_ref()
        .and_then(|source| read(source, &mut outcome.diagnostics));
    match judge(program, &module, before.as_ref(), settings) {
        Ok((report, findings)) => {
            outcome.module = Some(report);
            outcome.findings = findings;
        }
        Err(diagnostic) => outcome.diagnostics.push(*diagnostic),
    }
    outcome
}

/// Reads a text; what is wrong with it goes to the diagnostics.
fn read<'s>(source: &'s dump::Source, diagnostics: &mut Vec<Diagnostic>) -> Option<Module<'s>> {
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
                    line: Some(place.line as usize),
                    column: Some(place.column as usize),
                    message: format!("{}{more}", warning.message),
                    help: String::new(),
                    snippet: None,
                }
            }));
            Some(parsed.module)
        }
        Err(error) => {
            let place = error.location(text.as_bytes());
            diagnostics.push(Diagnostic {
                failed: true,
                file: source.label().to_owned(),
                line: Some(place.line as usize),
                column: Some(place.column as usize),
                message: error.message.clone(),
                help:
                    "dump the module again; a compiler killed while writing leaves part of a file"
                        .to_owned(),
                snippet: None,
            });
            None
        }
    }
}

/// The machine of a program.
struct Machine {
    policy: Policy,
    compiler: String,
}

fn judge(
    program: &Program,
    module: &Module<'_>,
    before: Option<&Module<'_>>,
    settings: &Settings,
) -> Result<(ModuleReport, Vec<Finding>), Box<Diagnostic>> {
    let failed = |message: String, help: &str| {
        Box::new(Diagnostic {
            failed: true,
            file: program.text.label().to_owned(),
            line: None,
            column: None,
            message,
            help: help.to_owned(),
            snippet: None,
        })
    };
    let machine =
        machine(program, module, settings).map_err(|(message, help)| failed(message, help))?;
    let graph = Dataflow::new(module);
    let cannot = |error: crate::memory::MemoryError| failed(error.to_string(), "report this text");
    let analysis = Analysis::new(&graph, &machine.policy).map_err(cannot)?;
    let profile = analysis.profile(&[]).map_err(cannot)?;
    let capacity = capacity(&machine.policy, settings);
    let context = Context::new(
        module,
        before,
        &graph,
        &machine.policy,
        &analysis,
        &profile,
        settings,
        program.text.label(),
        capacity,
    );
    let mut findings = Vec::new();
    for rule in lint::all_rules() {
        rule.check(&context, &mut findings);
    }
    Ok((report(program, &context, machine.compiler), lint::fold(findings)))
}

fn machine(
    program: &Program,
    module: &Module<'_>,
    settings: &Settings,
) -> Result<Machine, (String, &'static str)> {
    let backend = program
        .backend
        .or_else(|| dump::backend_of(module))
        .unwrap_or(if settings.chip.is_some() { Backend::Tpu } else { Backend::Cpu });
    if backend != Backend::Tpu {
        let mut policy = Policy::natural(backend);
        policy.limit_bytes = settings.hbm_bytes;
        return Ok(Machine { policy, compiler: "natural sizes".to_owned() });
    }
    if let (Some(found), Some(wanted), false) = (program.chip, settings.chip, settings.force_chip)
        && found != wanted
    {
        return Err((
            format!("compiled for {found}, not for {wanted}: layouts differ between chips"),
            "leave --chip out, compile for the other chip, or insist with --force-chip",
        ));
    }
    let chip = settings.chip.or(program.chip);
    let detected = detect_release(program, module, chip);
    let rules: RuleSet = settings.compiler.unwrap_or(detected.rules);
    let mut policy = Policy::tpu(chip.unwrap_or(Chip::V5e), rules);
    if chip.is_none() {
        policy.limit_bytes = None;
        policy.caveats.push(
            "the dump does not name its chip: sizes of tuple tables and the choice of heap are those \
             of a v5e; name it with --chip"
                .to_owned(),
        );
    }
    if let Some(hbm) = settings.hbm_bytes {
        policy.limit_bytes = Some(hbm);
    }
    let why = if settings.compiler.is_some() { "as asked for" } else { &detected.why };
    let compiler = format!("rules of libtpu {} and later: {why}", rules.first_version());
    Ok(Machine { policy, compiler })
}

/// The release that wrote a program's files, by every sign there is.
fn detect_release(
    program: &Program,
    module: &Module<'_>,
    chip: Option<Chip>,
) -> crate::target::tpu::Detected {
    let side = |kind: SideKind| program.side(kind).and_then(|file| file.read().ok());
    let comp_env = if program.build.is_none() { side(SideKind::TpuCompEnv) } else { None };
    detect(&Signs {
        build: program.build,
        comp_env: comp_env.as_ref().and_then(|source| source.text().ok()),
        has_live_range: program
            .side(SideKind::MemoryUsageReport)
            .map(|_| program.side(SideKind::LiveRange).is_some()),
        allocations_have_pages: None,
        text: module.header.is_scheduled.then_some(module.text),
        chip,
    })
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

fn report(program: &Program, context: &Context<'_>, compiler: String) -> ModuleReport {
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
        },
        chip: policy.chip.filter(|_| hbm.capacity_bytes.is_some()).map(Chip::name),
        compiler,
        devices: context.mesh.devices,
        mesh: context
            .mesh
            .axes
            .iter()
            .map(|axis| MeshAxis { name: axis.name.clone(), size: axis.size })
            .collect(),
        verdict: verdict(&hbm, profile.exactness),
        figures: match profile.exactness {
            Exactness::Exact => "exact",
            Exactness::Estimate => "estimate",
            Exactness::LowerBound => "lower-bound",
        },
        caveats: profile.caveats.clone(),
        spaces: profile
            .spaces
            .iter()
            .filter(|space| space.memory_space != 0 && space.total_bytes > 0)
            .map(|space| Space {
                memory_space: space.memory_space,
                name: crate::target::tpu::space::name(space.memory_space),
                total_bytes: space.total_bytes,
            })
            .collect(),
        peak: peak(context),
        duplicates: program.duplicates.clone(),
        hbm,
    }
}

fn verdict(hbm: &Hbm, exactness: Exactness) -> Verdict {
    match hbm.available_bytes {
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
    let largest: Option<Row> = alive
        .groups
        .iter()
        .flat_map(|group| &group.rows)
        .max_by_key(|row| row.bytes / row.count.max(1))
        .cloned();
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
