//! What a rule sees: one program with its analyses, and helpers that all rules share.

use super::TRADE_SHARE;
use super::cause::{self, Alive};
use super::finding::is_own_file;
use super::materiality;
use super::questions::Questions;
use super::{
    Argument, Axis, Cause, Composition, Confidence, Finding, Level, Location, Mesh, Meta,
    Provenance, Reference, Remedy, Source, SparseCore, composition, is_backward, unescape,
};
use crate::config::Settings;
use crate::graph::Dataflow;
use crate::hlo::{InstructionId, Module, Opcode, ShapeId, ShapeIndex};
use crate::memory::{
    AllocationKind, Analysis, BufferId, Edit, Exactness, MemoryProfile, SpaceUsage, Value, ValueId,
};
use crate::target::Policy;
use crate::target::tpu::mosaic::{Circumstances, Estimate, Kernels, Records};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use xxhash_rust::xxh3::xxh3_64;

/// HBM of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// What the compiler may use on the chip; `None` where the chip is not known.
    pub capacity_bytes: Option<u64>,
    /// What is left of it after what the user reserved, or the user's own maximum where that is less.
    pub available_bytes: Option<u64>,
}

/// One program with its analyses.
pub struct Context<'a> {
    /// The module that is analysed.
    pub module: &'a Module<'a>,
    /// The module as it was handed to the compiler, where the dump has it.
    pub before: Option<&'a Module<'a>>,
    /// The dataflow graph.
    pub graph: &'a Dataflow<'a>,
    /// The machine.
    pub policy: &'a Policy,
    /// What does not depend on how memory is assigned.
    pub analysis: &'a Analysis<'a, 'a>,
    /// The memory analysis.
    pub profile: &'a MemoryProfile,
    /// What Pallas kernels are judged by, on a TPU.
    pub kernels: Option<Circumstances>,
    /// What SparseCores need of HBM, in a program with embedding tables there.
    pub sparsecore: Option<SparseCore>,
    /// What the user asked for.
    pub settings: &'a Settings,
    /// The file the module was read from.
    pub file: &'a str,
    /// HBM of one device.
    pub capacity: Capacity,
    /// The devices.
    pub mesh: Mesh,
    /// The entry's arguments.
    pub arguments: Vec<Argument>,
    /// The entry's parameters in `before`, by number.
    pub before_parameters: Vec<InstructionId>,
    /// The loops of the backward pass.
    pub backward_loops: Vec<InstructionId>,
    /// The temporaries alive at the peak, each with its cause.
    pub(super) alive: Vec<Alive>,
    /// What is alive at the peak.
    pub composition: Composition,
    /// What the compiler recorded of Pallas kernels.
    pub kernel_records: Records,
    questions: Questions,
    lines: OnceCell<Vec<u32>>,
    estimates: OnceCell<Vec<(InstructionId, Estimate)>>,
    values_of: OnceCell<FxHashMap<InstructionId, Vec<ValueId>>>,
}

