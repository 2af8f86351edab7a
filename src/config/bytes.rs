//! Sizes as people write and read them: `31.25GiB`, `500MiB`, `16909336576`.

/// The bytes that a size names. Units are `B`, `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024) and `KB`,
/// `MB`, `GB`, `TB` (powers of 1000), in any case; the compiler's short `K`, `M`, `G`, `T` are
/// powers of 1024. A bare number is bytes.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        other => return Err(format!("unknown unit '{other}': write a size like 14GiB or 500MiB")),
    };
    let wrong = || format!("'{text}' is not a size: write a size like 14GiB or 500MiB");
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(|| format!("'{text}' does not fit 64 bits"));
    }
    let value = number.parse::<f64>().map_err(|_| wrong())? * factor as f64;
    if value.is_finite() && value < u64::MAX as f64 {
        Ok(value.round() as u64)
    } else {
        Err(wrong())
    }
}

/// The sum of sizes; the largest number where they do not fit 64 bits (sizes of hostile texts).
pub fn total_bytes(sizes: impl IntoIterator<Item = u64>) -> u64 {
    sizes.into_iter().fold(0, u64::saturating_add)
}

/// A unit of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 1024 x 1024 x 1024 bytes.
    GiB,
    /// 1024 x 1024 bytes.
    MiB,
    /// 1024 bytes.
    KiB,
    /// A byte.
    B,
}

impl Unit {
    /// The unit in which a size reads best.
    pub const fn of(bytes: u64) -> Unit {
        match bytes {
            0..1024 => Unit::B,
            1024..1_048_576 => Unit::KiB,
            1_048_576..1_073_741_824 => Unit::MiB,
            _ => Unit::GiB,
        }
    }

    const fn bytes(self) -> u64 {
        match self {
            Unit::GiB => 1 << 30,
            Unit::MiB => 1 << 20,
            Unit::KiB => 1 << 10,
            Unit::B => 1,
        }
    }

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Unit::GiB => "GiB",
            Unit::MiB => "MiB",
            Unit::KiB => "KiB",
            Unit::B => "B",
        }
    }

    /// A size in this unit, without the word.
    pub fn number(self, bytes: u64) -> String {
        match self {
            Unit::B => bytes.to_string(),
            unit => format!("{:.2}", bytes as f64 / unit.bytes() as f64),
        }
    }

    /// A size in this unit as XLA's messages round it: what is less than a thousandth of the unit is
    /// cut off first (measured on 983 lines of memory-usage reports and on the texts of errors).
    pub fn number_as_xla(self, bytes: u64) -> String {
        match self {
            Unit::B => bytes.to_string(),
            unit => format!("{:.2}", (bytes / (unit.bytes() / 1024)) as f64 / 1024.0),
        }
    }
}

/// A size with its unit, rounded as XLA's messages round it, so that a figure of an error is met
/// again.
pub fn bytes_as_xla(bytes: u64) -> String {
    let unit = Unit::of(bytes);
    format!("{} {}", unit.number_as_xla(bytes), unit.as_str())
}

/// A size with its unit: `15.75 GiB`, `112.17 MiB`, `512 B`.
pub fn bytes(bytes: u64) -> String {
    let unit = Unit::of(bytes);
    format!("{} {}", unit.number(bytes), unit.as_str())
}

/// A share of a whole: `84%`, `0.7%` below one percent.
pub fn percent(part: u64, whole: u64) -> String {
    percent_below(part, whole, 0.95)
}

/// A share of a whole with a decimal below ten percent: `84%`, `1.5%`.
pub fn fine_percent(part: u64, whole: u64) -> String {
    percent_below(part, whole, 9.95)
}

fn percent_below(part: u64, whole: u64, decimals_below: f64) -> String {
    let share = if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    if share >= decimals_below || part == 0 {
        format!("{share:.0}%")
    } else {
        format!("{share:.1}%")
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, bytes_as_xla, parse_bytes, percent};

    #[test]
    fn sizes() {
        let cases = [
            ("14GiB", Some(14 << 30)),
            ("31.25GiB", Some(33_554_432_000)),
            ("15.75g", Some(16_911_433_728)),
            ("500 MiB", Some(500 << 20)),
            ("16909336576", Some(16_909_336_576)),
            ("1GB", Some(1_000_000_000)),
            ("0", Some(0)),
            ("", None),
            ("GiB", None),
            ("-1GiB", None),
            ("1.2.3GiB", None),
            ("1XiB", None),
            ("99999999999TiB", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_bytes(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn people() {
        let cases = [
            (0, "0 B"),
            (512, "512 B"),
            (2048, "2.00 KiB"),
            (117_623_296, "112.17 MiB"),
            (16_909_336_576, "15.75 GiB"),
            (161_529_550_336, "150.44 GiB"),
        ];
        for (size, expected) in cases {
            assert_eq!(bytes(size), expected);
        }
        // The error for this program says 18.12G; 18.1251 is nearer to 18.13.
        assert_eq!(bytes_as_xla(19_461_669_376), "18.12 GiB");
        assert_eq!(bytes(19_461_669_376), "18.13 GiB");
        assert_eq!(percent(84, 100), "84%");
        assert_eq!(percent(7, 1000), "0.7%");
        assert_eq!(percent(0, 0), "0%");
    }
}
