//! When bytes matter.

use super::{Context, Finding, Level};

/// The level of a finding, or `None` where it is not worth a word. A warning needs a share of the
/// chip's HBM, unless the program does not fit; `keeps_level` says that it matters at any size.
pub(super) fn level(context: &Context<'_>, finding: &Finding, keeps_level: bool) -> Option<Level> {
    let materiality = context.settings.materiality;
    if finding.level == Level::Error {
        return Some(Level::Error);
    }
    if finding.bytes < materiality.min_bytes {
        return None;
    }
    let is_material = context
        .capacity
        .capacity_bytes
        .is_some_and(|capacity| finding.bytes as f64 >= capacity as f64 * materiality.min_share);
    if finding.level == Level::Warn && !is_material && !keeps_level && context.exceeded_bytes() == 0
    {
        return Some(Level::Note);
    }
    Some(finding.level)
}
