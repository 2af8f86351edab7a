//! How much a figure may grow or differ: `2%` of what it was, or `256MiB`.

use super::bytes::parse_bytes;
use std::fmt;
use std::str::FromStr;

/// What a figure may grow or differ by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// Percent of what it was.
    Percent(f64),
    /// Bytes.
    Bytes(u64),
}

impl Allowance {
    /// The bytes it allows for a figure; the largest number where they do not fit 64 bits.
    pub fn of(self, figure_bytes: u64) -> u64 {
        match self {
            Allowance::Percent(percent) => (figure_bytes as f64 * percent / 100.0) as u64,
            Allowance::Bytes(bytes) => bytes,
        }
    }
}

impl FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowance, String> {
        let Some(number) = text.trim().strip_suffix('%') else {
            return parse_bytes(text).map(Allowance::Bytes);
        };
        match number.trim_end().parse::<f64>() {
            Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(Allowance::Percent(percent)),
            _ => Err(format!("'{text}' is no share: write one like 2%, or a size like 256MiB")),
        }
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowance::Percent(percent) => write!(f, "{percent}%"),
            Allowance::Bytes(bytes) => f.write_str(&super::bytes(*bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Allowance;

    #[test]
    fn shares_and_sizes() {
        let cases = [
            ("2%", 1000, 20),
            ("0.5 %", 1000, 5),
            ("0%", 1000, 0),
            ("256", 1000, 256),
            ("1KiB", 0, 1024),
            ("200%", u64::MAX, u64::MAX),
        ];
        for (text, figure, allowed) in cases {
            assert_eq!(text.parse::<Allowance>().unwrap().of(figure), allowed, "{text}");
        }
        for text in ["", "%", "-1%", "nan%", "inf%", "much"] {
            assert!(text.parse::<Allowance>().is_err(), "{text}");
        }
    }
}
