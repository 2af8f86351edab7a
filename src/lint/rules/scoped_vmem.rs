//! `scoped-vmem`.

use crate::config::bytes;
use crate::hlo::{InstructionId, Opcode};
use crate::lint::{Context, Finding, Level, Meta, Provenance, Reference, Remedy, Rule};
use serde::Deserialize;

/// See [`META`].
pub struct ScopedVmem;

/// The declaration.
pub static META: Meta = Meta {
    name: "scoped-vmem",
    summary: "a kernel's scoped VMEM exceeds its limit",
    documentation: "\
What it finds: a custom call whose requested or recorded scoped VMEM is larger than its limit or than
the VMEM of the chip.
Why it costs memory: the compile fails with E1001, or with `would exceed memory` where even the
chip's VMEM is too small.
Example: a Pallas kernel with two double-buffered windows of f32[1024,8192] asks for 128 MiB against
a limit of 16 MiB.
Remedy: smaller blocks; or vmem_limit_bytes of that kernel, up to what the chip has.
References: E1001, retune the kernel.",
    level: Level::Error,
    reference: Reference { code: "E1001", section: "retune the kernel" },
};

/// The part of a backend config that speaks of scoped memory. Numbers are quoted or not.
#[derive(Default, Deserialize)]
struct BackendConfig {
    #[serde(default)]
    scoped_memory_configs: Vec<ScopedMemory>,
    #[serde(default)]
    used_scoped_memory_configs: Vec<ScopedMemory>,
}

#[derive(Deserialize)]
struct ScopedMemory {
    #[serde(default)]
    memory_space: Number,
    #[serde(default)]
    offset: Number,
    #[serde(default)]
    size: Number,
}

#[derive(Default, Deserialize)]
#[serde(from = "serde_json::Value")]
struct Number(u64);

impl From<serde_json::Value> for Number {
    fn from(value: serde_json::Value) -> Self {
        let number = value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
        Number(number.unwrap_or(0))
    }
}

const VMEM: u64 = 1;

impl Rule for ScopedVmem {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        let Some(chip) = context.policy.chip else { return };
        for id in context.module.ids() {
            if context.module.opcode(id) == Opcode::CustomCall {
                kernel(context, id, chip.vmem_bytes(), findings);
            }
        }
    }
}

fn kernel(context: &Context<'_>, id: InstructionId, vmem: u64, findings: &mut Vec<Finding>) {
    let Some(text) =
        context.module.backend_config(id).filter(|text| text.contains("scoped_memory"))
    else {
        return;
    };
    let Ok(config) = serde_json::from_str::<BackendConfig>(text) else { return };
    let in_vmem = |list: &[ScopedMemory]| {
        list.iter()
            .find(|entry| entry.memory_space.0 == VMEM)
            .map(|entry| (entry.offset.0, entry.size.0))
    };
    let requested = in_vmem(&config.scoped_memory_configs).map(|(_, size)| size);
    let used = in_vmem(&config.used_scoped_memory_configs).map(|(_, end)| {
        end.saturating_sub(in_vmem(&config.scoped_memory_configs).map_or(0, |(offset, _)| offset))
    });
    let limit = requested.filter(|&size| size > 0).map_or(vmem, |size| size.min(vmem));
    let (need, what) = match (used, requested) {
        (Some(used), _) if used > limit => (used, "uses"),
        (_, Some(requested)) if requested > vmem => (requested, "asks for"),
        _ => return,
    };
    let mut finding = context.finding(&META, Some(id));
    let name = context.module.instruction(id).name;
    finding.message = format!(
        "kernel {name} {what} {} of scoped VMEM, {} too much",
        bytes(need),
        bytes(need - limit)
    );
    finding.details = vec![format!("limit {}, VMEM of the chip {}", bytes(limit), bytes(vmem))];
    finding.bytes = need - limit;
    finding.provenance = Provenance::Recorded;
    finding.remedies = vec![
        Remedy::new("smaller blocks in the kernel's BlockSpecs"),
        Remedy::new("a vmem_limit_bytes that the chip has"),
    ];
    context.push(findings, finding, true);
}
