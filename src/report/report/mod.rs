//! What `report` says: everything about the memory of each module, as the Memory Viewer tells it from
//! a profile, without a device.

mod buffers;

use crate::config::Settings;
use crate::dump::Dump;
use crate::hlo::{Attribute, InstructionId, Module as HloModule};
use crate::lint::{Argument, Context, Finding, Source};
use crate::memory::{Curve, live_bytes};
use crate::report::check::{CheckReport, check_and};
use crate::report::{Diagnostic, ModuleReport};
use crate::target::tpu::mosaic::{Estimate, Kernels};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

pub use buffers::{Buffer, Kind};

/// The name and version of the JSON form.
pub const SCHEMA: &str = "hlolint.report/1";

/// The result of a run of `report`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(bound(deserialize = "F: Deserialize<'de>"))]
pub struct Report<F = Finding> {
    /// The name and version of this form.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: Cow<'static, str>,
    /// Every module, the one that exceeds its memory most first.
    pub modules: Vec<Module>,
    /// What the rules found, the worst first; the same as `check` says.
    #[serde(default)]
    pub findings: Vec<F>,
    /// What could not be read, and other things a reader should know.
    pub diagnostics: Vec<Diagnostic>,
}

/// A module. The fields of `check`'s modules, and what only `report` says.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Module {
    /// What `check` says: name, file, stage, chip, `hbm`, `peak`, other spaces.
    #[serde(flatten)]
    pub summary: ModuleReport,
    /// More.
    #[serde(flatten)]
    pub details: Details,
}

/// What only `report` says of a module.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Details {
    /// Bytes that padding adds to what is alive at the peak.
    pub padding_bytes: u64,
    /// HBM bytes alive from a program point on, until the next one that is named.
    pub live: Vec<Live>,
    /// Every buffer of HBM and other spaces, by allocation and offset.
    pub buffers: Vec<Buffer>,
    /// The program's arguments, by number.
    pub parameters: Vec<Parameter>,
    /// Custom kernels.
    pub kernels: Vec<Kernel>,
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// The program point.
    pub point: u32,
    /// Bytes alive from there on.
    pub bytes: u64,
}

/// An argument of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// The parameter number.
    pub number: i64,
    /// Its path in the argument tree, `state['params']['w1']`.
    pub path: String,
    /// The shape on one device, with the layout.
    pub shape: String,
    /// Bytes on one device, padding included.
    pub bytes: u64,
    /// Whether a result takes its memory.
    pub is_donated: bool,
    /// The sharding as the text prints it; absent where there is none.
    pub sharding: Option<String>,
}

/// A custom kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// The instruction.
    pub instruction: String,
    /// The operation in the user's program.
    #[serde(default)]
    pub op_name: String,
    /// The user's line.
    pub source: Option<Source>,
    /// Scoped VMEM that it needs at least, read from its body; absent where that cannot be said.
    pub estimated_vmem_bytes: Option<u64>,
    /// Scoped VMEM that it may use.
    pub vmem_limit_bytes: Option<u64>,
    /// Scoped VMEM that the compiler recorded.
    pub recorded_vmem_bytes: Option<u64>,
}

/// What a report is to hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The call stack of each buffer.
    pub stacks: bool,
}

/// Reports on all programs of a dump.
pub fn report(
    dump: &Dump,
    settings: &Settings,
    options: Options,
    done: &(dyn Fn() + Sync),
) -> Report {
    let (check, details) =
        check_and(dump, settings, done, |context, _, _| Details::of(context, options));
    Report::of(check, details)
}

impl Report {
    /// A check and the details of its modules, in their order.
    pub(in crate::report) fn of(check: CheckReport, details: Vec<Details>) -> Report {
        let modules = check.modules.into_iter().zip(details);
        Report {
            schema: SCHEMA.into(),
            modules: modules.map(|(summary, details)| Module { summary, details }).collect(),
            findings: check.findings,
            diagnostics: check.diagnostics,
        }
    }
}

