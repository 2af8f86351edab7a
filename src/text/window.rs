//! Windows, dimension labels, slices, structured sparsity (facts: grammar section 4.3).

use super::cursor::{
    Input, Outcome, between, eat, expected, list, peek, problem, space, split, symbol,
};
use super::error::Kind;
use super::lexeme::{attribute_name, integer};
use super::number::{has_interior, padding, sizes};

/// `{size=2x2 stride=1x1 pad=0_0x0_0}`: fields with spaces between them.
pub(super) fn window<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    const FIELDS: [&str; 6] = ["size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"];
    let start = space(input);
    let (mut input, ()) = symbol('{')(input)?;
    let mut counts = [None; FIELDS.len()];
    while peek(input) != b'}' {
        let at = space(input);
        let (value, field) = attribute_name(input)?;
        let Some(position) = FIELDS.iter().position(|&known| known == field) else {
            return problem(at, Kind::UnexpectedAttribute("a window"));
        };
        let (rest, count) = if field == "pad" { window_padding(value)? } else { count(value)? };
        input = rest;
        if counts[position].replace(count).is_some() {
            return problem(at, Kind::Duplicate("field"));
        }
    }
    let dimensions = counts[0].unwrap_or(0);
    if counts.iter().take(5).flatten().any(|&count| count != dimensions) {
        return problem(start, Kind::Wrong("the window's fields differ in their dimensions"));
    }
    symbol('}')(input)
}

fn count<'a>(input: Input<'a>) -> Outcome<'a, usize> {
    sizes(input).map(|(input, sizes)| (input, sizes.len()))
}

fn window_padding<'a>(input: Input<'a>) -> Outcome<'a, usize> {
    let start = space(input);
    let (rest, dimensions) = padding(input)?;
    if has_interior(between(start, rest)) {
        return problem(start, Kind::Wrong("the padding of a window has no interior"));
    }
    Ok((rest, dimensions.len()))
}

/// Whether a byte may stand in dimension labels.
fn is_label(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'b' | b'f' | b'i' | b'o' | b'?')
}

/// `b01f_01io->b01f`.
pub(super) fn dimension_labels<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let labels = |input: Input<'a>| {
        let length = input.bytes().take_while(|&byte| is_label(byte)).count();
        split(input, length)
    };
    let (lhs, rest) = labels(start);
    let (rhs, rest) = match rest.strip_prefix('_') {
        Some(rest) => labels(rest),
        None => return expected(start, "labels like `b01f_01io->b01f`"),
    };
    let (output, rest) = match rest.strip_prefix("->") {
        Some(rest) => labels(rest),
        None => return expected(start, "labels like `b01f_01io->b01f`"),
    };
    let spatial = [check_labels(lhs, b"bf"), check_labels(rhs, b"io"), check_labels(output, b"bf")];
    match spatial {
        [Some(lhs), Some(rhs), Some(output)] if lhs == rhs && rhs == output => Ok((rest, ())),
        _ => problem(start, Kind::Wrong("the labels are not those of one convolution")),
    }
}

/// How many spatial labels there are, if the others are those wanted and none is there twice.
fn check_labels(labels: &str, wanted: &[u8; 2]) -> Option<usize> {
    let rank = labels.len();
    let mut seen = [false; 256];
    for byte in labels.bytes() {
        if byte == b'?' {
            continue;
        }
        let fits = match byte {
            b'0'..=b'9' => usize::from(byte - b'0') < rank,
            _ => wanted.contains(&byte),
        };
        if !fits || std::mem::replace(&mut seen[usize::from(byte)], true) {
            return None;
        }
    }
    let both = wanted.iter().all(|&letter| seen[usize::from(letter)]);
    both.then(|| labels.bytes().filter(u8::is_ascii_digit).count())
}

/// `{[0:4], [0:8:2]}`.
pub(super) fn slice<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    list(input, '{', '}', |input| {
        let (input, ()) = symbol('[')(input)?;
        let (input, _) = integer(input)?;
        let (input, ()) = symbol(':')(input)?;
        let (input, _) = integer(input)?;
        let (input, strided) = eat(input, ':');
        let input = if strided { integer(input)?.0 } else { input };
        symbol(']')(input)
    })
}

/// `{lhs={sparsity=2x4 dimension=1 stride=1} rhs={}}`.
pub(super) fn sparsity_config<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    fields(input, |start, name, value| match name {
        "lhs" | "rhs" => fields(value, |start, name, value| match name {
            "sparsity" => sizes(value).map(|(rest, _)| (rest, ())),
            "dimension" | "stride" | "idx" => integer(value).map(|(rest, _)| (rest, ())),
            _ => problem(start, Kind::UnexpectedAttribute("a sparsity")),
        }),
        _ => problem(start, Kind::UnexpectedAttribute("a sparsity config")),
    })
}

/// `{name=value name=value}`, with commas between or without, each at most once.
pub(super) fn fields<'a>(
    input: Input<'a>,
    mut field: impl FnMut(Input<'a>, &'a str, Input<'a>) -> Outcome<'a, ()>,
) -> Outcome<'a, ()> {
    let (mut input, ()) = symbol('{')(input)?;
    let mut seen: smallvec::SmallVec<[&str; 4]> = smallvec::SmallVec::new();
    while peek(input) != b'}' {
        if !seen.is_empty() {
            (input, _) = eat(input, ',');
        }
        let start = space(input);
        let (value, name) = attribute_name(input)?;
        if seen.contains(&name) {
            return problem(start, Kind::Duplicate("field"));
        }
        seen.push(name);
        (input, ()) = field(start, name, value)?;
    }
    symbol('}')(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        for (text, accepted) in [
            ("b01f_01io->b01f", true),
            ("bf_io->bf", true),
            ("0bf_0io->0bf", true),
            ("b01f?_01io->b01f", true),
            ("b0f_0io->bf0", true),
            ("b00f_01io->b01f", false),
            ("b9f_0io->b0f", false),
            ("b0f_0io->b0", false),
            ("b0f_0io", false),
        ] {
            let read = dimension_labels(text);
            assert_eq!(read.is_ok(), accepted, "{text}: {read:?}");
        }
    }

    #[test]
    fn windows() {
        for (text, accepted) in [
            ("{}", true),
            ("{size=2}", true),
            ("{size=2x2 stride=1x1 pad=0_0x0_0 rhs_reversal=0x1}", true),
            ("{size=2x2, stride=1x1}", false),
            ("{size=2x2 pad=0_0}", false),
            ("{size=2x2 size=2x2}", false),
            ("{stride=1x1}", false),
            ("{size=-1}", false),
            ("{size=2 pad=0_0_0}", false),
        ] {
            assert_eq!(window(text).is_ok(), accepted, "{text}");
        }
    }
}
