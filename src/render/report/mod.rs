//! What `report` says, for a person and as Markdown.

mod chart;
mod markdown;

use super::style::{self, paint};
use super::text as check;
use crate::report::report::{Buffer, Module, Report};
use crate::report::{Unit, bytes, percent};
use std::fmt::Write;

pub use markdown::markdown;

/// The order of the buffer table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The largest first.
    Size,
    /// The first that is alive first.
    Order,
    /// The one that loses most by padding first.
    Padding,
}

/// What a reader asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The order of the buffer table.
    pub sort: Sort,
    /// How many buffers are shown; `None` for all.
    pub rows: Option<usize>,
    /// Columns.
    pub width: usize,
}

/// The report as text.
pub fn text(report: &Report, options: Options) -> String {
    let mut out = String::new();
    for (at, module) in report.modules.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        full(&mut out, module, options);
    }
    out
}

fn full(out: &mut String, module: &Module, options: Options) {
    let shown = check::Options { verbose: true, width: options.width, links: None };
    check::module(out, &module.summary, shown);
    let lost = module.details.padding_bytes;
    if lost > 0 {
        let share = percent(lost, module.summary.hbm.total_bytes);
        _ = writeln!(out, "\nLost to padding at the peak  {} ({share})", bytes(lost));
    }
    heading(out, "Memory over the program");
    let chart = chart::chart(module, options.width);
    out.push_str(if chart.is_empty() { "unknown: not scheduled\n" } else { &chart });
    buffer_table(out, module, options);
    parameters(out, module);
    kernels(out, module);
}

fn heading(out: &mut String, title: &str) {
    _ = writeln!(out, "\n{}", paint(style::HEADING, title));
}

/// The buffers in the order asked for.
fn sorted(module: &Module, sort: Sort) -> Vec<&Buffer> {
    let mut buffers: Vec<&Buffer> =
        module.details.buffers.iter().filter(|buffer| buffer.bytes > 0).collect();
    // What is not in HBM comes last: it does not count there.
    let lost = |buffer: &Buffer| buffer.bytes.saturating_sub(buffer.unpadded_bytes);
    buffers.sort_by(|a, b| {
        let order = match sort {
            Sort::Size => b.bytes.cmp(&a.bytes),
            Sort::Order => (a.start, a.end).cmp(&(b.start, b.end)),
            Sort::Padding => lost(b).cmp(&lost(a)).then(b.bytes.cmp(&a.bytes)),
        };
        a.memory_space.cmp(&b.memory_space).then(order)
    });
    buffers
}

fn buffer_table(out: &mut String, module: &Module, options: Options) {
    let buffers = sorted(module, options.sort);
    let shown = options.rows.unwrap_or(buffers.len()).min(buffers.len());
    heading(out, "Buffers  (* alive at the peak; steps of the schedule, both inclusive)");
    _ = writeln!(out, "{:>11} {:>11}  {:12} {:>11}  what", "bytes", "unpadded", "kind", "steps");
    for buffer in &buffers[..shown] {
        let steps = match (buffer.start, buffer.end) {
            (Some(start), Some(end)) => format!("{start}-{end}"),
            _ => String::new(),
        };
        let mark = if buffer.is_alive_at_peak { '*' } else { ' ' };
        let line = format!(
            "{:>11} {:>11}  {:12} {steps:>11}{mark} {}",
            bytes(buffer.bytes),
            bytes(buffer.unpadded_bytes),
            kind(buffer),
            what(buffer)
        );
        _ = writeln!(out, "{}", line.trim_end());
        for frame in &buffer.stack {
            _ = writeln!(out, "{:>52}{frame}  {}", "", frame.function);
        }
    }
    let rest = &buffers[shown..];
    if !rest.is_empty() {
        let sum = rest.iter().fold(0_u64, |sum, buffer| sum.saturating_add(buffer.bytes));
        _ = writeln!(out, "{:>11} {:>11}  {} more (--rows all)", bytes(sum), "", rest.len());
    }
}

fn kind(buffer: &Buffer) -> String {
    match (buffer.is_donated, buffer.memory_space) {
        (true, 0) => "donated".to_owned(),
        (_, 0) => buffer.kind.as_str().to_owned(),
        (_, space) => format!("in S({space})"),
    }
}

/// `bf16[24,8]{1,0}  fusion.28  jit(f)/dot_general  models.py:97`.
fn what(buffer: &Buffer) -> String {
    let index: Vec<String> = buffer.index.iter().map(ToString::to_string).collect();
    let index = if index.is_empty() { String::new() } else { format!("{{{}}}", index.join(",")) };
    let mut words = format!("{}  {}{index}", buffer.shape, buffer.instruction);
    if !buffer.op_name.is_empty() {
        _ = write!(words, "  {}", buffer.op_name);
    }
    if let Some(source) = &buffer.source {
        _ = write!(words, "  {source}");
    }
    words
}

fn parameters(out: &mut String, module: &Module) {
    let parameters = &module.details.parameters;
    if parameters.is_empty() {
        return;
    }
    heading(out, "Parameters, on one device");
    let unit = Unit::of(parameters.iter().map(|parameter| parameter.bytes).max().unwrap_or(0));
    _ = writeln!(out, "{:>11}  donated  what, sharding", unit.as_str());
    for parameter in parameters {
        let sharding = parameter.sharding.as_deref().unwrap_or("");
        let line = format!(
            "{:>11}  {:7}  {:>3} {}  {}  {sharding}",
            unit.number(parameter.bytes),
            if parameter.is_donated { "yes" } else { "" },
            parameter.number,
            parameter.path,
            parameter.shape,
        );
        _ = writeln!(out, "{}", line.trim_end());
    }
}

fn kernels(out: &mut String, module: &Module) {
    if module.details.kernels.is_empty() {
        return;
    }
    heading(out, "Kernels");
    for kernel in &module.details.kernels {
        let limit = kernel.vmem_limit_bytes.map(|limit| format!(" of {}", bytes(limit)));
        let limit = limit.unwrap_or_default();
        let vmem = match (kernel.recorded_vmem_bytes, kernel.estimated_vmem_bytes) {
            (Some(recorded), _) => {
                format!("{}{limit} of scoped VMEM, recorded by XLA", bytes(recorded))
            }
            (None, Some(estimate)) => {
                format!("at least {}{limit} of scoped VMEM, estimated", bytes(estimate))
            }
            (None, None) => "scoped VMEM not known".to_owned(),
        };
        let source = kernel.source.as_ref().map(ToString::to_string).unwrap_or_default();
        let line = format!("   {}  {vmem}  {source}", kernel.instruction);
        _ = writeln!(out, "{}", line.trim_end());
    }
}
