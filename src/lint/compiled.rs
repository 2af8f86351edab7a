//! What rules that look at all programs of a dump together know of one of them.

use super::context::fingerprint;
use super::materiality;
use super::{Context, Finding, Meta};
use crate::config::Settings;

/// One program of a dump.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Path and shape of each argument, by number.
    pub arguments: Vec<(String, String)>,
    /// Instructions of the text.
    pub instructions: usize,
    /// What a finding about the program has, whatever the rule.
    about: Finding,
}

impl Compiled {
    /// Takes from a program's analyses what such rules need; they are gone when all are read.
    pub fn of(context: &Context<'_>) -> Compiled {
        let module = context.module;
        let root = module.entry().root;
        let mut about = context.about(Some(root));
        about.source = context.source_near(root);
        about.instruction = None;
        about.op_name = None;
        let shape = |id| context.shape_text(module.instruction(id).shape);
        let arguments = context.arguments.iter();
        Compiled {
            arguments: arguments.map(|a| (a.path.clone(), shape(a.instruction))).collect(),
            instructions: context.before.unwrap_or(module).instructions.len(),
            about,
        }
    }

    /// The module's name.
    pub fn name(&self) -> &str {
        &self.about.module
    }

    /// The folder of the text.
    pub fn folder(&self) -> &str {
        let file = self.about.file().unwrap_or("");
        file.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// A finding of a rule about this program.
    pub fn finding(&self, meta: &Meta) -> Finding {
        Finding {
            rule: meta.name,
            level: meta.level,
            reference: meta.reference,
            ..self.about.clone()
        }
    }
}

/// Adds a finding about several programs, at the level that the user gives its rule.
pub fn push(settings: &Settings, findings: &mut Vec<Finding>, meta: &Meta, mut finding: Finding) {
    finding.fingerprint = fingerprint(&finding);
    if let Some(level) = materiality::asked_level(settings, meta, finding.level) {
        finding.level = level;
        findings.push(finding);
    }
}
