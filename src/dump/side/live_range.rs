//! `-live-range.txt` in; the flattened schedule, live ranges and XLA's live-range peak out.

use super::scan::{Lines, Read, Scan};
use crate::hlo::ShapeIndex;
use crate::memory::LiveRange;

/// The live ranges as XLA printed them. Names are those of instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveRanges<'t> {
    /// The program point at the end of the program.
    pub end: u32,
    /// The schedule: an instruction's position is its program point.
    pub sequence: Vec<&'t str>,
    /// The live ranges.
    pub intervals: Vec<Interval<'t>>,
    /// The moment that XLA calls the peak.
    pub peak: Option<Peak<'t>>,
}

/// When a value is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval<'t> {
    /// The instruction that defines the value.
    pub instruction: &'t str,
    /// Where in its shape.
    pub index: ShapeIndex,
    /// First and last program point.
    pub range: LiveRange,
    /// The line of the file.
    pub line: u64,
}

/// XLA's live-range peak: over all memory spaces, sizes without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak<'t> {
    /// The program point.
    pub point: u32,
    /// The values alive there.
    pub values: Vec<PeakValue<'t>>,
    /// Sum of all, as the file says it where it has the tree of stack traces.
    pub total_bytes: Option<u64>,
    /// The tree of stack traces, as written; empty in older files.
    pub stack_traces: &'t str,
}

/// A value alive at the peak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeakValue<'t> {
    /// The instruction that defines the value.
    pub instruction: &'t str,
    /// Where in its shape; older files do not say.
    pub index: Option<ShapeIndex>,
    /// Its size without padding.
    pub size_bytes: u64,
    /// Sum up to this line; older files do not say.
    pub cumulative_bytes: Option<u64>,
}

/// Reads `-live-range.txt`.
///
/// # Errors
/// The first line that is not as XLA writes it.
pub fn parse(text: &str) -> Read<LiveRanges<'_>> {
    let mut lines = Lines::new(text);
    lines.skip_blank();
    let read = read(&mut lines)?;
    lines.skip_blank();
    match lines.next() {
        Some(line) => line.fail("the end of the live ranges"),
        None => Ok(read),
    }
}

/// Reads the section of live ranges.
pub(super) fn read<'t>(lines: &mut Lines<'t>) -> Read<LiveRanges<'t>> {
    let mut line = lines.require("HloLiveRange (max ")?;
    line.literal("HloLiveRange (max ")?;
    let mut read = LiveRanges { end: line.number("a program point")?, ..LiveRanges::default() };
    line.literal("):")?;
    lines.require("  InstructionSequence:")?.literal("  InstructionSequence:")?;
    while let Some(line) = lines.next_if(is_item) {
        read.sequence.push(entry(line, read.sequence.len())?);
    }
    lines.require("  BufferLiveRange:")?.literal("  BufferLiveRange:")?;
    while let Some(line) = lines.next_if(is_item) {
        read.intervals.push(interval(line)?);
    }
    if let Some(mut line) = lines.next_if(|line| line.starts_with("  Live ranges at ")) {
        line.literal("  Live ranges at ")?;
        let point = line.number("a program point")?;
        line.literal(" (peak):")?;
        read.peak = Some(peak(point, lines)?);
    }
    Ok(read)
}

fn is_item(line: &str) -> bool {
    line.starts_with("    ")
}

/// `    12:fusion.3`
fn entry(mut line: Scan<'_>, position: usize) -> Read<&str> {
    line.literal("    ")?;
    let expected = line.clone();
    let number: usize = line.number("a program point")?;
    if number != position {
        return expected.fail("program points without a gap");
    }
    line.literal(":")?;
    if line.rest.is_empty() { line.fail("the name of an instruction") } else { Ok(line.rest) }
}

/// `    fusion.3{1}:12-40`
fn interval(mut line: Scan<'_>) -> Read<Interval<'_>> {
    line.literal("    ")?;
    let instruction = line.name()?;
    let index = line.index()?;
    line.literal(":")?;
    let start = line.number("a program point")?;
    line.literal("-")?;
    let end = line.number("a program point")?;
    line.end()?;
    Ok(Interval { instruction, index, range: LiveRange { start, end }, line: line.line() })
}

fn peak<'t>(point: u32, lines: &mut Lines<'t>) -> Read<Peak<'t>> {
    let mut peak = Peak { point, values: Vec::new(), total_bytes: None, stack_traces: "" };
    while let Some(line) = lines.next_if(is_item) {
        peak.values.push(peak_value(line)?);
    }
    if let Some(mut line) = lines.next_if(|line| line.starts_with("  Stack trace breakdown")) {
        line.literal("  Stack trace breakdown for peak usage: ")?;
        let digits: String = line.until(" bytes")?.split(' ').collect();
        peak.total_bytes = digits.parse().ok();
        let start = lines.rest();
        while lines.next_if(is_item).is_some() {}
        peak.stack_traces = start.get(..start.len() - lines.rest().len()).unwrap_or("");
    }
    Ok(peak)
}

/// `    fusion.3{1}: 16 bytes (cumulative: 48 bytes)`, in older files `    fusion.3: 16 bytes`.
fn peak_value(mut line: Scan<'_>) -> Read<PeakValue<'_>> {
    line.literal("    ")?;
    let instruction = line.name()?;
    let index = match line.rest.starts_with('{') {
        true => Some(line.index()?),
        false => None,
    };
    line.literal(": ")?;
    let size_bytes = line.number("a size in bytes")?;
    line.literal(" bytes")?;
    let mut cumulative_bytes = None;
    if line.maybe(" (cumulative: ") {
        cumulative_bytes = Some(line.number("a size in bytes")?);
        line.literal(" bytes)")?;
    }
    line.end()?;
    Ok(PeakValue { instruction, index, size_bytes, cumulative_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
HloLiveRange (max 3):
  InstructionSequence:
    0:x.1
    1:copy-start
    2:tuple.2
  BufferLiveRange:
    x.1{}:0-3
    copy-start{0}:1-2
    tuple.2{1,0}:2-3
  Live ranges at 2 (peak):
    x.1{}: 67108864 bytes (cumulative: 67108864 bytes)
    copy-start{0}: 4 bytes (cumulative: 67108868 bytes)
  Stack trace breakdown for peak usage: 67 108 868 bytes
    main.3 (100.0%, total: 67 108 868 bytes)
      \u{251c}\u{2500}\u{2500} x (100%)
";

    #[test]
    fn all_sections() {
        let read = parse(TEXT).unwrap();
        assert_eq!((read.end, &read.sequence[..]), (3, &["x.1", "copy-start", "tuple.2"][..]));
        assert_eq!(read.intervals[2].index.as_slice(), [1, 0]);
        assert_eq!(read.intervals[1].range, LiveRange { start: 1, end: 2 });
        let peak = read.peak.unwrap();
        assert_eq!((peak.point, peak.values.len()), (2, 2));
        assert_eq!(peak.total_bytes, Some(67_108_868));
        assert_eq!(peak.values[1].cumulative_bytes, Some(67_108_868));
        assert_eq!(peak.stack_traces.lines().count(), 2);
    }

    #[test]
    fn every_cut_of_a_file_is_read_or_an_error() {
        for end in (0..TEXT.len()).filter(|&end| TEXT.is_char_boundary(end)) {
            let _ = parse(&TEXT[..end]);
        }
        let gap = parse("HloLiveRange (max 3):\n  InstructionSequence:\n    1:x").unwrap_err();
        assert_eq!(gap.line, 3);
    }
}
