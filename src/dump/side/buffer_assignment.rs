//! `-buffer-assignment.txt` and `-buffer-assignment-values.txt` in; allocations and values out.
//!
//! The first holds allocations with their values. Up to jaxlib 0.9 and libtpu 0.0.38 it goes on with
//! the total, positions and uses of every value and the live ranges; later these stand in files of
//! their own.

use super::live_range::{self, LiveRanges};
use super::scan::{Lines, Read, Scan};
use crate::hlo::ShapeIndex;

/// Everything that XLA wrote of its buffer assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferAssignment<'t> {
    /// The allocations; an allocation's position is its number.
    pub allocations: Vec<AllocationRecord<'t>>,
    /// Values with positions and uses, where they stand in the same file.
    pub values: Option<UsedValues<'t>>,
    /// Live ranges, where they stand in the same file.
    pub live_ranges: Option<LiveRanges<'t>>,
}

/// An allocation as XLA printed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationRecord<'t> {
    /// Its number.
    pub number: u64,
    /// Its size.
    pub size_bytes: u64,
    /// The memory space (XLA's colour).
    pub memory_space: i64,
    /// What stands behind `page`: libtpu 0.0.46 and later.
    pub page: Option<i64>,
    /// The entry parameter that it holds.
    pub parameter: Option<ParameterRecord<'t>>,
    /// The shape of the result, where the root's top-level value lives in it.
    pub output_shape: Option<&'t str>,
    /// Whether it holds a constant.
    pub is_constant: bool,
    /// Whether it belongs to a computation that is applied to elements.
    pub is_thread_local: bool,
    /// Whether it may hold part of the result.
    pub maybe_live_out: bool,
    /// Whether it is the heap of a memory space.
    pub is_preallocated_temp: bool,
    /// The values that it holds.
    pub values: Vec<ValueRecord<'t>>,
    /// The line of the file.
    pub line: u64,
}

/// An entry parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterRecord<'t> {
    /// Its number.
    pub number: i64,
    /// Where in its shape.
    pub index: ShapeIndex,
    /// The shape.
    pub shape: &'t str,
}

/// How XLA names a value: `<77 fusion.1{0} (phi) @0>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueName<'t> {
    /// XLA's own number.
    pub id: u64,
    /// The instruction that defines it.
    pub instruction: &'t str,
    /// Where in the instruction's shape; XLA prints it for tuples only.
    pub index: ShapeIndex,
    /// Whether several values meet in it.
    pub is_phi: bool,
    /// The memory space (XLA's colour).
    pub memory_space: i64,
}

/// A value in an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRecord<'t> {
    /// Which value.
    pub name: ValueName<'t>,
    /// Its size, padding included.
    pub size_bytes: u64,
    /// Where in the allocation.
    pub offset_bytes: u64,
    /// Its shape with layout.
    pub shape: &'t str,
    /// The line of the file.
    pub line: u64,
}

/// All values with their positions and uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedValues<'t> {
    /// Sum of all allocations of all memory spaces.
    pub total_bytes: u64,
    /// The values.
    pub values: Vec<UsedValue<'t>>,
}

/// A value with its positions and uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedValue<'t> {
    /// Which value.
    pub name: ValueName<'t>,
    /// Where it can be seen.
    pub positions: Vec<(&'t str, ShapeIndex)>,
    /// Who uses it: instruction, operand number, index inside the operand.
    pub uses: Vec<(&'t str, u64, ShapeIndex)>,
    /// The instruction that defines it, as HLO text; it may span lines.
    pub definition: &'t str,
}

/// Reads `-buffer-assignment.txt`.
///
/// # Errors
/// The first line that is not as XLA writes it.
pub fn parse(text: &str) -> Read<BufferAssignment<'_>> {
    let mut lines = Lines::new(text);
    let mut read = BufferAssignment::default();
    lines.skip_blank();
    lines.require("BufferAssignment:")?.literal("BufferAssignment:")?;
    while let Some(line) = lines.next_if(|line| line.starts_with("allocation ")) {
        let mut record = allocation(line)?;
        while let Some(line) = lines.next_if(|line| line.starts_with(" value: ")) {
            record.values.push(value(line)?);
        }
        read.allocations.push(record);
    }
    lines.skip_blank();
    if lines.peek().is_some_and(|line| line.starts_with("Total bytes used: ")) {
        read.values = Some(used_values(&mut lines)?);
        lines.skip_blank();
    }
    if lines.peek().is_some_and(|line| line.starts_with("HloLiveRange")) {
        read.live_ranges = Some(live_range::read(&mut lines)?);
        lines.skip_blank();
    }
    match lines.next() {
        Some(line) => line.fail("an allocation or a value"),
        None => Ok(read),
    }
}

