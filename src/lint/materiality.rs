//! When bytes matter, and what the user says of a rule's level.

use super::{Context, Finding, Kind, Level, Meta};
use crate::config::RuleLevel;

/// The share of the available HBM from which what costs compute to save is worth a warning.
pub const TRADE_SHARE: f64 = 0.9;

/// The level of a finding, or `None` where it is not worth a word: too small, or not allowed to
/// speak. A warning needs a share of the chip's HBM, unless the program does not fit.
pub(super) fn level(context: &Context<'_>, meta: &Meta, finding: &Finding) -> Option<Level> {
    let asked = context.settings.rules.get(meta.name).and_then(|rule| rule.level);
    let wanted = match asked {
        Some(RuleLevel::Allow) => return None,
        Some(RuleLevel::Note) => Level::Note,
        Some(RuleLevel::Warn) => Level::Warn.min(finding.level),
        Some(RuleLevel::Error) if finding.level >= Level::Warn => Level::Error,
        _ => finding.level,
    };
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
