//! Files in; programs out: the files of one compile put together, the text that is analysed chosen,
//! equal programs told once.

use super::diagnostic::Diagnostic;
use super::find::{Found, module_name};
use super::missing::{Missing, MissingKind};
use super::name::{Content, FileName, SideKind, Stage};
use super::parallel::map;
use super::renumbered;
use super::side::gpu_target_config;
use super::source::{File, Source};
use crate::target::Backend;
use crate::target::tpu::Chip;
use globset::GlobSet;
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_128;

/// One compile of one module.
#[derive(Debug)]
pub struct Program {
    /// The module's name.
    pub name: String,
    /// What the labels of all its files begin with, directories included.
    pub prefix: String,
    /// The backend, where a file's name or presence tells it; else see
    /// [`backend_of`](super::backend_of).
    pub backend: Option<Backend>,
    /// The TPU, where `target_arguments.txt` or `topology.textproto` tells it.
    pub chip: Option<Chip>,
    /// The GPU, where `gpu_target_config.pbtxt` tells it.
    pub gpu: Option<Gpu>,
    /// The GPU architecture that the file's name tells (`sm_9.0a`).
    pub architecture: Option<String>,
    /// The counter of the process in the file's name.
    pub number: Option<u64>,
    /// The build of libtpu in the file's name.
    pub build: Option<u64>,
    /// The stage that is analysed.
    pub stage: Stage,
    /// The text that is analysed.
    pub text: Source,
    /// The text handed to the compiler, where it is there and is not `text` itself.
    pub before_optimizations: Option<Source>,
    /// All stages that are there, each once, in the order of preference.
    pub stages: Vec<(Stage, File)>,
    /// Whether the compiler left behind what it writes when HBM runs out.
    pub ran_out_of_memory: bool,
    /// Labels of the analysed texts of equal programs, in the order they were found.
    pub duplicates: Vec<String>,
    /// XLA's own files beside the text, by kind.
    sides: Vec<(SideKind, File)>,
}

impl Program {
    /// Puts a program together; its chip is not known yet.
    fn of(
        name: String,
        mut group: Group,
        (stage, text): (Stage, Source),
        before_optimizations: Option<Source>,
    ) -> Program {
        let mut stages: Vec<(Stage, File)> =
            group.texts.into_iter().map(|(stage, found)| (stage, found.file)).collect();
        stages.sort_by_key(|(stage, _)| *stage);
        stages.dedup_by_key(|(stage, _)| *stage);
        group.sides.sort_by_key(|(kind, _)| *kind);
        group.sides.dedup_by_key(|(kind, _)| *kind);
        let has_text = |wanted: Stage| stages.iter().any(|(stage, _)| *stage == wanted);
        let has_side = |wanted: SideKind| group.sides.iter().any(|(kind, _)| *kind == wanted);
        let is_tpu = has_side(SideKind::TargetArguments) || has_side(SideKind::TpuCompEnv);
        let is_gpu = has_side(SideKind::GpuTargetConfig);
        let parsed = FileName::of_compile(&group.prefix);
        Program {
            name,
            prefix: format!("{}{}", group.directory, group.prefix),
            backend: group
                .backend
                .or(is_tpu.then_some(Backend::Tpu))
                .or(is_gpu.then_some(Backend::Gpu)),
            chip: None,
            gpu: None,
            architecture: group.architecture,
            number: parsed.number,
            build: parsed.build,
            stage,
            text,
            before_optimizations,
            ran_out_of_memory: has_side(SideKind::OomTopInstructions)
                || has_text(Stage::OomIntermediate) && !has_text(Stage::AfterCodegen),
            stages,
            duplicates: Vec::new(),
            sides: group.sides,
        }
    }

    /// A side file.
    pub fn side(&self, kind: SideKind) -> Option<&File> {
        self.sides.iter().find(|(found, _)| *found == kind).map(|(_, file)| file)
    }

    /// The side files that are there, by kind.
    pub fn sides(&self) -> &[(SideKind, File)] {
        &self.sides
    }