/// Reads `-buffer-assignment-values.txt`.
///
/// # Errors
/// The first line that is not as XLA writes it.
pub fn parse_values(text: &str) -> Read<UsedValues<'_>> {
    let mut lines = Lines::new(text);
    lines.skip_blank();
    let values = used_values(&mut lines)?;
    lines.skip_blank();
    match lines.next() {
        Some(line) => line.fail("a value"),
        None => Ok(values),
    }
}

/// `allocation 3: size 16777216, color 1, page 0, parameter 2, shape |..| at ShapeIndex {}, ..:`
fn allocation(mut line: Scan<'_>) -> Read<AllocationRecord<'_>> {
    line.literal("allocation ")?;
    let number = line.number("the number of an allocation")?;
    line.literal(": size ")?;
    let mut record = AllocationRecord {
        number,
        size_bytes: line.number("a size in bytes")?,
        memory_space: 0,
        page: None,
        parameter: None,
        output_shape: None,
        is_constant: false,
        is_thread_local: false,
        maybe_live_out: false,
        is_preallocated_temp: false,
        values: Vec::new(),
        line: line.line(),
    };
    while line.maybe(", ") {
        if line.maybe("color ") {
            record.memory_space = line.number("a memory space")?;
        } else if line.maybe("page ") {
            record.page = Some(line.number("a page")?);
        } else if line.maybe("parameter ") {
            let number = line.number("the number of a parameter")?;
            line.literal(", shape |")?;
            let shape = line.until("| at ShapeIndex ")?;
            record.parameter = Some(ParameterRecord { number, index: line.index()?, shape });
        } else if line.maybe("output shape is |") {
            record.output_shape = Some(line.until("|")?);
        } else if line.maybe("constant") {
            record.is_constant = true;
        } else if line.maybe("thread-local") {
            record.is_thread_local = true;
        } else if line.maybe("maybe-live-out") {
            record.maybe_live_out = true;
        } else if line.maybe("preallocated-temp") {
            record.is_preallocated_temp = true;
        } else {
            return line.fail("the kind of an allocation");
        }
    }
    line.literal(":")?;
    line.end()?;
    Ok(record)
}

/// ` value: <77 fusion.1{0} (phi) @0> (size=67108864,offset=0): f32[4096,4096]{1,0:T(8,128)}`
fn value(mut line: Scan<'_>) -> Read<ValueRecord<'_>> {
    line.literal(" value: ")?;
    let name = value_name(&mut line)?;
    line.literal(" (size=")?;
    let size_bytes = line.number("a size in bytes")?;
    line.literal(",offset=")?;
    let offset_bytes = line.number("an offset in bytes")?;
    line.literal("): ")?;
    if line.rest.is_empty() {
        return line.fail("a shape");
    }
    Ok(ValueRecord { name, size_bytes, offset_bytes, shape: line.rest, line: line.line() })
}

fn value_name<'t>(line: &mut Scan<'t>) -> Read<ValueName<'t>> {
    line.literal("<")?;
    let id = line.number("the number of a value")?;
    line.literal(" ")?;
    let instruction = line.name()?;
    let index = optional_index(line)?;
    let is_phi = line.maybe(" (phi)");
    line.literal(" @")?;
    let memory_space = line.number("a memory space")?;
    line.literal(">")?;
    Ok(ValueName { id, instruction, index, is_phi, memory_space })
}

fn optional_index(line: &mut Scan<'_>) -> Read<ShapeIndex> {
    if line.rest.starts_with('{') { line.index() } else { Ok(ShapeIndex::new()) }
}

fn used_values<'t>(lines: &mut Lines<'t>) -> Read<UsedValues<'t>> {
    let mut line = lines.require("Total bytes used: ")?;
    line.literal("Total bytes used: ")?;
    let total_bytes = line.number("a size in bytes")?;
    lines.skip_blank();
    lines.require("Used values:")?.literal("Used values:")?;
    let mut values = Vec::new();
    while let Some(line) = lines.next_if(|line| line.starts_with('<')) {
        values.push(used_value(line, lines)?);
    }
    Ok(UsedValues { total_bytes, values })
}

fn used_value<'t>(mut line: Scan<'t>, lines: &mut Lines<'t>) -> Read<UsedValue<'t>> {
    let name = value_name(&mut line)?;
    line.end()?;
    let mut used = UsedValue { name, positions: Vec::new(), uses: Vec::new(), definition: "" };
    lines.require(" positions:")?.literal(" positions:")?;
    while let Some(mut line) = lines.next_if(|line| line.starts_with("  ")) {
        line.literal("  ")?;
        let instruction = line.name()?;
        line.maybe(" ");
        used.positions.push((instruction, optional_index(&mut line)?));
        line.end()?;
    }
    lines.require(" uses:")?.literal(" uses:")?;
    while let Some(mut line) = lines.next_if(|line| line.starts_with("  ")) {
        line.literal("  ")?;
        if line.maybe("(none)") {
            continue;
        }
        let instruction = line.name()?;
        line.literal(", operand ")?;
        let operand = line.number("the number of an operand")?;
        line.maybe(" ");
        used.uses.push((instruction, operand, optional_index(&mut line)?));
        line.end()?;
    }
    used.definition = definition(lines)?;
    Ok(used)
}