impl<'a> Context<'a> {
    /// Puts a program's analyses together.
    #[allow(clippy::too_many_arguments, reason = "the one place where they come together")]
    pub fn new(
        module: &'a Module<'a>,
        before: Option<&'a Module<'a>>,
        graph: &'a Dataflow<'a>,
        policy: &'a Policy,
        analysis: &'a Analysis<'a, 'a>,
        profile: &'a MemoryProfile,
        kernels: Option<Circumstances>,
        serialized_tables: u64,
        settings: &'a Settings,
        file: &'a str,
        capacity: Capacity,
    ) -> Context<'a> {
        let mut context = Context {
            module,
            before,
            graph,
            policy,
            analysis,
            profile,
            kernels,
            sparsecore: SparseCore::of(module, before, profile, kernels, serialized_tables),
            settings,
            file,
            capacity,
            mesh: Mesh::of(module, before),
            arguments: super::arguments(module, before),
            before_parameters: before.map_or(Vec::new(), |before| before.parameters(before.entry)),
            backward_loops: graph
                .loops()
                .iter()
                .map(|found| found.instruction)
                .filter(|&id| module.metadata(id).is_some_and(|m| is_backward(m.op_name)))
                .collect(),
            alive: Vec::new(),
            composition: Composition::default(),
            kernel_records: Records::default(),
            questions: Questions::default(),
            lines: OnceCell::new(),
            estimates: OnceCell::new(),
            values_of: OnceCell::new(),
        };
        context.alive =
            context.hbm().peak_point.map_or(Vec::new(), |at| cause::alive(&context, at));
        context.composition = composition::compose(&context);
        context
    }

    /// HBM. What SparseCores need beside every allocation is part of what is required.
    pub fn hbm(&self) -> SpaceUsage {
        let mut usage = self.profile.hbm().cloned().unwrap_or_default();
        usage.required_bytes = usage.required_bytes.saturating_add(self.sparsecore_bytes());
        usage
    }

    /// What SparseCores need beside every allocation.
    pub fn sparsecore_bytes(&self) -> u64 {
        self.sparsecore.as_ref().map_or(0, SparseCore::bytes)
    }

    /// What is missing; 0 where the program fits or the capacity is not known.
    pub fn exceeded_bytes(&self) -> u64 {
        let needed = self.hbm().required_bytes;
        self.capacity.available_bytes.map_or(0, |available| needed.saturating_sub(available))
    }

    /// Whether bytes are a share of the chip's HBM that matters to a rule.
    pub fn is_material(&self, meta: &Meta, bytes: u64) -> bool {
        self.is_share(bytes, self.settings.materiality_of(meta.name).min_share)
    }

    /// Whether bytes are at least a share of the chip's HBM.
    pub fn is_share(&self, bytes: u64, share: f64) -> bool {
        let capacity = self.capacity.capacity_bytes;
        capacity.is_some_and(|capacity| bytes as f64 >= capacity as f64 * share)
    }

    /// Whether the program does not fit, or needs so much of what there is that saving at the price
    /// of compute is worth a warning.
    pub fn is_near_capacity(&self) -> bool {
        let needed = self.hbm().required_bytes as f64;
        let available = self.capacity.available_bytes;
        available.is_some_and(|available| needed >= available as f64 * TRADE_SHARE)
    }

    /// A number of a rule: the user's, else the rule's own; 0 where the rule declares none of that
    /// name.
    pub fn threshold(&self, meta: &Meta, name: &str) -> f64 {
        threshold(self.settings, meta, name)
    }

    /// The size below which a rule does not report.
    pub fn min_bytes(&self, meta: &Meta) -> u64 {
        self.settings.materiality_of(meta.name).min_bytes
    }

    /// The axes of the mesh that have more than one device.
    pub fn axes(&self) -> impl Iterator<Item = &Axis> {
        self.mesh.axes.iter().filter(|axis| axis.size > 1)
    }

    /// The line that an instruction's metadata names: the innermost frame outside installed
    /// packages.
    pub fn source(&self, instruction: InstructionId) -> Option<Source> {
        source_in(self.module, instruction)
    }

    /// The line that an instruction of the module before optimisation names.
    pub fn source_before(&self, instruction: InstructionId) -> Option<Source> {
        source_in(self.before?, instruction)
    }

    /// The call stack of an instruction, innermost first.
    pub fn stack(&self, instruction: InstructionId) -> Vec<Source> {
        const MOST: usize = 64;
        let Some(metadata) = self.module.metadata(instruction) else { return Vec::new() };
        let stack = self.module.frames.stack(metadata.stack_frame_id).take(MOST);
        stack
            .map(|location| Source {
                file: unescape(location.file),
                line: location.line,
                function: unescape(location.function),
                inferred: false,
            })
            .collect()
    }

    /// The line of an instruction, or where it has none that of the nearest one around it: its users,
    /// its operands, its callers.
    pub fn source_near(&self, instruction: InstructionId) -> Option<Source> {
        let users = self.graph.users(instruction).map(|(user, _)| user);
        let operands = self.module.operands(instruction).iter().copied();
        let computation = self.module.instruction(instruction).computation;
        let callers = self.graph.callers(computation).iter().map(|caller| caller.instruction);
        self.source(instruction).or_else(|| {
            users
                .chain(operands)
                .chain(callers)
                .find_map(|id| self.source(id))
                .map(|source| Source { inferred: true, ..source })
        })
    }

    /// The first instruction upstream that computes the data in a value and has a line, and the
    /// line. Copies, converts and the like without a line are followed further up.
    pub fn origin(&self, value: &Value) -> (InstructionId, Option<Source>) {
        const STEPS: usize = 16;
        let mut origin = crate::memory::origin(self.graph, value);
        let first = origin.instruction;
        for _ in 0..STEPS {
            let at = origin.instruction;
            if let Some(source) = self.source(at) {
                let inferred = at != value.instruction;
                return (at, Some(Source { inferred, ..source }));
            }
            let Some(operand) = self.largest_operand(at) else { break };
            origin = crate::memory::origin_at(self.graph, operand, ShapeIndex::new());
        }
        (first, None)
    }

    /// The operand that an instruction without a line most likely gets its data from: the one with
    /// the most elements.
    fn largest_operand(&self, instruction: InstructionId) -> Option<InstructionId> {
        let elements = |id: InstructionId| self.module.shape(id).array().and_then(|a| a.elements());
        let operands = self.module.operands(instruction).iter().copied();
        operands
            .filter(|&id| elements(id).is_some())
            .max_by_key(|&id| (elements(id), std::cmp::Reverse(id)))
    }

    /// The value that holds an instruction's result: defined by it, or handed on by it.
    pub fn value_at(&self, instruction: InstructionId) -> Option<ValueId> {
        self.value_at_index(instruction, &[])
    }

    /// The same for what stands at an index of the result.
    pub fn value_at_index(&self, instruction: InstructionId, index: &[u32]) -> Option<ValueId> {
        const STEPS: usize = 64;
        let (mut at, mut index) = (instruction, ShapeIndex::from_slice(index));
        for _ in 0..STEPS {
            let defined =
                self.values_of(at).iter().find(|&&id| self.profile.value(id).index == index);
            if let Some(&found) = defined {
                return Some(found);
            }
            if self.module.opcode(at) == Opcode::GetTupleElement {
                index.insert(0, u32::try_from(self.module.tuple_index(at)?).ok()?);
            } else if self.module.opcode(at) == Opcode::Tuple {
                let element = (!index.is_empty()).then(|| index.remove(0))?;
                at = *self.module.operands(at).get(element as usize)?;
                continue;
            }
            at = *self.module.operands(at).first()?;
        }
        None
    }

    /// Why the buffers of temporaries alive at the peak are there.
    pub fn causes(&self) -> FxHashMap<BufferId, Cause> {
        let cause = |alive: &Alive| (self.profile.value(alive.value).buffer, alive.cause);
        self.alive.iter().map(cause).collect()
    }

    /// The values that an instruction defines.
    fn values_of(&self, instruction: InstructionId) -> &[ValueId] {
        let all = self.values_of.get_or_init(|| {
            let mut all: FxHashMap<InstructionId, Vec<ValueId>> = FxHashMap::default();
            for (at, value) in self.profile.values.iter().enumerate() {
                all.entry(value.instruction).or_default().push(ValueId(at as u32));
            }
            all
        });
        all.get(&instruction).map_or(&[], Vec::as_slice)
    }

    /// The value of each array argument in HBM, by parameter number.
    pub fn parameter_values(&self) -> FxHashMap<i64, ValueId> {
        let mut values = FxHashMap::default();
        for allocation in self.profile.allocations.iter().filter(|a| a.memory_space == 0) {
            let AllocationKind::Parameter { number, index } = &allocation.kind else { continue };
            let parameter = allocation.values.iter().copied().find(|&id| {
                let value = self.profile.value(id);
                value.index == *index
                    && self.module.parameter_number(value.instruction) == Some(*number)
            });
            if let Some(value) = parameter.filter(|_| index.is_empty()) {
                values.insert(*number, value);
            }
        }
        values
    }

    /// The bytes of an instruction's result, padded as the machine pads it.
    pub fn natural_bytes(&self, instruction: InstructionId) -> u64 {
        let array = self.module.shape(instruction).array();
        array.and_then(|array| self.policy.array_bytes(array)).unwrap_or(0)
    }

    /// Whether a value is alive at the peak of HBM.
    pub fn is_alive_at_peak(&self, value: &Value) -> bool {
        match (self.hbm().peak_point, value.live) {
            (Some(point), Some(live)) => live.start <= point && point <= live.end,
            _ => false,
        }
    }

    /// From here on another rule asks what edits would save: each has its own budget.
    pub fn renew_questions(&self) {
        self.questions.renew();
    }

    /// The rule asks no more: remedies get no figures until another rule begins.
    pub(super) fn stop_asking(&self) {
        self.questions.stop();
    }

    /// HBM bytes that the program needs after some edits; `None` where the model cannot tell, or the
    /// rule has asked too often for so large a program.
    pub fn required_after(&self, edits: &[Edit]) -> Option<u64> {
        if !self.questions.may_ask(self.profile) {
            return None;
        }
        let profile = self.analysis.profile(edits).ok()?;
        profile.hbm().map(|hbm| hbm.required_bytes.saturating_add(self.sparsecore_bytes()))
    }

    /// A remedy with what the program needs after some edits; `None` where it saves nothing. Where the
    /// model cannot tell, or the rule has asked too often, it has no figure: it may save all the same.
    /// `at_most`: what else shrinks is the compiler's business.
    pub fn priced(
        &self,
        action: impl Into<String>,
        edits: Vec<Edit>,
        at_most: bool,
    ) -> Option<Remedy> {
        let after = self.required_after(&edits);
        let saves = after.is_none_or(|after| after < self.hbm().required_bytes);
        saves.then(|| Remedy {
            action: action.into(),
            required_bytes_after: after,
            at_most: at_most && after.is_some(),
            recomputed_bytes: None,
            edits,
        })
    }

    /// The Pallas kernels whose need of scoped VMEM is known, with what the compiler recorded of them.
    pub fn kernel_estimates(&self) -> &[(InstructionId, Estimate)] {
        self.estimates.get_or_init(|| {
            let Some(circumstances) = self.kernels else { return Vec::new() };
            let kernels = Kernels::new(self.module);
            let estimate = |&id: &InstructionId| {
                // A kernel that cannot be read is no finding.
                let mut estimate = kernels.estimate(id, &circumstances).ok()?;
                let name = self.module.instruction(id).name;
                estimate.used_bytes =
                    estimate.used_bytes.or_else(|| self.kernel_records.used_bytes(name));
                Some((id, estimate))
            };
            kernels.ids().iter().filter_map(estimate).collect()
        })
    }

    /// The shape as the text prints it, without its layout: `f32[8,128]`.
    pub fn shape_text(&self, shape: ShapeId) -> String {
        shape_text(self.module, shape)
    }

    /// A finding about an instruction (or the module), with what every finding has.
    pub fn finding(&self, meta: &Meta, instruction: Option<InstructionId>) -> Finding {
        Finding {
            rule: meta.name,
            level: meta.level,
            reference: meta.reference,
            ..self.about(instruction)
        }
    }

    /// What a finding about an instruction (or the module) has, whatever the rule.
    pub(super) fn about(&self, instruction: Option<InstructionId>) -> Finding {
        let about = instruction.map(|id| self.module.instruction(id));
        let metadata = instruction.and_then(|id| self.module.metadata(id));
        let op_name = metadata.map(|m| m.op_name).filter(|name| !name.is_empty()).map(unescape);
        Finding {
            rule: "",
            level: Level::Note,
            confidence: match self.profile.exactness {
                Exactness::Exact => Confidence::Exact,
                _ => Confidence::Estimate,
            },
            message: String::new(),
            details: Vec::new(),
            help: String::new(),
            remedies: Vec::new(),
            reference: Reference { code: "", section: "" },
            module: self.module.name.to_owned(),
            instruction: about.map(|about| about.name.to_owned()),
            op_name,
            source: instruction.and_then(|id| self.source(id)),
            location: Some(self.location(about.map_or(0, |about| about.span.start as usize))),
            shape: about.map(|about| self.shape_text(about.shape)),
            bytes: 0,
            is_urgent: false,
            required_bytes: self.hbm().required_bytes,
            saving_bytes: None,
            provenance: Provenance::Model,
            buffers: Vec::new(),
            also_seen: Vec::new(),
            copies_of: Vec::new(),
            mistake: None,
            fingerprint: String::new(),
        }
    }

    /// Adds a finding at the level that its bytes and the user's settings give it, unless it is too
    /// small to matter.
    pub fn push(&self, findings: &mut Vec<Finding>, meta: &Meta, mut finding: Finding) {
        let required = finding.required_bytes;
        finding.saving_bytes = finding
            .remedies
            .iter()
            .find_map(|remedy| remedy.required_bytes_after)
            .map(|after| required.saturating_sub(after));
        if finding.help.is_empty() {
            let actions: Vec<&str> =
                finding.remedies.iter().map(|remedy| remedy.action.as_str()).collect();
            finding.help = actions.join("; or ");
        }
        finding.fingerprint = fingerprint(&finding);
        if let Some(level) = materiality::level(self, meta, &finding) {
            finding.level = level;
            findings.push(finding);
        }
    }

    fn location(&self, offset: usize) -> Location {
        let text = self.module.text.as_bytes();
        let starts = self.lines.get_or_init(|| {
            let behind = memchr::memchr_iter(b'\n', text).map(|newline| newline as u32 + 1);
            std::iter::once(0).chain(behind).collect()
        });
        let line = starts.partition_point(|&start| start as usize <= offset);
        let start = starts.get(line.saturating_sub(1)).map_or(0, |&start| start as usize);
        Location {
            file: self.file.to_owned(),
            line: line as u32,
            column: (offset - start) as u32 + 1,
            excerpt: crate::text::excerpt(text, offset),
        }
    }
}

