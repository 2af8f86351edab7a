//! Two lines of a snapshot in; whether they say the same within a tolerance out.

use crate::config::{Allowance, parse_bytes};

/// Whether two lines differ in sizes only, and by no more than the tolerance allows. Sizes are whole
/// numbers of bytes at the beginning of a line, and figures with a unit, decimals or a percent sign.
pub fn is_within(old: &str, new: &str, tolerance: Allowance) -> bool {
    let (old, new) = (words(old), words(new));
    old.len() == new.len()
        && old.iter().zip(&new).all(|pair| match pair {
            (Word::Text(old), Word::Text(new)) => old == new,
            (
                Word::Size { bytes: old, precision_bytes: a, rest: old_rest },
                Word::Size { bytes: new, precision_bytes: b, rest: new_rest },
            ) => {
                old_rest == new_rest
                    && old.abs_diff(*new) <= tolerance.of(*old).saturating_add(*a.max(b))
            }
            // A share follows from sizes that are compared themselves.
            (Word::Share(old), Word::Share(new)) => old == new,
            _ => false,
        })
}

/// What two lines share that differ in sizes only.
pub fn key(line: &str) -> String {
    let word = |word: &Word<'_>| match word {
        Word::Size { rest, .. } => format!("# {rest}"),
        Word::Share(rest) => format!("% {rest}"),
        Word::Text(text) => (*text).to_owned(),
    };
    words(line).iter().map(word).collect::<Vec<_>>().join(" ")
}

#[derive(Debug, PartialEq)]
enum Word<'t> {
    /// A size, how far it may be from what was rounded, and what stands behind it.
    Size { bytes: u64, precision_bytes: u64, rest: &'t str },
    /// A percentage: what stands behind it.
    Share(&'t str),
    /// Anything else.
    Text(&'t str),
}

fn words(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut parts = line.split_whitespace().peekable();
    let mut is_head = line.starts_with(' ');
    while let Some(part) = parts.next() {
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        is_head &= is_number || part == "-";
        let whole = part.parse().ok().filter(|_| is_head && is_number);
        if let Some(bytes) = whole {
            words.push(Word::Size { bytes, precision_bytes: 0, rest: "" });
            continue;
        }
        if let Some((number, rest)) = part.split_once('%')
            && number.parse::<f64>().is_ok()
        {
            words.push(Word::Share(rest));
            continue;
        }
        let unit = parts.peek().and_then(|next| size(part, next));
        match unit {
            Some(size) => {
                words.push(size);
                parts.next();
            }
            None => words.push(Word::Text(part)),
        }
    }
    words
}

/// `16.00` and `GiB,` as a size.
fn size<'t>(number: &str, next: &'t str) -> Option<Word<'t>> {
    let end = next.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(next.len());
    let (unit, rest) = next.split_at(end);
    let is_unit = ["B", "KiB", "MiB", "GiB"].contains(&unit);
    let bytes = is_unit.then(|| parse_bytes(&format!("{number}{unit}")).ok()).flatten()?;
    let precision_bytes = parse_bytes(&format!("0.01{unit}")).ok()?;
    Some(Word::Size { bytes, precision_bytes, rest })
}

#[cfg(test)]
mod tests {
    use super::{Allowance, is_within};

    #[test]
    fn sizes_may_differ_and_nothing_else() {
        let cases = [
            ("  1000  900  total", "  1005  900  total", true),
            ("  1000  900  total", "  1005  960  total", false),
            ("  1000  -  2 x f32[8]", "  1000  -  3 x f32[8]", false),
            ("  1000  f32[1000]", "  1000  f32[1001]", false),
            (
                "  8 warn takes 16.00 GiB, 102% of HBM",
                "  8 warn takes 16.05 GiB, 103% of HBM",
                true,
            ),
            (
                "  8 warn takes 16.00 GiB, 102% of HBM",
                "  8 warn takes 17.05 GiB, 103% of HBM",
                false,
            ),
            ("  8 warn of 24 arrays", "  8 warn of 25 arrays", false),
            ("  1023.00 MiB in all", "  1.00 GiB in all", true),
            ("module f", "module g", false),
            ("signature 1000", "signature 1001", false),
        ];
        for (old, new, expected) in cases {
            assert_eq!(is_within(old, new, Allowance::Percent(1.0)), expected, "{old} / {new}");
        }
    }
}