/// ` from instruction: %x = ...`: a kernel's metadata may hold line breaks, so it reaches to the next
/// value or section.
fn definition<'t>(lines: &mut Lines<'t>) -> Read<&'t str> {
    const FROM: &str = " from instruction: ";
    let start = lines.rest();
    lines.require(FROM)?.literal(FROM)?;
    while lines
        .next_if(|line| !line.is_empty() && !line.starts_with('<') && !line.starts_with("HloLive"))
        .is_some()
    {}
    let length = start.len() - lines.rest().len();
    Ok(start.get(FROM.len()..length).unwrap_or("").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWER: &str = "\
BufferAssignment:
allocation 0: size 512, page 0, thread-local:
 value: <2 reduce_sum.5 @0> (size=512,offset=0): f32[]{:T(128)}
allocation 1: size 64, color 1, page 0, parameter 1, shape |(f32[4,4], /*index=5*/s32[])| at ShapeIndex {1,0}, maybe-live-out:
 value: <77 while.1{1} (phi) @1> (size=64,offset=0): f32[4,4]{1,0:T(8,128)S(1)}
 value: <116 copy-start.1{0} @1> (size=64,offset=16): f32[4,4]{1,0}
allocation 2: size 512, output shape is |(f32[4,4], f32[])|, maybe-live-out:
allocation 3: size 4, constant:
allocation 4: size 99, color 5, preallocated-temp:
";

    #[test]
    fn allocations_of_all_kinds() {
        let read = parse(NEWER).unwrap();
        assert_eq!(read.allocations.len(), 5);
        let [local, parameter, output, constant, temp] = &read.allocations[..] else {
            unreachable!()
        };
        assert!(local.is_thread_local && local.page == Some(0));
        let of = parameter.parameter.as_ref().unwrap();
        assert_eq!((of.number, of.index.as_slice()), (1, &[1, 0][..]));
        assert_eq!(of.shape, "(f32[4,4], /*index=5*/s32[])");
        assert!(parameter.maybe_live_out && parameter.memory_space == 1);
        assert!(parameter.values[0].name.is_phi);
        assert_eq!(parameter.values[1].offset_bytes, 16);
        assert_eq!(parameter.values[1].shape, "f32[4,4]{1,0}");
        assert_eq!(output.output_shape, Some("(f32[4,4], f32[])"));
        assert!(constant.is_constant && temp.is_preallocated_temp);
        assert_eq!((temp.memory_space, temp.size_bytes), (5, 99));
    }

    #[test]
    fn older_files_go_on_with_values_and_live_ranges() {
        let text = format!(
            "{NEWER}\nTotal bytes used: 1191 (1.2KiB)\n\nUsed values:\n<2 a.b @0>\n positions:\n  \
             a.b\n  c {{0}}\n uses:\n  c, operand 1\n  d, operand 0 {{1}}\n from instruction: %a.b \
             = f32[] custom-call(), metadata={{\n}}\n<3 e (phi) @0>\n positions:\n  e\n uses:\n  \
             (none)\n from instruction: %e = x\n\n\nHloLiveRange (max 1):\n  \
             InstructionSequence:\n    0:a\n  BufferLiveRange:\n    a{{}}:0-1\n  Live ranges at 0 \
             (peak):\n    a: 4 bytes\n"
        );
        let read = parse(&text).unwrap();
        let values = read.values.unwrap();
        assert_eq!(values.total_bytes, 1191);
        assert_eq!(values.values.len(), 2);
        assert_eq!(values.values[0].positions.len(), 2);
        assert_eq!(values.values[0].uses[1].2.as_slice(), [1]);
        assert_eq!(values.values[0].definition, "%a.b = f32[] custom-call(), metadata={\n}");
        assert!(values.values[1].uses.is_empty());
        assert_eq!(read.live_ranges.unwrap().intervals.len(), 1);
    }

    #[test]
    fn errors_say_where() {
        let cases = [
            ("", 1),
            ("x", 1),
            ("BufferAssignment:\nallocation 0: size 1, odd:\n", 2),
            ("BufferAssignment:\nallocation 0: size 1:\n value: <1 a @0> (size=1,off", 3),
            ("BufferAssignment:\nallocation 0: size 99999999999999999999:\n", 2),
        ];
        for (text, line) in cases {
            assert_eq!(parse(text).unwrap_err().line, line, "{text}");
        }
    }
}
