//! `host-callback`.

use crate::graph::Repetition;
use crate::lint::host_site::{Site, sites};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};

/// See [`META`].
pub struct HostCallback;

/// The declaration.
pub static META: Meta = Meta {
    name: "host-callback",
    summary: "a callback sends a large value to the host",
    documentation: "\
What it does: finds values that jax.pure_callback, io_callback or an outfeed sends to the host, outside
loops (those in loops are callback-in-loop's), and says whether the whole array or each device's part is
sent, and by which device.
Why it costs memory: the value is written out whole for the send, and what comes back has a buffer of
its own. Under a mesh, outside shard_map, one device calls for all: each device gathers the whole array
first, mostly once more in another layout.
Example: io_callback of f32[65536,4096] split over 8 devices: 2 GiB on each of them where 128 MiB were.
Remedy: send what the host needs of it (a sum, a slice), or call it inside jax.shard_map, where each
device sends its own part.
References: E1000, scenario 2 (remove jax.debug.print of large tensors; the same holds for callbacks).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference {
        code: "E1000",
        section: "scenario 2, large tensors sent to the host, as by jax.debug.print",
    },
};

/// How many callbacks of a program are priced: each one runs the memory analysis again.
const QUESTIONS: usize = 8;

impl Rule for HostCallback {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let sites = sites(context);
        let callbacks = sites
            .iter()
            .filter(|site| !site.kind.is_print() && site.repetition == Repetition::Once);
        for (at, site) in callbacks.enumerate() {
            if let Some(finding) = finding(context, site, at < QUESTIONS) {
                context.push(findings, &META, finding);
            }
        }
    }
}

fn finding(context: &Context<'_>, site: &Site, is_priced: bool) -> Option<Finding> {
    let mut finding = site.finding(context, &META)?;
    let edits = if is_priced { site.edits(context) } else { Vec::new() };
    let action = match site.gather(context) {
        Some(_) => "send a reduction of it, or call it inside jax.shard_map",
        None => "send less to the host, or compute it on the device",
    };
    let priced = (!edits.is_empty()).then(|| context.priced(action, edits, false)).flatten();
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}
