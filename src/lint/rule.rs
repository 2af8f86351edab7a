//! What a rule is: its declaration and its check.

use super::{Compiled, Context, Finding, Level, Reference};
use crate::config::Settings;

/// What a rule's findings speak of; decides when they are warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A limit that is met or near: matters at any size.
    Limit,
    /// Bytes that do nobody any good: a warning where they are material.
    Waste,
    /// Bytes that cost compute or code to save: a note, unless the program does not fit or needs
    /// [`TRADE_SHARE`](super::TRADE_SHARE) of what there is.
    Trade,
}

/// A number of a rule that the user may change.
#[derive(Debug)]
pub struct Threshold {
    /// The name in hlolint.toml, snake_case.
    pub name: &'static str,
    /// What holds where the user says nothing.
    pub default: f64,
    /// What it is compared with, in one line.
    pub documentation: &'static str,
}

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
    /// What its findings speak of.
    pub kind: Kind,
    /// Whether it is not proven on enough programs yet: its findings are notes.
    pub preview: bool,
    /// Its numbers.
    pub thresholds: &'static [Threshold],
    /// The page of OpenXLA's error catalogue.
    pub reference: Reference,
}

/// A rule: looks at one module and tells what it finds.
pub trait Rule: Sync {
    /// The declaration.
    fn meta(&self) -> &'static Meta;

    /// Pushes what it finds.
    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>);

    /// Pushes what it finds over all programs of a dump together.
    fn check_dump(&self, _: &[Compiled], _: &Settings, _: &mut Vec<Finding>) {}
}