    /// The text of another stage.
    pub fn stage(&self, stage: Stage) -> Option<&File> {
        self.stages.iter().find(|(found, _)| *found == stage).map(|(_, file)| file)
    }
}

/// The GPU that a program was compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gpu {
    /// What the device calls itself (`NVIDIA H200`).
    pub name: String,
    /// Its memory.
    pub memory_bytes: Option<u64>,
}

/// The files of one compile.
#[derive(Default)]
pub(super) struct Group {
    pub(super) directory: String,
    pub(super) prefix: String,
    pub(super) texts: Vec<(Stage, Found)>,
    pub(super) sides: Vec<(SideKind, File)>,
    pub(super) backend: Option<Backend>,
    architecture: Option<String>,
}

/// What the programs of some files are.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub programs: Vec<Program>,
    pub missing: Vec<Missing>,
    pub diagnostics: Vec<Diagnostic>,
    /// Programs that a filter left out.
    pub filtered: usize,
}

/// Puts files together and reads the texts that are analysed.
pub(super) fn load(found: Vec<Found>, modules: Option<&GlobSet>) -> Loaded {
    let mut loaded = Loaded::default();
    let plans: Vec<Plan> = renumbered::join(group(found))
        .into_iter()
        .flat_map(plans)
        .filter(|plan| {
            let keep = modules.is_none_or(|modules| modules.is_match(&plan.name));
            loaded.filtered += usize::from(!keep);
            keep
        })
        .collect();
    let mut read = Vec::new();
    for (program, diagnostics) in map(plans, read_texts) {
        loaded.diagnostics.extend(diagnostics);
        read.extend(program);
    }
    loaded.programs = tell_once(read);
    for program in &loaded.programs {
        if program.stage == Stage::BeforeOptimizations && program.stages.len() == 1 {
            let path = program.text.label().to_owned();
            loaded.missing.push(Missing { path, kind: MissingKind::NotOptimised });
        }
    }
    loaded
}

/// Groups by directory and prefix, in the order of the first file of each.
fn group(found: Vec<Found>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: FxHashMap<(String, String), usize> = FxHashMap::default();
    let mut loose = Vec::new();
    for found in found {
        let name = found.parsed();
        let is_own_directory = FileName::parse(last_part(&found.directory)).number.is_some();
        let key = match (name.prefix, name.content) {
            ("", Content::Side(_)) if is_own_directory => {
                let path = found.directory.trim_end_matches('/');
                let at = path.len() - last_part(path).len();
                (path[..at].to_owned(), path[at..].to_owned())
            }
            ("", Content::Side(kind)) => {
                loose.push((kind, found));
                continue;
            }
            (prefix, _) => (found.directory.clone(), prefix.to_owned()),
        };
        let place = *places.entry(key).or_insert_with_key(|(directory, prefix)| {
            groups.push(Group {
                directory: directory.clone(),
                prefix: prefix.clone(),
                ..Group::default()
            });
            groups.len() - 1
        });
        groups[place].take(found);
    }
    take_loose(&mut groups, loose);
    groups
}

/// Side files without a prefix belong to the compile that has the directory for itself.
fn take_loose(groups: &mut [Group], loose: Vec<(SideKind, Found)>) {
    let mut owners: FxHashMap<String, Option<usize>> = FxHashMap::default();
    for (at, group) in groups.iter().enumerate().filter(|(_, group)| !group.texts.is_empty()) {
        owners.entry(group.directory.clone()).and_modify(|owner| *owner = None).or_insert(Some(at));
    }
    for (kind, found) in loose {
        if let Some(Some(at)) = owners.get(&found.directory) {
            groups[*at].sides.push((kind, found.file));
        }
    }
}

/// The last part of a path.
fn last_part(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit(['/', '!']).next().unwrap_or(path)
}

