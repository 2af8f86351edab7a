//! What is alive at the peak.

use super::Options;
use crate::render::style::{self, paint};
use crate::render::wrap;
use crate::report::{Cause, Group, Row, Unit, percent, total_bytes};
use crate::report::{ModuleReport, Peak};
use std::fmt::Write;

/// How many rows of a group are shown.
const ROWS: usize = 3;

/// What a line of the table that is continued starts with: where its rows start.
const ROW: &str = "                    ";

/// How many arguments are named in the group's own line.
const ARGUMENTS: usize = 4;

/// The table of what is alive.
pub(super) fn alive(out: &mut String, module: &ModuleReport, peak: &Peak, options: Options<'_>) {
    let each = if module.devices > 1 { ", on each device" } else { "" };
    let title = format!("Alive at the peak{each}");
    let left = options.width.saturating_sub(title.len() + 4);
    _ = writeln!(out, "\n{}  ({})", paint(style::HEADING, &title), moment(peak, left));
    let Some(largest) = peak.alive.groups.iter().map(|group| group.bytes).max() else { return };
    let unit = Unit::of(largest);
    let is_shown = |bytes: u64| options.verbose || unit.number(bytes) != "0.00";
    for (at, group) in peak.alive.groups.iter().filter(|group| is_shown(group.bytes)).enumerate() {
        let mut line = format!(
            "{:>9} {:3} {:>4}  {}",
            unit.number(group.bytes),
            if at == 0 { unit.as_str() } else { "" },
            percent(group.bytes, module.hbm.total_bytes),
            group.title
        );
        if group.cause == Cause::Argument {
            line.push_str(&arguments(group, unit));
            wrap::write(out, &line, ROW, options.width);
            continue;
        }
        if let Some(source) = &group.source {
            _ = write!(line, ", {source}");
        }
        others_inline(&mut line, group, unit, module.hbm.total_bytes);
        if let Some(row) = only_row(group, unit).filter(|_| !options.verbose) {
            _ = write!(line, ": {}", described(row));
            wrap::write(out, &line, ROW, options.width);
        } else {
            wrap::write(out, &line, ROW, options.width);
            rows(out, group, unit, module.hbm.total_bytes, options);
        }
    }
}

/// `step 517 of 743, backward pass: attention, models.py:97`.
fn moment(peak: &Peak, width: usize) -> String {
    let mut words = format!("step {} of {}", peak.point, peak.points);
    if peak.backward {
        words.push_str(", backward pass");
    }
    if peak.in_loop {
        words.push_str(", in the loop");
    }
    let Some(source) = &peak.source else { return words };
    let function = source.function.rsplit('.').next().unwrap_or("");
    let short = format!("{words}, {source}");
    let long = format!("{words}: {function}, {source}");
    let has_function = peak.backward && !function.is_empty();
    let named = has_function.then_some(long);
    wrap::first_that_fits(named.into_iter().chain([short, words]), width)
}

/// `: x 32.00, w 16.00, 2 others 0.50`
fn arguments(group: &Group, unit: Unit) -> String {
    let visible = group.rows.iter().take_while(|row| unit.number(row.bytes) != "0.00").count();
    let shown = visible.min(ARGUMENTS);
    let mut parts: Vec<String> = group.rows[..shown]
        .iter()
        .map(|row| format!("{}{}{}", row.label, wrap::TIE, unit.number(row.bytes)))
        .collect();
    let rest = &group.rows[shown..visible];
    if !rest.is_empty() {
        let bytes = total_bytes(rest.iter().map(|row| row.bytes));
        let others = if rest.len() == 1 { "other" } else { "others" };
        parts.push(format!("{} {others} {}", rest.len(), unit.number(bytes)));
    }
    format!(": {}", parts.join(", "))
}

/// `: 0.50 and 2 x 0.25` is not shown; groups of temporaries without rows of their own say how many
/// they are and which is the largest.
fn others_inline(out: &mut String, group: &Group, unit: Unit, whole: u64) {
    if !is_rest(group, whole) {
        return;
    }
    let Some(largest) = group.rows.first() else { return };
    if group.rows.iter().map(|row| row.count).sum::<u64>() > 1 {
        _ = write!(
            out,
            ", largest {}: {}",
            unit.number(largest.bytes / largest.count.max(1)),
            largest.label
        );
        if let Some(source) = &largest.source {
            _ = write!(out, " ({source})");
        }
    }
}

