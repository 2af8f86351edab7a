//! What `vmem` says: per Pallas kernel the scoped VMEM that it needs, of what, and against which limit.

use super::Diagnostic;
use super::check::missing;
use super::machine::Machine;
use super::program::{failed, kernel_records, read};
use crate::config::Settings;
use crate::dump::{Dump, Program, Stage, parallel};
use crate::hlo::{InstructionId, Module};
use crate::lint::{self, Source};
use crate::log::printed;
use crate::target::tpu::mosaic::{
    Estimate, Exceeded, Kernels, LimitSource, Records, Role, Suggestion, WindowEstimate,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The name and version of the JSON form.
pub const SCHEMA: &str = "hlolint.vmem/1";

/// The result of a run of `vmem`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VmemReport {
    /// The name and version of this form.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Every call of a kernel, the one that uses most of its limit first.
    pub kernels: Vec<Kernel>,
    /// How many programs were read.
    pub programs: usize,
    /// What could not be read, and other things a reader should know.
    pub diagnostics: Vec<Diagnostic>,
}

/// A call of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Kernel {
    /// The module's name.
    pub module: String,
    /// The text that was read.
    pub file: String,
    /// Which stage of compilation the text is.
    pub stage: &'static str,
    /// The instruction.
    pub instruction: String,
    /// The kernel's own name; the instruction's where it is not known.
    pub name: String,
    /// The framework's name of the operation.
    pub op_name: Option<String>,
    /// The line of the user's program.
    pub source: Option<Source>,
    /// The chip, where it is known.
    pub chip: Option<String>,
    /// The grid; none where an operand gives a size.
    pub grid: Vec<Option<u64>>,
    /// Why there is no estimate.
    pub unknown: Option<String>,
    /// Scratch operands, before any is deleted.
    pub scratch_bytes: Option<u64>,
    /// The same and all windows.
    pub scratch_plus_windows_bytes: Option<u64>,
    /// The most that `run_scoped` allocations take at once.
    pub run_scoped_bytes: Option<u64>,
    /// Internal scratch of the compiler.
    pub internal_scratch_bytes: Option<u64>,
    /// Of all that, what the compiler deletes.
    pub deleted_bytes: Option<u64>,
    /// The estimate from the kernel, without slots of spilled registers.
    pub total_bytes: Option<u64>,
    /// What `after_codegen` recorded, less the stack's offset.
    pub used_bytes: Option<u64>,
    /// The larger of the two.
    pub need_bytes: Option<u64>,
    /// The limit.
    pub limit_bytes: Option<u64>,
    /// Where it comes from: `kernel` (`vmem_limit_bytes`), `flag`
    /// (`xla_tpu_scoped_vmem_limit_kib`), `default`.
    pub limit_source: Option<&'static str>,
    /// VMEM that a program can use on this chip.
    pub vmem_bytes: Option<u64>,
    /// Operands and results that the kernel wants in VMEM: they lie beside what the limit reserves.
    pub coloured_bytes: Option<u64>,
    /// The need as a share of the limit.
    pub share: Option<f64>,
    /// What the need is above: `limit` (the error is E1001) or `vmem`.
    pub exceeds: Option<&'static str>,
    /// The size that the error names, as it prints it.
    pub quoted: Option<String>,
    /// Windows of operands and results.
    pub windows: Vec<Window>,
    /// Scratch operands.
    pub scratch: Vec<Scratch>,
    /// The estimate is at most what the compiler needs. Not so before layouts are assigned: operands
    /// that are placed in VMEM later need no window.
    pub lower_bound: bool,
    /// Matrices are multiplied on large values: spilled registers are usual.
    pub spills_are_usual: bool,
    /// Blocks that fit, where those of now do not.
    pub suggestion: Option<NewBlocks>,
    /// The `vmem_limit_bytes` to ask for instead.
    pub suggested_limit_bytes: Option<u64>,
}

impl Kernel {
    /// Whether somebody who says this name means the kernel: its own name, or that of the
    /// instruction, with or without its number.
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.trim_start_matches('%');
        let bare = self.instruction.trim_end_matches(|c: char| c.is_ascii_digit());
        [self.name.as_str(), &self.instruction, bare.trim_end_matches('.')].contains(&name)
    }
}

/// A window.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Window {
    /// `operand` or `result`.
    pub role: &'static str,
    /// Its number, from 0, among operands or results.
    pub operand: usize,
    /// The array.
    pub shape: String,
    /// The block; empty where the kernel copies by itself.
    pub block: Vec<u64>,
    /// One buffer, padding included.
    pub padded_bytes: u64,
    /// How much of that is padding.
    pub padding_bytes: u64,
    /// 1 or 2; 0 where the array lies in VMEM already or has no window.
    pub buffers: u64,
    /// All buffers.
    pub bytes: u64,
    /// The program keeps the array in VMEM.
    pub in_vmem: bool,
    /// The compiler deletes the window.
    pub deleted: bool,
}

