//! `-memory-usage-report.txt` in; totals by memory space and the tables out.
//!
//! Two forms: one section a memory space (libtpu 0.0.38, jaxlib 0.9 and later), or one list of all
//! allocations (older). Sizes in tables are rounded for people; totals and offsets are exact.

use super::scan::{Lines, Read, Scan};

/// XLA's memory-usage report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryUsageReport<'t> {
    /// The newer form.
    BySpace(Vec<SpaceRecord<'t>>),
    /// The older form.
    ByAllocation {
        /// Sum of all allocations of all memory spaces.
        total_bytes: u64,
        /// The rows of the list by size.
        allocations: Vec<AllocationRow<'t>>,
        /// The same allocations with tables of their values.
        tables: Vec<Table<'t>>,
    },
}

/// A memory space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceRecord<'t> {
    /// XLA's label; misleading for some spaces, so go by the number.
    pub label: &'t str,
    /// The number (XLA's colour).
    pub memory_space: i64,
    /// Sum of its allocations.
    pub total_bytes: u64,
    /// A table for each allocation shown.
    pub tables: Vec<Table<'t>>,
}

/// The values of an allocation, grouped by offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table<'t> {
    /// The allocation's own line, in the older form.
    pub allocation: Option<&'t str>,
    /// The rows.
    pub rows: Vec<Row<'t>>,
    /// How many values the report leaves out.
    pub omitted: u64,
}

/// Values that share an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<'t> {
    /// Sum up to this row, rounded, with its share.
    pub cumulative_size: &'t str,
    /// The size, rounded.
    pub size: &'t str,
    /// The offset in the allocation.
    pub offset_bytes: u64,
    /// How many values stand there.
    pub values: u64,
    /// Their shapes.
    pub shapes: &'t str,
}

/// A row of the list of allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationRow<'t> {
    /// Sum up to this row, rounded, with its share.
    pub cumulative_size: &'t str,
    /// What is left, rounded.
    pub rest_size: &'t str,
    /// The allocation, as written.
    pub allocation: &'t str,
}

impl MemoryUsageReport<'_> {
    /// The total of a memory space; `None` in the older form, or when nothing is there.
    pub fn total_bytes(&self, memory_space: i64) -> Option<u64> {
        match self {
            MemoryUsageReport::BySpace(spaces) => spaces
                .iter()
                .find(|space| space.memory_space == memory_space)
                .map(|space| space.total_bytes),
            MemoryUsageReport::ByAllocation { .. } => None,
        }
    }
}

const COLUMNS: &str = "cumulative_size;       size;";

/// Reads `-memory-usage-report.txt`.
///
/// # Errors
/// The first line that is not as XLA writes it.
pub fn parse(text: &str) -> Read<MemoryUsageReport<'_>> {
    let mut lines = Lines::new(text);
    lines.skip_blank();
    let report = if lines.peek().is_some_and(|line| line.starts_with("Total bytes used: ")) {
        by_allocation(&mut lines)?
    } else {
        by_space(&mut lines)?
    };
    lines.skip_blank();
    match lines.next() {
        Some(line) => line.fail("a memory space or an allocation"),
        None => Ok(report),
    }
}

fn by_space<'t>(lines: &mut Lines<'t>) -> Read<MemoryUsageReport<'t>> {
    let mut spaces = Vec::new();
    while let Some(mut line) = lines.next_if(|line| line.starts_with("Memory Space: ")) {
        line.literal("Memory Space: ")?;
        let label = line.until(" (color=")?;
        let memory_space = line.number("a memory space")?;
        line.literal(")")?;
        let mut line = lines.require("Total bytes: ")?;
        line.literal("Total bytes: ")?;
        let total_bytes = line.number("a size in bytes")?;
        let mut tables = Vec::new();
        lines.skip_blank();
        while lines.peek().is_some_and(|line| line.trim_start().starts_with(COLUMNS)) {
            tables.push(table(None, lines)?);
            lines.skip_blank();
        }
        spaces.push(SpaceRecord { label, memory_space, total_bytes, tables });
    }
    match (spaces.is_empty(), lines.next()) {
        (true, Some(line)) => line.fail("Memory Space: "),
        (_, Some(line)) => line.fail("a memory space or a table"),
        _ => Ok(MemoryUsageReport::BySpace(spaces)),
    }
}

