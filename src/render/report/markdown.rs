//! What `report` says as Markdown, for a comment or a job's summary.

use super::{Options, Sort, kind, sorted, what};
use crate::render::markdown::escaped;
use crate::report::report::{Module, Report};
use crate::report::{Verdict, bytes, bytes_as_xla, percent};
use std::fmt::Write;

/// The report as Markdown.
pub fn markdown(report: &Report, options: Options) -> String {
    let mut out = String::new();
    for module in &report.modules {
        one(&mut out, module, options);
    }
    out
}

fn one(out: &mut String, module: &Module, options: Options) {
    let (summary, hbm) = (&module.summary, &module.summary.hbm);
    let verdict = match summary.verdict {
        Verdict::DoesNotFit => "**does not fit**",
        Verdict::Fits => "fits",
        _ => "no verdict",
    };
    let chip = summary.chip.as_deref().unwrap_or("unknown chip");
    _ = writeln!(out, "## {}\n", escaped(&summary.name));
    _ = writeln!(
        out,
        "{chip}, {} device{}, {verdict}: {} needed",
        summary.devices,
        if summary.devices == 1 { "" } else { "s" },
        bytes_as_xla(hbm.required_bytes)
    );
    _ = writeln!(out, "\n| part | bytes | share |\n| --- | ---: | ---: |");
    let parts = [
        ("parameters", hbm.parameters_bytes),
        ("results", hbm.outputs_bytes),
        ("constants", hbm.constants_bytes),
        ("thread-local", hbm.thread_local_bytes),
        ("temporaries at the peak", hbm.temporaries_bytes),
        ("packing, alignment, tuple tables", hbm.fragmentation_bytes),
        ("all", hbm.total_bytes),
    ];
    for (name, size) in parts {
        _ = writeln!(out, "| {name} | {size} | {} |", percent(size, hbm.total_bytes));
    }
    if module.details.padding_bytes > 0 {
        _ = writeln!(out, "\nLost to padding at the peak: {}", bytes(module.details.padding_bytes));
    }
    let buffers = sorted(module, options.sort);
    let shown = options.rows.unwrap_or(buffers.len()).min(buffers.len());
    let title = match options.sort {
        Sort::Size => "Largest buffers",
        Sort::Order => "Buffers in program order",
        Sort::Padding => "Buffers that lose most by padding",
    };
    _ = writeln!(
        out,
        "\n### {title}\n\n| bytes | unpadded | kind | at the peak | what |\n| ---: | ---: | --- | --- | --- |"
    );
    for buffer in &buffers[..shown] {
        _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            bytes(buffer.bytes),
            bytes(buffer.unpadded_bytes),
            kind(buffer),
            if buffer.is_alive_at_peak { "yes" } else { "" },
            escaped(&what(buffer))
        );
    }
    out.push('\n');
}
