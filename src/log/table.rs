//! Tables of the largest allocations. A row is known by its keys, wherever they stand in a line, so
//! that prefixes of logs and escapes of Markdown do no harm.

use super::Size;
use super::line::without_prefix;
use schemars::JsonSchema;
use serde::Serialize;

/// One allocation of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// Its size, padding included.
    pub size: Option<Size>,
    /// Its size without padding.
    pub unpadded: Option<Size>,
    /// What padding adds, where it does.
    pub padding: Option<Size>,
    /// How many times it grows by padding.
    pub expansion: Option<String>,
    /// The operation in the user's program.
    pub op_name: Option<String>,
    /// The user's file and line, `models.py:97`.
    pub source: Option<String>,
    /// The shape with its layout.
    pub shape: Option<String>,
    /// The instruction that defines it, without `%`.
    pub instruction: Option<String>,
    /// The compiler's label: the instruction with its operands.
    pub label: Option<String>,
    /// What part of a kernel it is: a window, a scratch operand.
    pub tag: Option<String>,
    /// `HLO temp`, `scoped`, `reserved`.
    pub allocation_type: Option<String>,
}

/// Rows of one table; compilers print twenty at most.
const MAX_ROWS: usize = 256;

/// Lines without a key that end a table.
const MAX_STRANGE_LINES: usize = 12;

/// Longest text that is kept of a field.
const MAX_FIELD: usize = 4096;

/// The rows behind the heading of a table.
pub fn rows(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut strange = 0;
    for line in lines(text).skip(1) {
        let line = without_prefix(line).trim();
        if line.contains("Largest program allocations") || strange > MAX_STRANGE_LINES {
            break;
        }
        if line.contains("=====") || line.is_empty() {
            continue;
        }
        if is_start(line) {
            if rows.len() == MAX_ROWS {
                break;
            }
            rows.push(Row::default());
        }
        let known = rows.last_mut().is_some_and(|row| field(row, line));
        strange = if known { 0 } else { strange + 1 };
    }
    rows.retain(|row| *row != Row::default());
    rows
}

/// The rows behind `Peak buffers:`, the table of an executable that ran out of memory on a GPU. They
/// start with `Buffer 1:`.
pub fn peak_buffers(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut strange = 0;
    for line in lines(text).skip(1) {
        let line = without_prefix(line).trim();
        if strange > MAX_STRANGE_LINES || rows.len() == MAX_ROWS {
            break;
        }
        if line.contains("=====") || line.is_empty() {
            continue;
        }
        if line.starts_with("Buffer ") && line.ends_with(':') {
            rows.push(Row::default());
            strange = 0;
            continue;
        }
        let known = match (rows.last_mut(), line.strip_prefix("XLA Label: ")) {
            // It is the opcode alone.
            (Some(row), Some(opcode)) => {
                row.label = Some(clipped(opcode));
                true
            }
            (Some(row), None) => {
                let is_parameter = line.starts_with("Entry Parameter Subshape:");
                row.tag = row.tag.take().or(is_parameter.then(|| "parameter".to_owned()));
                field(row, &line.replace("Entry Parameter Subshape:", "Shape:"))
            }
            (None, _) => false,
        };
        strange = if known { 0 } else { strange + 1 };
    }
    rows.retain(|row| *row != Row::default());
    rows
}

/// Lines of a text; the two characters `\n` of an escaped text end a line, too.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.split("\\n"))
}

/// Whether a line is the first of a row: `1. Size: 8.00G`, or another key where the size is missing.
fn is_start(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0
        && line.get(digits..).is_some_and(|rest| rest.starts_with(". ") || rest.starts_with("\\. "))
}

fn field(row: &mut Row, line: &str) -> bool {
    let value = |key: &str| {
        let start = line.find(key)? + key.len();
        line.get(start..).map(|rest| clipped(rest.trim()))
    };
    if let Some(text) = value("Unpadded size:") {
        row.unpadded = Size::parse(&text);
    } else if let Some(text) = value("Extra memory due to padding:") {
        row.padding = Size::at_start(&text).map(|(size, _)| size);
        row.expansion = super::line::between(&text, "(", " expansion").map(str::to_owned);
    } else if let Some(text) = value("Operator:") {
        row.op_name = quoted(&text, "op_name=\"");
        row.source = source(&text);
    } else if let Some(text) = value("XLA label:") {
        row.instruction = text.split(" = ").next().map(instruction_name);
        row.label = Some(text);
    } else if let Some(text) = value("Allocation type:") {
        row.allocation_type = Some(text);
    } else if let Some(text) = value("Tag:") {
        row.tag = Some(text);
    } else if let Some(text) = value("Shape:") {
        row.shape = Some(text);
    } else if let Some(text) = value("Size:") {
        row.size = Size::parse(&text);
    } else {
        return false;
    }
    true
}

/// `%fusion.3` and `register allocator spill slots in HLO :: fusion.3`: `fusion.3`.
fn instruction_name(label: &str) -> String {
    let name = label.rsplit(":: ").next().unwrap_or(label);
    name.trim().trim_start_matches('%').to_owned()
}

fn clipped(text: &str) -> String {
    let mut end = text.len().min(MAX_FIELD);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// The text behind a key up to a quotation mark that is not escaped.
pub fn quoted(text: &str, key: &str) -> Option<String> {
    let rest = text.get(text.find(key)? + key.len()..)?;
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let found = &rest[..end.unwrap_or(rest.len())];
    (!found.is_empty()).then(|| clipped(found))
}

/// `models.py:97`, of `source_file="models.py" source_line=97`.
pub fn source(text: &str) -> Option<String> {
    let file = quoted(text, "source_file=\"")?;
    match super::line::number_after(text, "source_line=") {
        Some(line) => Some(format!("{file}:{line}")),
        None => Some(file),
    }
}

#[cfg(test)]
mod tests {
    use super::rows;

    /// Own wording of a table, with what logs and issue trackers do to one.
    #[test]
    fn rows_survive_prefixes_escapes_and_missing_fields() {
        let text = "\
E0101 10:00:00.000001    77 base.cc:1]   Largest program allocations in hbm:
E0101 10:00:00.000002    77 base.cc:1]
E0101 10:00:00.000003    77 base.cc:1]   1\\. Size: 3.00G
E0101 10:00:00.000004    77 base.cc:1]      Operator: op_name=\"jit(f)/a\\\"b\" source_file=\"m.py\" source_line=12
E0101 10:00:00.000005    77 base.cc:1]      Shape: f32[9,3]{1,0:T(8,128)}
E0101 10:00:00.000006    77 base.cc:1]      Unpadded size: 72.00M
E0101 10:00:00.000007    77 base.cc:1]      Extra memory due to padding: 2.93G (42.7x expansion)
E0101 10:00:00.000008    77 base.cc:1]      XLA label: %copy.2 = copy(a.1), ...(+4)
  ==========================
  2. XLA label: register allocator spill slots in HLO :: kernel.1
     Allocation type: scoped
trailing text";
        let rows = rows(text);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].size.as_ref().map(|s| s.bytes), Some(3 << 30));
        assert_eq!(rows[0].op_name.as_deref(), Some("jit(f)/a\\\"b"));
        assert_eq!(rows[0].source.as_deref(), Some("m.py:12"));
        assert_eq!(rows[0].expansion.as_deref(), Some("42.7x"));
        assert_eq!(rows[0].instruction.as_deref(), Some("copy.2"));
        assert_eq!(rows[1].instruction.as_deref(), Some("kernel.1"));
        assert_eq!(rows[1].size, None);
    }
}
