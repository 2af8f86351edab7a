//! A chart of memory over the program in text: one column for some program points, as high as the
//! most that is alive at any of them.

use crate::report::Unit;
use crate::report::report::Module;
use std::fmt::Write;

/// How many lines high.
const HEIGHT: u64 = 10;

/// Columns for the figures at the left.
const MARGIN: usize = 12;

/// Parts of a character cell, from an eighth to the whole.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The chart of a module; empty without a schedule.
pub fn chart(module: &Module, width: usize) -> String {
    let mut out = String::new();
    let Some(peak) = &module.summary.peak else { return out };
    let columns = columns(module, peak.points, width.saturating_sub(MARGIN).max(16));
    let highest = columns.iter().copied().max().unwrap_or(0);
    // The capacity is in the picture where the program comes near it.
    let capacity = module.summary.hbm.available_bytes.filter(|&bytes| bytes / 2 <= highest);
    let top = highest.max(capacity.unwrap_or(0)).max(1);
    let unit = Unit::of(top);
    let row_of = |bytes: u64| {
        let row = (u128::from(bytes) * u128::from(HEIGHT)).div_ceil(u128::from(top));
        u64::try_from(row).unwrap_or(HEIGHT).clamp(1, HEIGHT)
    };
    for row in (1..=HEIGHT).rev() {
        let is_capacity = capacity.is_some_and(|bytes| row_of(bytes) == row);
        let label = match capacity.filter(|_| is_capacity) {
            Some(bytes) => unit.number_as_xla(bytes),
            None if row == row_of(highest) => unit.number_as_xla(highest),
            None => String::new(),
        };
        _ = write!(out, "{label:>9} {}", if label.is_empty() { '│' } else { '┤' });
        let line: String =
            columns.iter().map(|&bytes| cell(bytes, row, top, is_capacity)).collect();
        let tail = if is_capacity { " capacity" } else { "" };
        _ = writeln!(out, "{}{tail}", line.trim_end());
    }
    _ = writeln!(out, "{:>9} └{}", unit.as_str(), "─".repeat(columns.len()));
    let at = first_column(peak.point, peak.points, columns.len());
    let mark = format!("▲ peak, step {} of {}", peak.point, peak.points);
    // The words stand to the left of the mark where they would not fit at its right.
    let indent = MARGIN - 1 + at;
    if at + mark.chars().count() <= columns.len() {
        _ = writeln!(out, "{}{mark}", " ".repeat(indent));
    } else {
        let words = format!("peak, step {} of {} ▲", peak.point, peak.points);
        let indent = (indent + 1).saturating_sub(words.chars().count());
        _ = writeln!(out, "{}{words}", " ".repeat(indent));
    }
    out
}

fn cell(bytes: u64, row: u64, top: u64, is_capacity: bool) -> char {
    let eighths = u128::from(bytes) * u128::from(HEIGHT) * 8 / u128::from(top);
    let eighths = u64::try_from(eighths).unwrap_or(HEIGHT * 8);
    match eighths.saturating_sub((row - 1) * 8) {
        0 if is_capacity => '╌',
        0 => ' ',
        part => BLOCKS[(part.min(8) - 1) as usize],
    }
}

/// The first column of a program point.
fn first_column(point: u32, points: u32, columns: usize) -> usize {
    let at = u64::from(point) * columns as u64 / u64::from(points.max(1));
    (at as usize).min(columns)
}

/// The most that is alive in each column.
fn columns(module: &Module, points: u32, most: usize) -> Vec<u64> {
    // A short program gets some columns a point, a long one some points a column.
    let points = points.max(1);
    let count = match most / points as usize {
        0 => most,
        each => each * points as usize,
    };
    let mut columns = vec![0; count];
    let curve = &module.details.live;
    for (at, live) in curve.iter().enumerate() {
        let end = curve.get(at + 1).map_or(points, |next| next.point).max(live.point + 1) - 1;
        let first = first_column(live.point, points, count);
        let last = first_column(end + 1, points, count).max(first + 1);
        for column in columns.iter_mut().take(last).skip(first) {
            *column = live.bytes.max(*column);
        }
    }
    columns
}
