//! Sizes as the compiler prints them: `512B`, `208.0K`, `16.00M`, `150.44G`, `3.81T`, `14.94GiB`.

use schemars::JsonSchema;
use serde::Serialize;

/// A printed size. What was printed is kept; the bytes are those that it can stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Size {
    /// As it was printed.
    pub text: String,
    /// The bytes that the printed number names.
    pub bytes: u64,
    /// The least bytes that print so.
    pub min_bytes: u64,
    /// The most bytes that print so.
    pub max_bytes: u64,
}

/// Numbers longer than this are no sizes.
const MAX_DIGITS: usize = 24;

impl Size {
    /// A byte count that was printed in full.
    pub fn exact(bytes: u64) -> Size {
        Size { text: bytes.to_string(), bytes, min_bytes: bytes, max_bytes: bytes }
    }

    /// The size at the start of a text, and its length.
    pub fn at_start(text: &str) -> Option<(Size, usize)> {
        let end = text.bytes().take(MAX_DIGITS).take_while(|b| b.is_ascii_digit() || *b == b'.');
        let mut end = end.count();
        // `Exceeded hbm capacity by 642.` cannot happen, but a full stop behind a number can.
        if text.get(..end)?.ends_with('.') {
            end -= 1;
        }
        let number = text.get(..end).filter(|number| !number.is_empty())?;
        let rest = &text[end..];
        let space = usize::from(rest.starts_with(' '));
        let unit = rest.get(space..)?;
        let (unit_bytes, unit_len) = unit_at_start(unit)?;
        // A space belongs to the size only before a whole unit (`14.94 GiB`), not before a word.
        if space > 0 && unit_len < 2 {
            return None;
        }
        let length = end + space + unit_len;
        Some((Size::of(number, unit_bytes, text.get(..length)?)?, length))
    }

    /// The size that a text is.
    pub fn parse(text: &str) -> Option<Size> {
        let text = text.trim();
        Size::at_start(text).filter(|(_, length)| *length == text.len()).map(|(size, _)| size)
    }

    /// A size in units of powers of 1000: `91.20MB`.
    pub fn decimal(text: &str) -> Option<Size> {
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = text.split_at(at.min(MAX_DIGITS));
        let unit_bytes = match unit {
            "B" => 1,
            "KB" | "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            _ => return Size::parse(text),
        };
        Size::of(number, unit_bytes, text)
    }

    fn of(number: &str, unit_bytes: u64, text: &str) -> Option<Size> {
        let value = number.parse::<f64>().ok()? * unit_bytes as f64;
        if !value.is_finite() || value >= u64::MAX as f64 / 2.0 {
            return None;
        }
        let bytes = value.round() as u64;
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        // Half of the last digit, and what the compiler cuts off before it rounds: see `printed`.
        let half = unit_bytes as f64 / 2.0 / 10f64.powi(i32::try_from(decimals).ok()?);
        let (half, cut) = match unit_bytes {
            1 => (0, 0),
            _ => (half.ceil() as u64, unit_bytes / 1024),
        };
        Some(Size {
            text: text.to_owned(),
            bytes,
            min_bytes: bytes.saturating_sub(half),
            max_bytes: bytes.saturating_add(half).saturating_add(cut),
        })
    }

    /// Whether an exact byte count prints like this size.
    pub fn may_be(&self, bytes: u64) -> bool {
        printed(bytes) == self.text || (self.min_bytes..=self.max_bytes).contains(&bytes)
    }
}

fn unit_at_start(text: &str) -> Option<(u64, usize)> {
    let exponent = match text.bytes().next()? {
        b'B' => return Some((1, 1)),
        b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        b'P' => 5,
        _ => return None,
    };
    let length = if text[1..].starts_with("iB") { 3 } else { 1 };
    Some((1 << (10 * exponent), length))
}

/// A byte count as XLA:TPU prints it: whole bytes, K with one decimal, above that two decimals; what
/// is less than a thousandth of the unit is cut off before rounding (measured on memory-usage reports
/// and error texts).
pub fn printed(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    if bytes < 1 << 20 {
        return format!("{:.1}K", bytes as f64 / 1024.0);
    }
    let (mut rest, mut unit) = (bytes, 0);
    while rest >= 1 << 20 && unit < 4 {
        rest /= 1024;
        unit += 1;
    }
    let letter = ["K", "M", "G", "T", "P"][unit];
    format!("{:.2}{letter}", rest as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::{Size, printed};

    #[test]
    fn reads_what_is_printed() {
        let cases = [
            ("512B", 512),
            ("0B", 0),
            ("208.0K", 212_992),
            ("16.00M", 16_777_216),
            ("14.94GiB", 16_041_702_851),
            ("3.81T", 4_189_139_301_827),
            ("1.00 GiB", 1 << 30),
        ];
        for (text, bytes) in cases {
            let size = Size::parse(text);
            assert_eq!(size.map(|size| size.bytes), Some(bytes), "{text}");
        }
        for text in ["", "G", "1.2.3G", "unknown", "1x", "99999999999999999999999T", "12"] {
            assert_eq!(Size::parse(text), None, "{text}");
        }
    }

    /// Programs of testdata and their errors: what the message printed, and what was needed.
    #[test]
    fn prints_and_recognises_as_the_compiler_does() {
        let cases = [
            (17_582_626_304, "16.38G"),
            (19_461_669_376, "18.12G"),
            (673_306_112, "642.11M"),
            (212_992, "208.0K"),
            (111_104, "108.5K"),
            (512, "512B"),
            (16_909_336_576, "15.75G"),
        ];
        for (bytes, text) in cases {
            assert_eq!(printed(bytes), text);
            assert!(Size::parse(text).is_some_and(|size| size.may_be(bytes)), "{text}");
        }
        assert!(!Size::parse("16.38G").is_some_and(|size| size.may_be(16_909_336_576)));
    }
}
