//! Numbers with a point, and the tokens that join integers: `2x3`, `0_0x1_2_3` (facts: grammar 1.2).

use super::cursor::{Input, Outcome, expected, problem, space, split};
use super::error::Kind;
use super::lexeme::{eat_keyword, integer, starts_word, word_length};

/// A number of a literal or an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// Digits only; the bit pattern of 64 bits.
    Integer(i64),
    /// With a point or an exponent.
    Decimal(f64),
    /// `inf` or `-inf`.
    Infinite,
    /// `nan`, with its payload.
    Nan(Option<u64>),
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The length of a DECIMAL at the start of the bytes, 0 if there is none.
fn decimal_length(bytes: &[u8]) -> usize {
    let rest = |at: usize| bytes.get(at..).unwrap_or(&[]);
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(rest(sign));
    let mut at = sign + whole;
    let point = rest(at).first() == Some(&b'.');
    if point {
        let fraction = digits(rest(at + 1));
        if whole + fraction == 0 {
            return 0;
        }
        at += 1 + fraction;
    } else if whole == 0 {
        return 0;
    }
    if matches!(rest(at).first(), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest(at + 1).first(), Some(b'+' | b'-')));
        let exponent = digits(rest(at + 1 + sign));
        if exponent > 0 {
            return at + 1 + sign + exponent;
        }
    }
    if point { at } else { 0 }
}

/// A number: an integer, a decimal, `inf`, `nan`.
pub(super) fn number<'a>(input: Input<'a>) -> Outcome<'a, Number> {
    let input = space(input);
    let bytes = input.as_bytes();
    let length = decimal_length(bytes);
    if length > 0 && bytes.first() != Some(&b'.') {
        let (text, rest) = split(input, length);
        return match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok((rest, Number::Decimal(value))),
            _ => problem(input, Kind::Wrong("the number is out of range for 64 bits")),
        };
    }
    match bytes {
        [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..] => {
            let (rest, value) = integer(input)?;
            Ok((rest, Number::Integer(value)))
        }
        [b'-', b'i' | b'n', ..] => infinite_or_nan(split(input, 1).1, input),
        _ => infinite_or_nan(input, input),
    }
}

/// `inf`, `nan` or `nan(0x3f)`.
fn infinite_or_nan<'a>(input: Input<'a>, start: Input<'a>) -> Outcome<'a, Number> {
    if !input.as_bytes().first().is_some_and(|&byte| starts_word(byte)) {
        return expected(start, "a number");
    }
    let (word, rest) = split(input, word_length(input.as_bytes()));
    if word == "inf" && eat_keyword(input, "inf").1 {
        return Ok((rest, Number::Infinite));
    }
    if word != "nan" {
        return expected(start, "a number");
    }
    let Some(payload) = rest.strip_prefix('(') else {
        return Ok((rest, Number::Nan(None)));
    };
    let length = payload.bytes().position(|byte| byte == b')').unwrap_or(payload.len());
    let (hex, rest) = split(payload, length);
    let value = hex
        .strip_prefix("0x")
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .filter(|&value| value > 0 && value < 1 << 52);
    match (value, rest.strip_prefix(')')) {
        (Some(value), Some(rest)) => Ok((rest, Number::Nan(Some(value)))),
        _ => problem(payload, Kind::Wrong("the payload of a nan is 0x1 to 0xfffffffffffff")),
    }
}

/// A number that fits 32-bit floating point and is finite.
pub(super) fn float<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let input = space(input);
    let (rest, value) = double(input)?;
    if value.abs() >= F32_LIMIT {
        return problem(input, Kind::Wrong("the number is out of range for 32 bits"));
    }
    Ok((rest, ()))
}

/// From here on a number is infinite once it is rounded to 32 bits.
pub(super) const F32_LIMIT: f64 = 3.402_823_567_797_336_6e38;

/// A number of 64-bit floating point.
pub(super) fn double<'a>(input: Input<'a>) -> Outcome<'a, f64> {
    let input = space(input);
    match number(input)? {
        (rest, Number::Integer(value)) => Ok((rest, value as f64)),
        (rest, Number::Decimal(value)) => Ok((rest, value)),
        (rest, Number::Infinite) => Ok((rest, f64::INFINITY)),
        (_, Number::Nan(_)) => expected(input, "a number"),
    }
}

/// `2x3x4`, or a plain integer; the numbers of it, none of which is negative.
pub(super) fn sizes<'a>(input: Input<'a>) -> Outcome<'a, Vec<i64>> {
    let start = space(input);
    let length = start.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'x').count();
    let (token, rest) = split(start, length);
    if token.is_empty() || rest.starts_with(['_', '.']) {
        return expected(start, "sizes like `2x3`");
    }
    let mut sizes = Vec::new();
    for part in token.split('x') {
        match part.parse::<u64>() {
            Ok(size) => sizes.push(size as i64),
            Err(_) => return expected(start, "sizes like `2x3`"),
        }
    }
    Ok((rest, sizes))
}

/// `0_1x2_3_1`: low, high and interior padding of each dimension, interior 0 where absent.
pub(super) fn padding<'a>(input: Input<'a>) -> Outcome<'a, Vec<[i64; 3]>> {
    let start = space(input);
    let length = start
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'x' | b'_' | b'-'))
        .count();
    let (token, rest) = split(start, length);
    let mut dimensions = Vec::new();
    for part in token.split('x') {
        match padding_of(part) {
            Some(padding) => dimensions.push(padding),
            None => return expected(start, "padding like `0_1x2_3`"),
        }
    }
    Ok((rest, dimensions))
}

fn padding_of(part: &str) -> Option<[i64; 3]> {
    let mut numbers = part.split('_');
    let low = numbers.next()?.parse().ok()?;
    let high = numbers.next()?.parse().ok()?;
    let interior = match numbers.next() {
        Some(interior) if interior.starts_with('-') => return None,
        Some(interior) => interior.parse().ok()?,
        None => 0,
    };
    numbers.next().is_none().then_some([low, high, interior])
}

/// Whether a padding token has interior padding.
pub(super) fn has_interior(token: &str) -> bool {
    token.split('x').any(|part| part.split('_').count() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_number() {
        for (text, value) in [
            ("1", Number::Integer(1)),
            ("18446744073709551615", Number::Integer(-1)),
            ("-.5", Number::Decimal(-0.5)),
            ("1.", Number::Decimal(1.0)),
            ("1e5", Number::Decimal(1e5)),
            ("-inf", Number::Infinite),
            ("nan(0x3f)", Number::Nan(Some(0x3f))),
            ("-nan", Number::Nan(None)),
        ] {
            assert_eq!(number(text), Ok(("", value)), "{text}");
        }
        for text in [".5", "+1", "Infinity", "NaN", "- 1", "1e400", "nan(0x0)", "nan(1)", "1_2"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn joined_integers() {
        assert_eq!(sizes("2x3 "), Ok((" ", vec![2, 3])));
        assert!(sizes("2x").is_err());
        assert_eq!(padding("-1_1x0_0_2,"), Ok((",", vec![[-1, 1, 0], [0, 0, 2]])));
        assert!(padding("0_0x1").is_err());
    }
}
