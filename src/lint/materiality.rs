//! When bytes matter, and what the user says of a rule's level.

use super::{Context, Finding, Kind, Level, Meta};
use crate::config::{RuleLevel, Settings};

/// The share of the available HBM from which what costs compute to save is worth a warning.
pub const TRADE_SHARE: f64 = 0.9;

/// The level of a finding, or `None` where it is not worth a word: too small, or not allowed to
/// speak. A warning needs a share of the chip's HBM, unless the program does not fit.
pub(super) fn level(context: &Context<'_>, meta: &Meta, finding: &Finding) -> Option<Level> {
    let asked = asked(context.settings, meta);
    let wanted = asked_level(context.settings, meta, finding.level)?;
    if meta.kind == Kind::Limit {
        return Some(wanted);
    }
    let materiality = context.settings.materiality_of(meta.name);
    if finding.bytes < materiality.min_bytes {
        return None;
    }
    let has_pressure = context.exceeded_bytes() > 0;
    let matters = match meta.kind {
        // Who names a level wants to hear it.
        _ if meta.preview && asked.is_none() => false,
        _ if finding.is_urgent => true,
        Kind::Limit => true,
        Kind::Waste => has_pressure || context.is_share(finding.bytes, materiality.min_share),
        Kind::Trade => context.is_near_capacity(),
    };
    Some(if matters { wanted } else { wanted.min(Level::Note) })
}

fn asked(settings: &Settings, meta: &Meta) -> Option<RuleLevel> {
    settings.rules.get(meta.name).and_then(|rule| rule.level)
}

/// The level that the user gives a rule's finding; `None` where it is not allowed to speak.
pub(super) fn asked_level(settings: &Settings, meta: &Meta, own: Level) -> Option<Level> {
    match asked(settings, meta) {
        Some(RuleLevel::Allow) => None,
        Some(RuleLevel::Note) => Some(Level::Note),
        Some(RuleLevel::Warn) => Some(Level::Warn.min(own)),
        Some(RuleLevel::Error) if own >= Level::Warn => Some(Level::Error),
        _ => Some(own),
    }
}
