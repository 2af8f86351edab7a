//! Messages about one kernel, fusion or buffer.

use super::line::{REACH, ahead, behind, between, number_after, size_after};
use super::table::{quoted, source};
use super::{Category, Form, Incident, Size, Subject};

/// `Scoped allocation with size A and limit B exceeded scoped vmem limit by C`. The subject stands in
/// front of it and may be cut off; the sentence alone is enough.
pub fn scoped(log: &[u8], offset: usize) -> Option<Incident> {
    const SENTENCE: usize = 512;
    const ALLOCATING: &str = "while allocating on stack for ";
    let text = ahead(log, offset, SENTENCE);
    let mut incident = Incident::new(Category::VmemScopedOom, Form::Scoped, offset);
    incident.needed = Some(size_after(&text, "with size ")?);
    incident.available = Some(size_after(&text, "limit ")?);
    incident.exceeded = size_after(&text, "limit by ");
    incident.space = Some("vmem".to_owned());
    let before = behind(log, offset, REACH);
    if let Some(at) = before.rfind(ALLOCATING) {
        incident.subject = Some(instruction(&before[at + ALLOCATING.len()..]));
        let head = &before[..at];
        incident.code = super::line::code_before(
            head.trim_end_matches("Ran out of memory in memory space vmem "),
        );
    }
    Some(incident)
}

/// What an instruction's text says of it.
fn instruction(text: &str) -> Subject {
    let text = text.trim_end().trim_end_matches('.');
    let (name, rest) = text.split_once(" = ").unwrap_or((text, ""));
    let (shape, operation) = shape_at_start(rest);
    let end = operation.find('(').unwrap_or(operation.len());
    let opcode = operation[..end].trim();
    Subject {
        name: Some(name.trim_start_matches('%').to_owned()).filter(|name| name.len() < 1024),
        shape: (!shape.is_empty()).then(|| shape.to_owned()),
        opcode: (!opcode.is_empty() && opcode.len() < 64).then(|| opcode.to_owned()),
        op_name: quoted(rest, "op_name=\""),
        source: source(rest),
        tag: None,
        is_kernel: rest.contains("custom_call_target=\"tpu_custom_call\""),
    }
}

/// A shape, which ends at the first space outside parentheses, and what is behind it.
fn shape_at_start(text: &str) -> (&str, &str) {
    let mut depth = 0usize;
    let end = text.find(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ' ' && depth == 0
    });
    text.split_at(end.unwrap_or(text.len()))
}

/// `Allocation (size=A) would exceed memory (size=B) :: #allocation2 [shape = 's', space=vmem, size =
/// 0x.., scoped, tag = 't'] :: name`, and the form that names an operand.
pub fn single_allocation(log: &[u8], offset: usize) -> Option<Incident> {
    const BEFORE: usize = 64;
    const AFTER: usize = 4096;
    let before = behind(log, offset, BEFORE);
    let text = ahead(log, offset, AFTER);
    let line = text.split('\n').next()?;
    let needed = number_after(&before[before.rfind("(size=")?..], "(size=")?;
    let available = number_after(line, "memory (size=")?;
    let space = match between(line, "space=", ",") {
        Some(space) => space,
        None => between(line, "operand.", " ").unwrap_or("hbm"),
    };
    let mut incident = Incident::new(Category::of_space(space), Form::SingleAllocation, offset);
    incident.space = Some(space.to_owned());
    incident.needed = Some(Size::exact(needed));
    incident.available = Some(Size::exact(available));
    incident.exceeded = needed.checked_sub(available).map(Size::exact);
    let tag = between(line, "tag = '", "'");
    let shape = between(line, "shape = '", "'").or_else(|| between(line, "[shape: ", ", "));
    let last = line.rsplit(" :: ").next().map(str::trim);
    let output = tag.and_then(|tag| between(tag, "output of ", "@"));
    let name = output.or(last.filter(|name| !name.starts_with('<') && name.len() < 1024));
    incident.subject = Some(Subject {
        name: name.map(|name| name.trim_start_matches('%').to_owned()),
        shape: shape.map(str::to_owned),
        tag: tag.filter(|_| output.is_none()).map(str::to_owned),
        is_kernel: space != "hbm",
        ..Subject::default()
    });
    Some(incident)
}

/// `Too many buffers are colored in the alternate memory. Could not reserve alternate memory for
/// buffer: HloBuffer 1, values: <1 name{0}> with size: N ...`, older: `for colored output of
/// instruction name at shape index {}`.
pub fn coloured(log: &[u8], offset: usize) -> Incident {
    const AFTER: usize = 1024;
    let text = ahead(log, offset, AFTER);
    let line = text.split('\n').next().unwrap_or("");
    let mut incident = Incident::new(Category::VmemColoured, Form::Coloured, offset);
    incident.space = Some("vmem".to_owned());
    incident.needed = number_after(line, "with size: ").map(Size::exact);
    let value = between(line, "values: <", ">").and_then(|value| value.split(' ').nth(1));
    let name = value.or_else(|| between(line, "output of instruction ", " at shape"));
    if let Some(name) = name {
        let name = name.split('{').next().unwrap_or(name);
        incident.subject =
            Some(Subject { name: Some(name.to_owned()), is_kernel: true, ..Subject::default() });
    }
    incident
}

/// A message whose reason is told in its own words: Mosaic, SparseCore.
pub fn told(log: &[u8], offset: usize, category: Category) -> Incident {
    const AFTER: usize = 600;
    let text = ahead(log, offset, AFTER);
    let mut incident = Incident::new(category, Form::Other, offset);
    incident.reason = text.split("\n\n").next().map(one_line);
    if let Some(name) = between(&text, "HLO name `", "`") {
        incident.subject =
            Some(Subject { name: Some(name.to_owned()), is_kernel: true, ..Subject::default() });
    }
    let inside = text.split('\n').next().unwrap_or("");
    incident.code = inside.find("E2").and_then(|at| super::line::code_before(&inside[..at + 6]));
    incident
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