impl Group {
    fn take(&mut self, found: Found) {
        let name = found.parsed();
        self.backend = self.backend.or(name.backend);
        if self.architecture.is_none() {
            self.architecture = name.architecture.map(str::to_owned);
        }
        match name.content {
            Content::Side(kind) => self.sides.push((kind, found.file)),
            Content::Text(stage) => self.texts.push((stage, found)),
            // Its content was looked at when it was found, or it was named.
            Content::Unknown | Content::Other | Content::Proto | Content::Archive => {
                self.texts.push((Stage::Unnamed, found));
            }
        }
    }
}

/// A program whose texts are not read yet.
struct Plan {
    name: String,
    group: Group,
}

/// The programs of one group: one, or one for each text between passes that was named alone.
fn plans(mut group: Group) -> Vec<Plan> {
    group.texts.sort_by_key(|(stage, _)| *stage);
    let any_named = group.texts.iter().any(|(_, found)| found.is_named);
    let stage_named =
        group.texts.iter().any(|(stage, found)| found.is_named && *stage != Stage::Pass);
    if !any_named || stage_named {
        group.texts.retain(|(stage, _)| *stage != Stage::Pass);
        return if group.texts.is_empty() { Vec::new() } else { vec![Plan::of(group)] };
    }
    let (passes, stages): (Vec<_>, Vec<_>) =
        group.texts.into_iter().partition(|(stage, _)| *stage == Stage::Pass);
    let before: Vec<_> =
        stages.into_iter().filter(|(stage, _)| *stage == Stage::BeforeOptimizations).collect();
    passes
        .into_iter()
        .map(|pass| {
            let mut texts = vec![pass];
            texts.extend(before.iter().cloned());
            Plan::of(Group {
                directory: group.directory.clone(),
                prefix: group.prefix.clone(),
                texts,
                // The figures of XLA are those of another text.
                sides: group.sides.iter().filter(|(kind, _)| is_setting(*kind)).cloned().collect(),
                backend: group.backend,
                architecture: group.architecture.clone(),
            })
        })
        .collect()
}

/// Whether a side file says how was compiled, and not what came out.
fn is_setting(kind: SideKind) -> bool {
    matches!(
        kind,
        SideKind::TargetArguments
            | SideKind::TpuCompEnv
            | SideKind::GpuTargetConfig
            | SideKind::Topology
    )
}

impl Plan {
    fn of(group: Group) -> Plan {
        let parsed = FileName::of_compile(&group.prefix);
        let is_named_by_file = parsed.number.is_some() && !parsed.module.is_empty();
        let name = match group.texts.first() {
            Some((_, found)) if !is_named_by_file => {
                module_name(&found.file.head()).unwrap_or_else(|| parsed.module.to_owned())
            }
            _ => parsed.module.to_owned(),
        };
        Plan { name, group }
    }
}

/// Reads a program's texts and puts it together.
fn read_texts(plan: Plan) -> (Option<Program>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let Plan { name, mut group } = plan;
    let Some((stage, text)) = choose(&mut group, &mut diagnostics) else {
        return (None, diagnostics);
    };
    let before_optimizations = before_optimizations(&group, &text, &mut diagnostics);
    let mut program = Program::of(name, group, (stage, text), before_optimizations);
    match chip(&program) {
        Ok(chip) => program.chip = chip,
        Err(diagnostic) => diagnostics.push(diagnostic),
    }
    match gpu(&program) {
        Ok(gpu) => program.gpu = gpu,
        Err(diagnostic) => diagnostics.push(diagnostic),
    }
    if program.chip.is_some() && program.backend.is_none() {
        program.backend = Some(Backend::Tpu);
    }
    (Some(program), diagnostics)
}