/// A number of a rule: the user's, else the rule's own; 0 where the rule declares none of that name.
pub(super) fn threshold(settings: &Settings, meta: &Meta, name: &str) -> f64 {
    let own = meta.thresholds.iter().find(|threshold| threshold.name == name);
    let given = settings.rules.get(meta.name).and_then(|rule| rule.thresholds.get(name));
    given.copied().or(own.map(|own| own.default)).unwrap_or(0.0)
}

/// The line that an instruction's metadata names: the innermost frame outside installed packages,
/// else the innermost of all.
pub fn source_in(module: &Module<'_>, instruction: InstructionId) -> Option<Source> {
    let metadata = module.metadata(instruction)?;
    let location = module
        .frames
        .stack(metadata.stack_frame_id)
        .find(|location| is_own_file(location.file))
        .or_else(|| module.source(metadata))?;
    Some(Source {
        file: unescape(location.file),
        line: location.line,
        function: unescape(location.function),
        inferred: false,
    })
}

/// A shape as the text prints it, without layouts.
pub fn shape_text(module: &Module<'_>, shape: ShapeId) -> String {
    use crate::hlo::{Bound, Shape};
    match module.shapes.get(shape) {
        Shape::Array(array) | Shape::Buffer(array) => {
            let sizes: Vec<String> = array
                .dimensions
                .iter()
                .map(|dimension| match dimension.bound {
                    Bound::Static => dimension.size.to_string(),
                    Bound::Dynamic => format!("<={}", dimension.size),
                    Bound::Unbounded => "?".to_owned(),
                })
                .collect();
            format!("{}[{}]", array.element_type, sizes.join(","))
        }
        Shape::Tuple(elements) => format!("({} elements)", elements.len()),
    }
}

/// Rule, module, operation and shape: none of them changes when instructions are renumbered.
pub(super) fn fingerprint(finding: &Finding) -> String {
    let parts = [
        finding.rule,
        &finding.module,
        finding.op_name.as_deref().unwrap_or(""),
        finding.shape.as_deref().unwrap_or(""),
    ];
    format!("{:016x}", xxh3_64(parts.join("\0").as_bytes()))
}
