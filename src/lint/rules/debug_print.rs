//! `debug-print`.

use crate::graph::Repetition;
use crate::lint::host_site::{Site, sites};
use crate::lint::{Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule};

/// See [`META`].
pub struct DebugPrint;

/// The declaration.
pub static META: Meta = Meta {
    name: "debug-print",
    summary: "a print sends a large value to the host",
    documentation: "\
What it does: finds values that jax.debug.print or jax.debug.callback sends to the host: on TPU a send
with is_host_transfer, on GPU and CPU a callback custom-call. Nothing of the program depends on them.
Why it costs memory: a value that would have stayed inside a fusion is written out whole, and in a
loop the carry is copied while the value is still to be sent. A value that is in memory anyway costs
nothing but the transfer. Under a mesh, outside shard_map, the whole array is gathered first.
Example: jax.debug.print of f32[4096,2048] in a fori_loop holds 32 MiB more at the peak.
Remedy: print a reduction such as jnp.abs(x).max(), or remove the print.
References: E1000, scenario 2 (remove jax.debug.print of large tensors).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "scenario 2, jax.debug.print of large tensors" },
};

impl Rule for DebugPrint {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let mut questions = QUESTIONS;
        for site in sites(context).iter().filter(|site| site.kind.is_print()) {
            if let Some(finding) = finding(context, site, &mut questions) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// How many prints of a program are priced: each one runs the memory analysis again.
const QUESTIONS: u32 = 32;

fn finding(context: &Context<'_>, site: &Site, questions: &mut u32) -> Option<Finding> {
    let mut finding = site.finding(context, &META)?;
    let held = site.held_bytes(context);
    if let Some(copy) = site.copy(context).filter(|_| held > 0) {
        finding.details.push(format!(
            "copied ({}) while the printed value is still to be sent",
            context.module.instruction(copy).name
        ));
    }
    finding.remedies = vec![remedy(context, site, held, questions)];
    // Where the value is in memory anyway, a print costs nothing but the transfer.
    let saved = finding.remedies.iter().filter_map(|remedy| remedy.required_bytes_after);
    let saved = saved.map(|after| finding.required_bytes.saturating_sub(after)).max().unwrap_or(0);
    finding.is_urgent = held >= context.min_bytes(&META)
        && saved >= context.min_bytes(&META)
        && site.repetition != Repetition::Once;
    Some(finding)
}

fn remedy(context: &Context<'_>, site: &Site, held: u64, questions: &mut u32) -> Remedy {
    let action = "print a reduction, e.g. jnp.abs(x).max(), or remove it";
    if held == 0 || *questions == 0 {
        return Remedy::new(action);
    }
    let edits = site.edits(context);
    if edits.is_empty() {
        return Remedy::new(action);
    }
    *questions -= 1;
    context.priced(action, edits, false).unwrap_or_else(|| Remedy::new(action))
}
