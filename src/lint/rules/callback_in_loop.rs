//! `callback-in-loop`.

use crate::config::bytes;
use crate::graph::Repetition;
use crate::lint::host_site::{Site, sites};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};

/// See [`META`].
pub struct CallbackInLoop;

/// The declaration.
pub static META: Meta = Meta {
    name: "callback-in-loop",
    summary: "a callback in a loop sends a large value to the host in each iteration",
    documentation: "\
What it does: finds jax.pure_callback and io_callback of large values inside scans, fori_loops and
while_loops, with the trip count where the text tells it.
Why it costs memory: what is sent and what comes back are buffers of their own in each iteration, the
compiler can neither fuse through the callback nor overlap the iterations, and the traffic to the host
is the size of the value times the trip count.
Example: pure_callback of f32[16384,4096] in a fori_loop of 12 trips: 12 x 256 MiB to the host and as
much back.
Remedy: compute it on the device, or collect what the host needs and send it once, behind the loop.
What comes back has to be held in any case, so no saving is claimed beyond the value that is sent.
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

impl Rule for CallbackInLoop {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let sites = sites(context);
        let callbacks = sites
            .iter()
            .filter(|site| !site.kind.is_print() && site.repetition != Repetition::Once);
        for (at, site) in callbacks.enumerate() {
            if let Some(finding) = finding(context, site, at < QUESTIONS) {
                context.push(findings, &META, finding);
            }
        }
    }
}

fn finding(context: &Context<'_>, site: &Site, is_priced: bool) -> Option<Finding> {
    let mut finding = site.finding(context, &META)?;
    if let Repetition::Times(n) = site.repetition {
        let all = site.size_bytes().saturating_add(site.received_bytes).saturating_mul(n);
        finding.details.push(format!("{} between device and host in each call", bytes(all)));
    }
    let action = "compute it on the device, or send once what the host needs, behind the loop";
    let edits = if is_priced { site.edits(context) } else { Vec::new() };
    let priced = (!edits.is_empty()).then(|| context.priced(action, edits, false)).flatten();
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}
