//! `hbm-near-capacity`.

use crate::config::{bytes, bytes_as_xla};
use crate::lint::recompute::recomputed_line;
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Threshold};

/// See [`META`].
pub struct HbmNearCapacity;

/// The declaration.
pub static META: Meta = Meta {
    name: "hbm-near-capacity",
    summary: "the program needs nearly all of the HBM that there is",
    documentation: "\
What it does: finds a program that fits, but needs 95% of the chip's HBM less --reserve (a note), or
99% (a warning).
Why it costs memory: from about 95% on XLA computes values again to save memory, which costs time: a
little more and the step is slower by a tenth. Near 100% any other array on the device, a longer batch
or another release of the compiler is too much.
Example: 15.60 GiB on a chip with 15.75 GiB.
Remedy: what the other findings name; else a slightly smaller batch, or donated arguments.
References: E1000, scenario 3 (the sum is too large); XLA's own rematerialization aims at 95%.",
    level: Level::Warn,
    kind: Kind::Limit,
    preview: false,
    thresholds: &[
        Threshold {
            name: "note_share",
            default: 0.95,
            documentation: "the share of the available HBM from which it is a note",
        },
        Threshold {
            name: "warn_share",
            default: 0.99,
            documentation: "the share of the available HBM from which it is a warning",
        },
    ],
    reference: Reference {
        code: "E1000",
        section: "scenario 3, the sum of allocations is too large",
    },
};

impl Rule for HbmNearCapacity {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let needed = context.hbm().required_bytes;
        // A maximum of the user's own is met or not; that it is nearly met is no news.
        let capacity = context.capacity.capacity_bytes;
        let left = capacity.map(|all| all.saturating_sub(context.settings.reserve_bytes));
        let Some(available) = left.filter(|all| needed <= *all) else { return };
        let reaches = |name| needed as f64 >= available as f64 * context.threshold(&META, name);
        if available == 0 || !reaches("note_share") && !reaches("warn_share") {
            return;
        }
        let mut finding = context.finding(&META, None);
        finding.level = if reaches("warn_share") { Level::Warn } else { Level::Note };
        finding.message = format!(
            "{} of {}{}, {:.1}%: {} to spare",
            bytes_as_xla(needed),
            bytes_as_xla(available),
            if context.mesh.devices > 1 { " on each device" } else { "" },
            needed as f64 / available as f64 * 100.0,
            bytes(available - needed)
        );
        finding.bytes = needed;
        finding
            .details
            .extend(recomputed_line(context).map(|line| format!("{line}: it aims at 95%")));
        finding.remedies = vec![Remedy::new("a smaller batch, or what other findings can save")];
        context.push(findings, &META, finding);
    }
}
