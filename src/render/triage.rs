//! What `triage` says, for a person: the failure and its figures first, then what they show, the
//! largest allocations, what to do.

use super::style::{self, paint};
use crate::report::triage::{Explained, Joined, TriageReport};
use crate::report::{Form, Incident, Level, Size, TableRow, bytes_as_xla, printed};
use std::fmt::Write;

/// How many rows of a table are shown.
const ROWS: usize = 8;

/// The report of `triage`.
pub fn text(report: &TriageReport) -> String {
    let mut out = String::new();
    for (at, explained) in report.incidents.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        incident(&mut out, explained);
    }
    if report.incidents.is_empty() {
        nothing(&mut out, report);
    } else if report.messages > report.incidents.len() {
        _ = writeln!(
            out,
            "\n{}",
            paint(style::DIM, &format!("said {} times in the log", report.messages))
        );
    }
    if let Some(check) = &report.check {
        out.push('\n');
        out.push_str(&super::text::check(check, super::text::Options::default()));
    }
    out
}

/// No failure that is known.
fn nothing(out: &mut String, report: &TriageReport) {
    if let Some(error) = &report.other_error {
        _ = writeln!(out, "no memory error that is known; the last error is\n   {error}");
        return;
    }
    _ = writeln!(
        out,
        "{}",
        if report.is_recognised {
            "no memory error"
        } else {
            "no message of the compiler found in this text"
        }
    );
    if let Some(usage) = &report.usage {
        let parts = [
            ("reserved", &usage.reserved),
            ("program", &usage.program),
            ("arguments", &usage.arguments),
        ];
        _ = writeln!(out, "   a program compiled: {}", list(&parts));
    }
    if let Some(remat) = &report.remat {
        _ = writeln!(
            out,
            "   rematerialisation reached {} where {} was wanted; the compile may have worked",
            remat.reached.text, remat.limit.text
        );
    }
}

fn list(parts: &[(&str, &Option<Size>)]) -> String {
    let words: Vec<String> = parts
        .iter()
        .filter_map(|(name, size)| size.as_ref().map(|size| format!("{name} {}", size.text)))
        .collect();
    words.join(", ")
}

fn incident(out: &mut String, explained: &Explained) {
    let incident = &explained.incident;
    let code = incident.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    let head = format!("{}{code}", incident.category.as_str());
    _ = writeln!(
        out,
        "{}  {}",
        paint(style::of_level(Level::Error), &head),
        paint(style::HEADING, &explained.title)
    );
    figures(out, incident);
    subject(out, incident);
    if let Some(reason) = &incident.reason {
        _ = writeln!(out, "   {reason}");
    }
    for line in &explained.evidence {
        _ = writeln!(out, "   {line}");
    }
    table(out, explained);
    if let Some(joined) = &explained.dump {
        dump(out, incident, joined);
    }
    steps(out, explained);
}

/// `16.38G needed, 15.75G available: 642.11M too much`.
fn figures(out: &mut String, incident: &Incident) {
    let Some(needed) = &incident.needed else { return };
    let exact = |size: &Size| {
        if size.text.ends_with(|c: char| c.is_ascii_digit()) {
            format!("{} ({} bytes)", printed(size.bytes), size.bytes)
        } else {
            size.text.clone()
        }
    };
    _ = write!(out, "   {} needed", exact(needed));
    if let Some(sparsecore) = &incident.sparsecore {
        _ = write!(out, " by the TensorCore, {} by SparseCores", sparsecore.text);
    }
    if let Some(available) = &incident.available {
        let word = if incident.form == Form::Scoped { "allowed" } else { "available" };
        _ = write!(out, ", {} {word}", exact(available));
        let missing = incident.exceeded.as_ref().map(|size| printed(size.bytes));
        let difference = needed.bytes.checked_sub(available.bytes).filter(|&bytes| bytes > 0);
        match (missing, difference) {
            (Some(missing), _) => _ = write!(out, ": {missing} too much"),
            (None, Some(bytes)) if incident.form != Form::Split => {
                _ = write!(out, ": about {} too much", printed(bytes));
            }
            _ => {}
        }
    }
    out.push('\n');
    if let Some(module) = &incident.module {
        _ = writeln!(out, "   module {module}");
    }
    if let Some(usage) = &incident.usage {
        let parts = [
            ("arguments", &usage.arguments),
            ("program", &usage.program),
            ("reserved by the runtime", &usage.reserved),
        ];
        _ = writeln!(out, "   {}", list(&parts));
    }
    if let Some(output) = &incident.output {
        _ = writeln!(out, "   results {}, {} of it donated", output.size.text, output.shared.text);
    }
}