fn by_allocation<'t>(lines: &mut Lines<'t>) -> Read<MemoryUsageReport<'t>> {
    let mut line = lines.require("Total bytes used: ")?;
    line.literal("Total bytes used: ")?;
    let total_bytes = line.number("a size in bytes")?;
    lines.skip_blank();
    lines.require("Allocations sorted by size:")?.literal("Allocations sorted by size:")?;
    lines.skip_blank();
    lines.require("cumulative_size; ")?.literal("cumulative_size; ")?;
    lines.require("----")?.literal("----")?;
    let mut allocations = Vec::new();
    while let Some(mut line) = lines.next_if(|line| line.starts_with(' ') && line.contains("; ")) {
        allocations.push(AllocationRow {
            cumulative_size: line.until(";")?.trim(),
            rest_size: line.until(";")?.trim(),
            allocation: line.rest.trim(),
        });
    }
    // "The rest ..." stands here when allocations are left out.
    while lines.next_if(|line| line.trim_start().starts_with("The rest ")).is_some() {}
    lines.skip_blank();
    const WITH_VALUES: &str = "Allocations sorted by size with their values:";
    lines.require(WITH_VALUES)?.literal(WITH_VALUES)?;
    lines.skip_blank();
    let mut tables = Vec::new();
    while let Some(line) = lines.next_if(|line| line.starts_with("allocation ")) {
        lines.skip_blank();
        let has_table = lines.peek().is_some_and(|line| line.trim_start().starts_with(COLUMNS));
        tables.push(match has_table {
            true => table(Some(line.rest), lines)?,
            false => Table { allocation: Some(line.rest), ..Table::default() },
        });
        lines.skip_blank();
    }
    Ok(MemoryUsageReport::ByAllocation { total_bytes, allocations, tables })
}

/// The heading, a rule, rows, and perhaps how many values are left out.
fn table<'t>(allocation: Option<&'t str>, lines: &mut Lines<'t>) -> Read<Table<'t>> {
    lines.require("the heading of a table")?;
    let rule = lines.require("----")?;
    if !rule.rest.trim_start().starts_with("----") {
        return rule.fail("----");
    }
    let mut table = Table { allocation, ..Table::default() };
    while let Some(line) = lines.next_if(|line| line.contains(';') && line.starts_with([' ', '\t']))
    {
        table.rows.push(row(line)?);
    }
    if let Some(mut line) = lines.next_if(|line| line.trim_start().starts_with("The rest ")) {
        line.rest = line.rest.trim_start();
        line.literal("The rest ")?;
        table.omitted = line.number("how many values are left out")?;
    }
    Ok(table)
}

/// `   64.00MiB(100%);   64.00MiB;            0;                2; 2×f32[4096,4096]`
fn row(mut line: Scan<'_>) -> Read<Row<'_>> {
    let cumulative_size = line.until(";")?.trim();
    let size = line.until(";")?.trim();
    line.rest = line.rest.trim_start();
    let offset_bytes = line.number("an offset in bytes")?;
    line.literal(";")?;
    line.rest = line.rest.trim_start();
    let values = line.number("a number of values")?;
    line.literal(";")?;
    Ok(Row { cumulative_size, size, offset_bytes, values, shapes: line.rest.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_form() {
        let text = "\
Memory Space: default (color=0)
Total bytes: 209948160 (200.22MiB)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
   64.00MiB(100%);   64.00MiB;            0;                2; 2\u{d7}f32[4096,4096]
   64.00MiB(-nan%);         0B;          512;                1; token[]
  The rest 36 values are less than 5% of the total size and not shown.

  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------

Memory Space: vmem (color=1)
Total bytes: 0 (0B)
";
        let report = parse(text).unwrap();
        assert_eq!(report.total_bytes(0), Some(209948160));
        assert_eq!(report.total_bytes(1), Some(0));
        assert_eq!(report.total_bytes(2), None);
        let MemoryUsageReport::BySpace(spaces) = report else { unreachable!() };
        assert_eq!(spaces[0].tables.len(), 2);
        assert_eq!(spaces[0].tables[0].rows[1].offset_bytes, 512);
        assert_eq!(spaces[0].tables[0].omitted, 36);
        assert_eq!(spaces[1].label, "vmem");
    }

    #[test]
    fn the_older_form() {
        let text = "\
Total bytes used: 17657091592 (16.44GiB)

Allocations sorted by size:

cumulative_size; total_size - cumulative_size; allocation
------------------------------------------------------------------------------
  16.00GiB( 97%);  455.00MiB; allocation 16: size 16.00GiB, preallocated-temp:
  16.07GiB( 98%);  384.00MiB; allocation 18: size 71.00MiB, color 1, preallocated-temp:


Allocations sorted by size with their values:
allocation 16: size 16.00GiB, preallocated-temp:

\tcumulative_size;       size;       offset; used_by_n_values; shapes_list
\t------------------------------------------------------------
\t       4B( 50%);         4B;            0;                4; 4\u{d7}u32[]

allocation 15: size 512B, thread-local:
";
        let report = parse(text).unwrap();
        let MemoryUsageReport::ByAllocation { total_bytes, allocations, tables } = report else {
            unreachable!()
        };
        assert_eq!(total_bytes, 17657091592);
        assert_eq!(allocations.len(), 2);
        assert_eq!(tables.len(), 2);
        assert_eq!((tables[0].rows.len(), tables[1].rows.len()), (1, 0));
    }
}