/// A scratch operand.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scratch {
    /// Its sizes.
    pub shape: Vec<u64>,
    /// Bits of an element.
    pub element_bits: u64,
    /// Its bytes, padding included.
    pub bytes: u64,
    /// The compiler deletes it.
    pub deleted: bool,
}

/// Blocks that fit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NewBlocks {
    /// The grid dimensions that get more steps.
    pub grid: Vec<MoreSteps>,
    /// The blocks that change.
    pub blocks: Vec<NewBlock>,
    /// Scratch of the shape of such a block is taken to change with it.
    pub scratch_changes: bool,
    /// What the kernel then needs at least.
    pub total_bytes: u64,
}

/// A grid dimension that gets more steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MoreSteps {
    /// Its number.
    pub dimension: usize,
    /// How many times as many.
    pub times: u64,
}

/// A block to take instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NewBlock {
    /// `operand` or `result`.
    pub role: &'static str,
    /// Its number.
    pub operand: usize,
    /// The block now.
    pub from: Vec<u64>,
    /// The block to take.
    pub to: Vec<u64>,
}

/// Reads the kernels of all programs of a dump. `done` is called behind each program.
pub fn vmem(dump: &Dump, settings: &Settings, done: &(dyn Fn() + Sync)) -> VmemReport {
    let outcomes = parallel::map(dump.programs.iter().collect(), |program| {
        let outcome = kernels_of(program, settings);
        done();
        outcome
    });
    let mut report = VmemReport {
        schema: SCHEMA,
        kernels: Vec::new(),
        programs: 0,
        diagnostics: dump.diagnostics.iter().cloned().map(Diagnostic::from).collect(),
    };
    report.diagnostics.extend(missing(&dump.missing));
    for (kernels, diagnostics) in outcomes {
        report.programs += usize::from(kernels.is_some());
        report.kernels.extend(kernels.into_iter().flatten());
        report.diagnostics.extend(diagnostics);
    }
    worst_first(&mut report.kernels);
    report
}

fn worst_first(kernels: &mut [Kernel]) {
    let share = |kernel: &Kernel| kernel.share.unwrap_or(-1.0);
    kernels.sort_by(|a, b| {
        (share(b).total_cmp(&share(a)))
            .then(b.need_bytes.cmp(&a.need_bytes))
            .then_with(|| a.file.cmp(&b.file))
    });
}

/// The kernels of the one program that was read from a file, the one that uses most of its limit first.
pub(in crate::report) fn of_program(dump: &Dump, file: &str, settings: &Settings) -> Vec<Kernel> {
    let program = dump.programs.iter().find(|program| program.text.label() == file);
    let mut kernels =
        program.and_then(|program| kernels_of(program, settings).0).unwrap_or_default();
    worst_first(&mut kernels);
    kernels
}

/// The kernels of a program in text order; `None` where its text could not be read.
fn kernels_of(program: &Program, settings: &Settings) -> (Option<Vec<Kernel>>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let Some(module) = read(&program.text, &mut diagnostics) else { return (None, diagnostics) };
    let machine = match Machine::of(program, &module, settings) {
        Ok(machine) => machine,
        Err(error) => {
            diagnostics.push(failed(program, error.message, error.help));
            return (None, diagnostics);
        }
    };
    let records = kernel_records(program, &module);
    let read = Read { program, module: &module, machine: &machine, records: &records };
    let kernels = Kernels::new(&module);
    let found = kernels.ids_of_all_machines().into_iter().map(|id| read.kernel(&kernels, id));
    (Some(found.collect()), diagnostics)
}

struct Read<'a, 'src> {
    program: &'a Program,
    module: &'a Module<'src>,
    machine: &'a Machine,
    records: &'a Records,
}

