//! What `triage` says, for a person: the failure and its figures first, then what they show, the
//! largest allocations, what to do.

use super::style::{self, paint};
use super::text::WIDTH;
use super::wrap;
use crate::report::triage::{Explained, Joined, LogReport, TriageReport};
use crate::report::{
    Category, Form, Incident, Level, Resharding, Size, TableRow, bytes_as_xla, printed,
};
use std::fmt::Write;

/// How many rows of a table are shown.
const ROWS: usize = 8;

/// The report of `triage`.
pub fn text(report: &TriageReport) -> String {
    let mut out = log(&report.log);
    if let Some(check) = &report.check {
        out.push('\n');
        out.push_str(&super::text::check(check, super::text::Options::default()));
    }
    out
}

/// What a log says.
pub(super) fn log(report: &LogReport) -> String {
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
    reshardings(&mut out, &report.reshardings);
    out
}

/// What the partitioner holds whole on every device; what is small costs nothing worth a word.
fn reshardings(out: &mut String, all: &[Resharding]) {
    const SHOWN: usize = 5;
    if all.is_empty() {
        return;
    }
    let title = "Whole on every device for a while";
    let lines = format!("{title}, to change a sharding ({} values)", all.len());
    _ = writeln!(out, "\n{}", paint(style::HEADING, &lines));
    for found in all.iter().take(SHOWN) {
        let size = found.whole_bytes.map(bytes_as_xla).unwrap_or_default();
        let unnamed =
            found.instruction.is_none().then_some("a value that the message does not name");
        let mut words: Vec<&str> = unnamed.into_iter().collect();
        words.extend(found.shape.as_deref().and_then(|shape| shape.split('{').next()));
        words.extend(found.instruction.as_deref());
        words.extend(found.source.as_deref());
        let times = format!("said {} times", found.count);
        words.extend((found.count > 1).then_some(times.as_str()));
        _ = writeln!(out, "{size:>11}  {}", words.join("  "));
        let line = format!("             from {} to {}", found.from, found.to);
        wrap::write(out, &line, "               ", WIDTH);
    }
    if all.len() > SHOWN {
        _ = writeln!(out, "{:>11}  {} more", "", all.len() - SHOWN);
    }
    let advice = "   a sharding in between (with_sharding_constraint) that changes one axis at a time, or \
                  the same sharding on both sides; sizes are without padding";
    wrap::write(out, advice, "   ", WIDTH);
}

/// No failure that is known.
fn nothing(out: &mut String, report: &LogReport) {
    if let Some(error) = &report.other_error {
        out.push_str("no memory error that is known; the last error is\n");
        wrap::write(out, &format!("   {error}"), "     ", WIDTH);
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
    for line in incident.reason.iter().chain(&explained.evidence) {
        wrap::write(out, &format!("   {line}"), "     ", WIDTH);
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
            (None, Some(bytes)) if !matches!(incident.form, Form::Split | Form::Preflight) => {
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
    if let Some(needs) =
        incident.requirement.as_ref().filter(|_| incident.category == Category::RuntimeOom)
    {
        let parts = needs.parts.iter().map(|(name, size)| format!("{name} {}", size.text));
        let total = needs.total.iter().map(|size| format!("{} in all", size.text));
        let parts: Vec<String> = parts.chain(total).collect();
        let line = format!("   the program: {}", parts.join(", "));
        wrap::write(out, &line, "     ", WIDTH);
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
    wrap::write(out, &format!("   for {}", words.join("  ")), "       ", WIDTH);
    for line in subject.op_name.iter().chain(&subject.tag) {
        wrap::write(out, &format!("       {line}"), "       ", WIDTH);
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
        let line = format!("{size:>11}  {}", words.join("  ").trim_end());
        wrap::write(out, &line, "                 ", WIDTH);
    }
    let rest = incident.rows.len().saturating_sub(shown.len().min(ROWS));
    if rest > 0 {
        _ = writeln!(out, "{:>11}  {rest} more", "");
    }
}

/// The line in the user's program: that of the dump, which knows more, else that of the message.
fn place_of(explained: &Explained, row: &TableRow) -> Option<String> {
    let places = explained.dump.as_ref().map_or(&[][..], |joined| &joined.places);
    let name = row.instruction.as_deref();
    let place = places.iter().find(|place| Some(place.instruction.as_str()) == name);
    place
        .and_then(|place| place.source.as_ref())
        .map(ToString::to_string)
        .or_else(|| row.source.clone())
}

fn dump(out: &mut String, incident: &Incident, joined: &Joined) {
    _ = writeln!(out, "\n{}  {}", paint(style::HEADING, "In the dump"), joined.module);
    _ = writeln!(out, "   {}", joined.file);
    if incident.space.as_deref() == Some("hbm") {
        let word =
            if joined.agrees { "as the message says" } else { "not the figure of the message" };
        let size = bytes_as_xla(joined.required_bytes);
        _ = writeln!(out, "   needs {size} ({} bytes), {word}", joined.required_bytes);
    }
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
        let lines =
            wrap::lines(&format!("   {}. {}{section}", at + 1, step.action), "      ", WIDTH);
        let text = lines.join("\n");
        let painted = text
            .strip_suffix(&section)
            .map(|action| format!("{action}{}", paint(style::DIM, &section)));
        _ = writeln!(out, "{}", painted.unwrap_or(text));
    }
}