fn subject(out: &mut String, incident: &Incident) {
    let Some(subject) = &incident.subject else { return };
    let mut words: Vec<&str> = Vec::new();
    words.extend(subject.name.as_deref());
    words.extend(subject.opcode.as_deref());
    words.extend(subject.shape.as_deref());
    words.extend(subject.source.as_deref());
    _ = writeln!(out, "   for {}", words.join("  "));
    if let Some(op_name) = &subject.op_name {
        _ = writeln!(out, "       {op_name}");
    }
    if let Some(tag) = &subject.tag {
        _ = writeln!(out, "       {tag}");
    }
}

fn table(out: &mut String, explained: &Explained) {
    let incident = &explained.incident;
    let largest = incident.rows.iter().filter_map(|row| row.size.as_ref()).map(|size| size.bytes);
    let Some(largest) = largest.max() else { return };
    // Tables end with tuple tables of some bytes, which say nothing.
    let is_shown = |row: &&TableRow| {
        row.size.as_ref().is_some_and(|size| size.bytes.saturating_mul(1000) >= largest)
    };
    let shown: Vec<&TableRow> = incident.rows.iter().filter(is_shown).collect();
    _ = writeln!(out, "\n{}", paint(style::HEADING, "Largest allocations"));
    for row in shown.iter().take(ROWS) {
        let size = row.size.as_ref().map_or("", |size| &size.text);
        let mut words = vec![row.shape.clone().unwrap_or_default()];
        words.extend(row.instruction.clone());
        words.extend(row.expansion.as_ref().map(|times| format!("padded {times}")));
        words.extend(row.tag.clone());
        words.extend(place_of(explained, row));
        _ = writeln!(out, "{size:>11}  {}", words.join("  ").trim_end());
    }
    let rest = incident.rows.len().saturating_sub(shown.len().min(ROWS));
    if rest > 0 {
        _ = writeln!(out, "{:>11}  {rest} more", "");
    }
}

/// The line in the user's program: that of the dump, which knows more, else that of the message.
fn place_of(explained: &Explained, row: &TableRow) -> Option<String> {
    let places = explained.dump.as_ref().map_or(&[][..], |joined| &joined.places);
    let name = row.instruction.as_deref()?;
    let place = places.iter().find(|place| place.instruction == name);
    place
        .and_then(|place| place.source.as_ref())
        .map(ToString::to_string)
        .or_else(|| row.source.clone())
}

fn dump(out: &mut String, incident: &Incident, joined: &Joined) {
    _ = write!(
        out,
        "\n{} {} in {}",
        paint(style::HEADING, "In the dump"),
        joined.module,
        joined.file
    );
    if incident.space.as_deref() == Some("hbm") {
        let word =
            if joined.agrees { "as the message says" } else { "not the figure of the message" };
        _ = write!(
            out,
            ": {} bytes, {}, {word}",
            joined.required_bytes,
            bytes_as_xla(joined.required_bytes)
        );
    }
    out.push('\n');
    for place in &joined.places {
        let source = place.source.as_ref().map(ToString::to_string).unwrap_or_default();
        let line = format!("   line {}  %{}  {source}", place.line, place.instruction);
        _ = writeln!(out, "{}", line.trim_end());
    }
}

fn steps(out: &mut String, explained: &Explained) {
    if let Some(section) = explained.section {
        _ = writeln!(out, "\n{} {section}", paint(style::HEADING, "Applies:"));
    } else if !explained.steps.is_empty() {
        out.push('\n');
    }
    for (at, step) in explained.steps.iter().enumerate() {
        let section = match step.section {
            "" => String::new(),
            section if Some(section) == explained.section => String::new(),
            section => format!("  [{section}]"),
        };
        _ = writeln!(out, "   {}. {}{}", at + 1, step.action, paint(style::DIM, &section));
    }
}