impl Read<'_, '_> {
    fn kernel(&self, kernels: &Kernels<'_, '_>, id: InstructionId) -> Kernel {
        let module = self.module;
        let name = module.instruction(id).name;
        let metadata = module.metadata(id);
        let op_name = metadata.map(|m| m.op_name).filter(|name| !name.is_empty());
        let used_bytes = kernels.used_bytes(id).or_else(|| self.records.used_bytes(name));
        let mut kernel = Kernel {
            module: module.name.to_owned(),
            file: self.program.text.label().to_owned(),
            stage: self.program.stage.as_str(),
            instruction: name.to_owned(),
            name: name.to_owned(),
            op_name: op_name.map(lint::unescape),
            source: lint::source_in(module, id),
            chip: self.machine.chip.clone(),
            grid: Vec::new(),
            unknown: None,
            scratch_bytes: None,
            scratch_plus_windows_bytes: None,
            run_scoped_bytes: None,
            internal_scratch_bytes: None,
            deleted_bytes: None,
            total_bytes: None,
            used_bytes,
            need_bytes: used_bytes,
            limit_bytes: None,
            limit_source: None,
            vmem_bytes: None,
            coloured_bytes: None,
            share: None,
            exceeds: None,
            quoted: None,
            windows: Vec::new(),
            scratch: Vec::new(),
            lower_bound: false,
            spills_are_usual: false,
            suggestion: None,
            suggested_limit_bytes: None,
        };
        let circumstances = self.machine.kernels.unwrap_or_default();
        match kernels.estimate(id, &circumstances) {
            Ok(estimate) => self.fill(&mut kernel, &estimate),
            Err(unknown) => kernel.unknown = Some(unknown.to_string()),
        }
        kernel
    }

    fn fill(&self, kernel: &mut Kernel, estimate: &Estimate) {
        if !estimate.name.is_empty() {
            kernel.name.clone_from(&estimate.name);
        }
        let need = estimate.total_bytes.max(kernel.used_bytes.unwrap_or(0));
        kernel.grid.clone_from(&estimate.grid);
        kernel.scratch_bytes = Some(estimate.scratch_bytes);
        kernel.scratch_plus_windows_bytes = Some(estimate.scratch_plus_windows_bytes);
        kernel.run_scoped_bytes = Some(estimate.run_scoped_bytes);
        kernel.internal_scratch_bytes = Some(estimate.internal_bytes);
        kernel.deleted_bytes = Some(estimate.deleted_bytes);
        kernel.total_bytes = Some(estimate.total_bytes);
        kernel.need_bytes = Some(need);
        kernel.limit_bytes = estimate.limit_bytes;
        kernel.limit_source = estimate.limit_bytes.map(|_| match estimate.limit_source {
            LimitSource::Kernel => "kernel",
            LimitSource::Flag => "flag",
            LimitSource::Default => "default",
        });
        kernel.vmem_bytes = estimate.vmem_bytes;
        kernel.coloured_bytes = Some(estimate.coloured_bytes);
        let bound = estimate.bound_bytes().filter(|&bound| bound > 0);
        kernel.share = bound.map(|bound| need as f64 / bound as f64);
        kernel.exceeds = estimate.exceeds.map(|exceeds| match exceeds {
            Exceeded::Limit => "limit",
            Exceeded::Vmem => "vmem",
        });
        kernel.quoted = estimate.quoted_bytes.map(printed);
        kernel.windows = estimate.windows.iter().map(|window| self.window(window)).collect();
        let scratch = estimate.scratch.iter().map(|scratch| Scratch {
            shape: scratch.dimensions.clone(),
            element_bits: scratch.element_bits,
            bytes: scratch.bytes,
            deleted: scratch.is_deleted,
        });
        kernel.scratch = scratch.collect();
        kernel.lower_bound = estimate.has_tiles && self.program.stage != Stage::BeforeOptimizations;
        kernel.spills_are_usual = estimate.has_large_matmul;
        if bound.is_some_and(|bound| need > bound) {
            kernel.suggestion = estimate.fitting_blocks(self.module).map(NewBlocks::of);
            kernel.suggested_limit_bytes =
                estimate.limit_to_ask_for(need, kernel.used_bytes.is_some());
        }
    }

    fn window(&self, window: &WindowEstimate) -> Window {
        Window {
            role: role(window.role),
            operand: window.number,
            shape: lint::shape_text(self.module, window.shape),
            block: window.block.clone(),
            padded_bytes: window.padded_bytes,
            padding_bytes: window.padding_bytes,
            buffers: window.buffers,
            bytes: window.bytes,
            in_vmem: window.is_placed,
            deleted: window.is_deleted,
        }
    }
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Operand => "operand",
        Role::Result => "result",
    }
}

impl NewBlocks {
    fn of(found: Suggestion) -> NewBlocks {
        let grid = found.grid.into_iter().map(|(dimension, times)| MoreSteps { dimension, times });
        let blocks = found.blocks.into_iter().map(|block| NewBlock {
            role: role(block.role),
            operand: block.number,
            from: block.from,
            to: block.to,
        });
        NewBlocks {
            grid: grid.collect(),
            blocks: blocks.collect(),
            scratch_changes: found.has_scratch,
            total_bytes: found.total_bytes,
        }
    }
}