impl Details {
    /// What a module's analyses say.
    pub(in crate::report) fn of(context: &Context<'_>, options: Options) -> Details {
        let buffers = buffers::all(context, options);
        let curve: Curve = live_bytes(context.profile, &context.module.shapes, 0);
        let at_peak = buffers.iter().filter(|b| b.is_alive_at_peak && b.memory_space == 0);
        let padding = |buffer: &Buffer| buffer.bytes.saturating_sub(buffer.unpadded_bytes);
        Details {
            padding_bytes: crate::config::total_bytes(at_peak.map(padding)),
            live: curve.into_iter().map(|(point, bytes)| Live { point, bytes }).collect(),
            parameters: parameters(context, &buffers),
            kernels: kernels(context),
            buffers,
        }
    }
}

fn parameters(context: &Context<'_>, buffers: &[Buffer]) -> Vec<Parameter> {
    let module = context.module;
    let mut by_number: FxHashMap<i64, Vec<&Buffer>> = FxHashMap::default();
    for buffer in buffers {
        if let Some(number) = buffer.parameter {
            by_number.entry(number).or_default().push(buffer);
        }
    }
    let parameter = |argument: &Argument| {
        let id = argument.instruction;
        let mine = by_number.get(&argument.number).map_or(&[][..], Vec::as_slice).iter();
        Parameter {
            number: argument.number,
            path: argument.path.clone(),
            shape: crate::text::shape_text(&module.shapes, module.instruction(id).shape),
            bytes: crate::config::total_bytes(mine.clone().map(|buffer| buffer.bytes)),
            is_donated: mine.clone().any(|buffer| buffer.is_donated),
            sharding: sharding(context, argument),
        }
    };
    context.arguments.iter().map(parameter).collect()
}

/// The sharding as the user's mesh names it, else as the text prints it; that of the module as it was
/// handed in first, since a partitioned module prints none.
fn sharding(context: &Context<'_>, argument: &Argument) -> Option<String> {
    let before = context.before.and_then(|before| {
        let number = usize::try_from(argument.number).ok()?;
        let id = *before.parameters(before.entry).get(number)?;
        (before.parameter_number(id) == Some(argument.number)).then_some((before, id))
    });
    let named = before.and_then(|(before, id)| axes(before.frontend_attributes(id)?));
    let printed = |module: &HloModule<'_>, id: InstructionId| {
        let sharding = module.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::Sharding(id) => Some(*id),
            _ => None,
        })?;
        module.sharding_texts.get(sharding.index()).map(|text| (*text).to_owned())
    };
    named
        .or_else(|| before.and_then(|(before, id)| printed(before, id)))
        .or_else(|| printed(context.module, argument.instruction))
}

/// `[{"data"}, {}]` of `xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"data\\"}, {}]>"`.
fn axes(attributes: &str) -> Option<String> {
    let rest = attributes.split("#sdy.sharding<").nth(1)?;
    let start = rest.find('[')?;
    let end = rest.find('>')?;
    rest.get(start..end).map(crate::lint::unescape)
}

fn kernels(context: &Context<'_>) -> Vec<Kernel> {
    let kernels = Kernels::new(context.module);
    let estimates: FxHashMap<InstructionId, &Estimate> =
        context.kernel_estimates().iter().map(|(id, estimate)| (*id, estimate)).collect();
    let kernel = |&id: &InstructionId| {
        let estimate = estimates.get(&id);
        let instruction = context.module.instruction(id).name;
        let recorded = kernels.used_bytes(id);
        Kernel {
            instruction: instruction.to_owned(),
            op_name: context
                .module
                .metadata(id)
                .map(|metadata| crate::lint::unescape(metadata.op_name))
                .unwrap_or_default(),
            source: context.source_near(id),
            estimated_vmem_bytes: estimate.map(|estimate| estimate.total_bytes),
            vmem_limit_bytes: estimate.and_then(|estimate| estimate.limit_bytes),
            recorded_vmem_bytes: recorded
                .or_else(|| context.kernel_records.used_bytes(instruction)),
        }
    };
    kernels.ids().iter().map(kernel).collect()
}
