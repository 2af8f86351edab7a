//! What a rule is: its declaration and its check.

use super::{Context, Finding, Level, Reference};

/// The declaration of a rule.
#[derive(Debug)]
pub struct Meta {
    /// The name, kebab-case; reads well after "allow".
    pub name: &'static str,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// Its documentation: what it finds, why it costs memory, example, remedy, references.
    pub documentation: &'static str,
    /// The highest level its findings have.
    pub level: Level,
    /// The page of OpenXLA's error catalogue.
    pub reference: Reference,
}

/// A rule: looks at one module and tells what it finds.
pub trait Rule: Sync {
    /// The declaration.
    fn meta(&self) -> &'static Meta;

    /// Pushes what it finds.
    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>);
}
