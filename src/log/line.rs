//! Lines, and words in them. Texts may hold bytes that are no UTF-8; what is looked at is small.

use super::Size;
use memchr::{memchr, memmem};
use std::borrow::Cow;

/// How far a message is read on from its words: instruction texts are long, but not longer.
pub const REACH: usize = 64 << 10;

/// The text from a place on, as far as a message may reach.
pub fn ahead(log: &[u8], offset: usize, reach: usize) -> Cow<'_, str> {
    let rest = log.get(offset..).unwrap_or_default();
    String::from_utf8_lossy(&rest[..rest.len().min(reach)])
}

/// The text before a place, as far as a message may reach.
pub fn behind(log: &[u8], offset: usize, reach: usize) -> Cow<'_, str> {
    let before = log.get(..offset).unwrap_or(log);
    String::from_utf8_lossy(&before[before.len().saturating_sub(reach)..])
}

/// The line at a place, from its start.
pub fn line_at(log: &[u8], offset: usize) -> Cow<'_, str> {
    let start = memchr::memrchr(b'\n', log.get(..offset).unwrap_or(log)).map_or(0, |at| at + 1);
    let rest = log.get(start..).unwrap_or_default();
    let end = memchr(b'\n', rest).unwrap_or(rest.len()).min(REACH);
    String::from_utf8_lossy(&rest[..end])
}

/// A line without the prefix of the log: `E1129 19:57:48.1 26578 compiler.cc:12] text`.
pub fn without_prefix(line: &str) -> &str {
    const LONGEST: usize = 160;
    let head = line.as_bytes();
    let is_prefix = matches!(head.first(), Some(b'I' | b'W' | b'E' | b'F'))
        && head.get(1..5).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit));
    if !is_prefix {
        return line;
    }
    let reach = &head[..head.len().min(LONGEST)];
    memmem::find(reach, b"] ").and_then(|at| line.get(at + 2..)).unwrap_or(line)
}

/// Whether a line has the prefix of the compiler's log.
pub fn has_prefix(line: &str) -> bool {
    without_prefix(line).len() < line.len()
}

/// What stands between two marks.
pub fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let start = text.find(before)? + before.len();
    let rest = text.get(start..)?;
    rest.get(..rest.find(after)?)
}

/// The size behind a mark.
pub fn size_after(text: &str, mark: &str) -> Option<Size> {
    let start = text.find(mark)? + mark.len();
    Size::at_start(text.get(start..)?.trim_start_matches(' ')).map(|(size, _)| size)
}

/// The whole number behind a mark.
pub fn number_after(text: &str, mark: &str) -> Option<u64> {
    let rest = text.get(text.find(mark)? + mark.len()..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// The code in front of a message: `E1000: CompileTimeHbmOom: `.
pub fn code_before(text: &str) -> Option<String> {
    const NEAR: usize = 96;
    let mut start = text.len().saturating_sub(NEAR);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let near = text.get(start..)?;
    near.match_indices('E').map(|(at, _)| at).rev().find_map(|at| {
        let code = near.get(at..at + 5)?;
        let is_code = code[1..].bytes().all(|byte| byte.is_ascii_digit())
            && near.get(at + 5..)?.starts_with(':')
            && !near[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        is_code.then(|| code.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::{code_before, without_prefix};

    #[test]
    fn prefixes() {
        let cases = [
            (
                "E1129 19:57:48.167112   26578 2a886c8_base.cc:2612]     HLO temp  1K",
                "    HLO temp  1K",
            ),
            ("E1129 no bracket", "E1129 no bracket"),
            ("Extra [1] text", "Extra [1] text"),
            ("", ""),
        ];
        for (line, expected) in cases {
            assert_eq!(without_prefix(line), expected);
        }
    }

    #[test]
    fn codes() {
        let cases = [
            ("RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: ", Some("E1000")),
            ("E1129 19:57:48.1 26578 compiler.cc:12] ", None),
            ("E1001: CompileTimeScopedVmemOom:\n", Some("E1001")),
            ("CODE1234: ", None),
        ];
        for (text, expected) in cases {
            assert_eq!(code_before(text).as_deref(), expected, "{text}");
        }
    }
}