/// Whether a group is what is left over, and not most of all.
fn is_rest(group: &Group, whole: u64) -> bool {
    group.cause == Cause::Other && group.bytes < whole / 5
}

/// The row of a group that has one buffer worth a word and no line of its own.
fn only_row(group: &Group, unit: Unit) -> Option<&Row> {
    let mut visible = group.rows.iter().filter(|row| unit.number(row.bytes) != "0.00");
    let row = visible.next().filter(|row| row.count == 1)?;
    let is_alone = visible.next().is_none() && group.cause != Cause::Other;
    (is_alone && group.source.is_none() && !is_titled(group)).then_some(row)
}

/// Whether the group's title is its first row's label.
fn is_titled(group: &Group) -> bool {
    group.rows.first().is_some_and(|row| group.title.starts_with(&row.label))
}

/// `f32[4096,2048] tanh, models.py:322`.
fn described(row: &Row) -> String {
    let mut words = row.label.clone();
    if !row.operation.is_empty() {
        _ = write!(words, " {}", row.operation);
    }
    if let Some(source) = &row.source {
        _ = write!(words, ", {source}");
    }
    words
}

fn rows(out: &mut String, group: &Group, unit: Unit, whole: u64, options: Options<'_>) {
    if is_rest(group, whole) && !options.verbose {
        return;
    }
    let is_visible = |row: &&Row| options.verbose || unit.number(row.bytes) != "0.00";
    let visible = group.rows.iter().take_while(is_visible).count();
    let shown = match visible {
        all if options.verbose => all,
        0 | 1 if group.source.is_some() || is_titled(group) => 0,
        all if all <= ROWS + 1 => all,
        _ => ROWS,
    };
    let labels: Vec<String> = group.rows[..shown].iter().map(|row| label(row, unit)).collect();
    let operations: Vec<&str> =
        group.rows[..shown].iter().map(|row| row.operation.as_str()).collect();
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0).min(44);
    let label_width = widest(&mut labels.iter().map(|text| text.chars().count()));
    let operation_width = widest(&mut operations.iter().map(|text| text.chars().count()));
    for (row, label) in group.rows[..shown].iter().zip(&labels) {
        let figure = format!("{:>27}", unit.number(row.bytes));
        let place = row.source.as_ref().map(ToString::to_string).unwrap_or_default();
        let function = row.source.as_ref().map_or("", |source| &source.function);
        let function = function.rsplit('.').next().unwrap_or("");
        let operation = &row.operation;
        let columns = format!("{figure}  {label:label_width$}  {operation:operation_width$}");
        let lines = [
            format!("{columns}  {place}  {function}"),
            format!("{columns}  {place}"),
            format!("{figure}  {label}  {operation}  {place}"),
            format!("{figure}  {label}  {place}"),
        ];
        let line =
            wrap::first_that_fits(lines.map(|line| line.trim_end().to_owned()), options.width);
        let line = match &row.source {
            Some(source) => line.replacen(&place, &options.linked(source), 1),
            None => line,
        };
        _ = writeln!(out, "{line}");
    }
    let rest = &group.rows[shown..];
    let rest_bytes = total_bytes(rest.iter().map(|row| row.bytes));
    if shown > 0 && !rest.is_empty() && unit.number(rest_bytes) != "0.00" {
        _ = writeln!(
            out,
            "{:>27}  {} others, largest {}",
            unit.number(rest_bytes),
            rest.iter().map(|row| row.count).sum::<u64>(),
            unit.number(rest.iter().map(|row| row.bytes / row.count.max(1)).max().unwrap_or(0)),
        );
    }
}

fn label(row: &Row, unit: Unit) -> String {
    let count = row.count.max(1);
    let mut words = match (count, unit.number(row.bytes / count)) {
        (1, _) => row.label.clone(),
        (_, each) if each == "0.00" => format!("{count} x {}", row.label),
        (_, each) => format!("{count} x {}, {each} each", row.label),
    };
    if row.bytes / 2 >= row.unpadded_bytes && row.unpadded_bytes > 0 {
        _ = write!(words, ", padded {:.1}x", row.bytes as f64 / row.unpadded_bytes as f64);
    }
    words
}