/// The text that is analysed: the first in the order of preference that can be read. Where texts were
/// named, only those count.
fn choose(group: &mut Group, diagnostics: &mut Vec<Diagnostic>) -> Option<(Stage, Source)> {
    group.texts.sort_by_key(|(stage, found)| (!found.is_named, *stage));
    let only_named = group.texts.first().is_some_and(|(_, found)| found.is_named);
    for (stage, found) in &group.texts {
        if only_named && !found.is_named {
            break;
        }
        match read_text(&found.file) {
            Ok(source) => return Some((*stage, source)),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    None
}

/// The text handed to the compiler, unless it is the one that is analysed.
fn before_optimizations(
    group: &Group,
    text: &Source,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Source> {
    let before = group.texts.iter().find(|(stage, _)| *stage == Stage::BeforeOptimizations);
    let file = before.map(|(_, found)| &found.file).filter(|file| file.label() != text.label())?;
    match read_text(file) {
        Ok(source) => Some(source),
        Err(diagnostic) => {
            // It may have been tried, and reported, as the text to analyse.
            if !diagnostics.contains(&diagnostic) {
                diagnostics.push(diagnostic);
            }
            None
        }
    }
}

fn read_text(file: &File) -> Result<Source, Diagnostic> {
    let source = file.read()?;
    if source.bytes().is_empty() {
        // The sentence for an empty text.
        source.text()?;
    }
    Ok(source)
}

/// The chip that a side file tells.
fn chip(program: &Program) -> Result<Option<Chip>, Diagnostic> {
    if let Some(file) = program.side(SideKind::TargetArguments) {
        return Ok(Chip::from_target_arguments(file.read()?.text()?));
    }
    let Some(file) = program.side(SideKind::Topology) else { return Ok(None) };
    let source = file.read()?;
    // `platform_version: "TFRT TPU v5 lite\nBuilt on ...`, with the backslash.
    let kind = source.text()?.split_once("\"TFRT TPU").map(|(_, rest)| rest);
    let kind = kind.and_then(|kind| kind.split(['\\', '"']).next());
    Ok(kind.and_then(Chip::from_name))
}

/// The GPU that a side file tells.
fn gpu(program: &Program) -> Result<Option<Gpu>, Diagnostic> {
    let Some(file) = program.side(SideKind::GpuTargetConfig) else { return Ok(None) };
    let source = file.read()?;
    let config =
        gpu_target_config::parse(source.text()?).map_err(|error| error.in_file(source.label()))?;
    Ok(Some(Gpu { name: config.name.to_owned(), memory_bytes: config.memory_bytes }))
}

/// Keeps one of several equal programs: the first, or the first that has XLA's own figures.
fn tell_once(programs: Vec<Program>) -> Vec<Program> {
    let sizes: Vec<_> = programs.iter().map(size_key).collect();
    let mut counts: FxHashMap<_, u32> = FxHashMap::default();
    for size in &sizes {
        *counts.entry(size).or_default() += 1;
    }
    let is_alone: Vec<bool> = sizes.iter().map(|size| counts.get(size) == Some(&1)).collect();
    let hashed = map(programs.into_iter().zip(is_alone).collect(), |(program, is_alone)| {
        let hash = (!is_alone).then(|| content_hash(&program));
        (program, hash)
    });
    let mut kept: Vec<Program> = Vec::new();
    let mut places = FxHashMap::default();
    for (mut program, hash) in hashed {
        let place = hash.map(|hash| {
            let chip = (program.backend, program.chip, program.build, program.ran_out_of_memory);
            *places.entry((hash, chip, program.gpu.clone(), program.stage)).or_insert(kept.len())
        });
        match place.and_then(|place| kept.get_mut(place)) {
            None => kept.push(program),
            Some(first) => {
                let has_figures =
                    |program: &Program| program.side(SideKind::BufferAssignment).is_some();
                if !has_figures(first) && has_figures(&program) {
                    std::mem::swap(first, &mut program);
                    first.duplicates = std::mem::take(&mut program.duplicates);
                }
                first.duplicates.push(program.text.label().to_owned());
            }
        }
    }
    kept
}

/// Texts of different sizes are different: only the others are hashed.
fn size_key(program: &Program) -> (usize, Option<usize>) {
    let before = program.before_optimizations.as_ref().map(|source| source.bytes().len());
    (program.text.bytes().len(), before)
}

fn content_hash(program: &Program) -> (u128, Option<u128>) {
    let before = program.before_optimizations.as_ref().map(|source| xxh3_128(source.bytes()));
    (xxh3_128(program.text.bytes()), before)
}
