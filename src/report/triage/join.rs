//! The incidents of a log and a dump in; which program failed so, and where its text names the
//! instructions of the message, out.

use crate::config::Settings;
use crate::dump::Dump;
use crate::hlo::InstructionId;
use crate::lint::{Context, Source};
use crate::log::{Incident, Size};
use crate::report::ModuleReport;
use crate::report::check::{CheckReport, check_and};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

/// The program of the dump that an incident speaks of.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Joined {
    /// The module.
    pub module: String,
    /// Its text.
    pub file: String,
    /// What it needs by the rules of the compiler, for a failure of HBM.
    pub required_bytes: u64,
    /// Whether that prints like the figure of the message.
    pub agrees: bool,
    /// The instructions of the message that are in the text.
    pub places: Vec<Place>,
}

/// An instruction that a message names, in the text.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Place {
    /// The instruction.
    pub instruction: String,
    /// Its opcode.
    pub opcode: &'static str,
    /// 1-based line of the text.
    pub line: u32,
    /// The operation in the user's program.
    pub op_name: Option<String>,
    /// The user's line, or that of the data's origin.
    pub source: Option<Source>,
}

/// What a program has of each incident.
pub(super) type Places = Vec<Vec<Place>>;

/// The names that an incident speaks of.
fn names(incident: &Incident) -> impl Iterator<Item = &str> {
    let subject = incident.subject.as_ref().and_then(|subject| subject.name.as_deref());
    subject.into_iter().chain(incident.rows.iter().filter_map(|row| row.instruction.as_deref()))
}

/// Checks the programs of a dump; of each one, where it has the instructions of each incident.
pub(super) fn check(
    dump: &Dump,
    settings: &Settings,
    incidents: &[Incident],
    done: &(dyn Fn() + Sync),
) -> (CheckReport, Vec<Places>) {
    check_and(dump, settings, done, |context, _, _| {
        let by_name: FxHashMap<&str, InstructionId> =
            context.module.ids().map(|id| (context.module.instruction(id).name, id)).collect();
        incidents
            .iter()
            .map(|incident| {
                let mut places: Vec<Place> = Vec::new();
                for name in names(incident) {
                    let is_known = places.iter().any(|place| place.instruction == name);
                    if let Some(&id) = by_name.get(name).filter(|_| !is_known) {
                        places.push(place(context, id));
                    }
                }
                places
            })
            .collect()
    })
}

fn place(context: &Context<'_>, id: InstructionId) -> Place {
    let instruction = context.module.instruction(id);
    let origin =
        context.value_at(id).and_then(|value| context.origin(context.profile.value(value)).1);
    let metadata = context.module.metadata(id);
    Place {
        instruction: instruction.name.to_owned(),
        opcode: instruction.opcode.as_str(),
        line: crate::text::location(
            context.module.text.as_bytes(),
            instruction.span.start as usize,
        )
        .line,
        op_name: metadata
            .map(|metadata| metadata.op_name)
            .filter(|name| !name.is_empty())
            .map(crate::lint::unescape),
        source: context.source(id).or(origin),
    }
}

/// The program that an incident speaks of: the one of its name, the one that needs what the message
/// says, the one that has its instructions, or the only one.
pub(super) fn join(
    check: &CheckReport,
    places: &[Places],
    incident: &Incident,
    at: usize,
) -> Option<Joined> {
    let agrees = |module: &ModuleReport| {
        let is_hbm = incident.space.as_deref() == Some("hbm");
        let needed = incident.needed.as_ref().filter(|_| is_hbm);
        needed.is_some_and(|size: &Size| size.may_be(module.hbm.required_bytes))
    };
    let found = |position: usize| places.get(position).and_then(|all| all.get(at));
    let score = |position: usize, module: &ModuleReport| {
        let is_named = incident.module.as_deref() == Some(module.name.as_str());
        (is_named, agrees(module), found(position).map_or(0, Vec::len))
    };
    let is_named = incident.module.is_some();
    let (position, module) = check
        .modules
        .iter()
        .enumerate()
        .rev()
        .max_by_key(|(position, module)| score(*position, module))?;
    let (named, agreeing, known) = score(position, module);
    let is_only = check.modules.len() == 1 && !is_named;
    (named || (agreeing && !is_named) || known > 0 || is_only).then(|| Joined {
        module: module.name.clone(),
        file: module.file.clone(),
        required_bytes: module.hbm.required_bytes,
        agrees: agreeing,
        places: found(position).cloned().unwrap_or_default(),
    })
}
