//! Layouts: `{1,0:T(8,128)(2,1)S(1)}` (facts: grammar section 3.2).

use super::cursor::{Input, Outcome, eat, expected, list, peek, problem, space, split, symbol};
use super::error::Kind;
use super::lexeme::{integer, word};
use super::value::brackets;
use crate::hlo::{ElementType, Layout, SplitConfig, Tile};
use smallvec::SmallVec;

/// Whether the brace here opens a layout: an integer or `:` must follow it.
pub(super) fn starts_layout(input: Input<'_>) -> bool {
    let (inside, opened) = eat(input, '{');
    opened && (peek(inside) == b':' || integer(inside).is_ok())
}

/// A layout, for an array of `rank` dimensions.
pub(super) fn layout<'a>(input: Input<'a>, rank: usize) -> Outcome<'a, Layout> {
    let start = space(input);
    let (mut input, ()) = symbol('{')(input)?;
    let mut layout = Layout { tail_padding_alignment_in_elements: 1, ..Layout::default() };
    if peek(input) != b':' {
        loop {
            let dimension;
            (input, dimension) = integer(input)?;
            layout.minor_to_major.push(dimension);
            match eat(input, ',') {
                (rest, true) => input = rest,
                _ => break,
            }
        }
    }
    if layout.minor_to_major.len() != rank {
        return problem(
            start,
            Kind::Count {
                what: "dimensions in the layout",
                expected: rank as u32,
                found: layout.minor_to_major.len() as u32,
            },
        );
    }
    if let (rest, true) = eat(input, ':') {
        input = layout_parts(rest, &mut layout)?.0;
    }
    let (input, ()) = symbol('}')(input)?;
    Ok((input, layout))
}

/// The part's letters, glued to what follows: `T(`, `SC(`. `S` and `SC` are told apart here.
fn eat_part<'a>(input: Input<'a>, part: &'static str) -> (Input<'a>, bool) {
    match word(input) {
        Ok((rest, found)) if found == part => (rest, true),
        _ => (input, false),
    }
}

/// What stands behind the colon, in the one order that is allowed.
fn layout_parts<'a>(input: Input<'a>, layout: &mut Layout) -> Outcome<'a, ()> {
    let mut input = input;
    let mut sparse = false;
    if let (rest, true) = eat_part(input, "D") {
        (input, sparse) = level_types(rest)?;
    }
    if let (rest, true) = eat_part(input, "T") {
        input = tiles(rest, layout)?.0;
    }
    if let (rest, true) = eat_part(input, "L") {
        (input, layout.tail_padding_alignment_in_elements) = parenthesised_integer(rest)?;
    }
    if let (rest, true) = eat(input, '#') {
        let kind;
        (input, kind) = parenthesised_type(rest)?;
        layout.index_type = Some(kind);
    }
    if let (rest, true) = eat(input, '*') {
        let kind;
        (input, kind) = parenthesised_type(rest)?;
        layout.pointer_type = Some(kind);
    }
    if let (rest, true) = eat_part(input, "E") {
        (input, layout.element_size_in_bits) = parenthesised_integer(rest)?;
    }
    if let (rest, true) = eat_part(input, "S") {
        (input, layout.memory_space) = parenthesised_integer(rest)?;
    }
    if let (rest, true) = eat_part(input, "SC") {
        input = split_configs(rest, layout)?.0;
    }
    if let (rest, true) = eat_part(input, "P") {
        if !sparse || peek(rest) != b'(' || peek(split(space(rest), 1).1) != b'(' {
            let why = "a physical shape belongs to the sparse arrays of earlier versions";
            return problem(space(input), Kind::Wrong(why));
        }
        input = brackets(rest)?.0;
    }
    if let (rest, true) = eat_part(input, "M") {
        (input, layout.dynamic_shape_metadata_prefix_bytes) = parenthesised_integer(rest)?;
    }
    Ok((input, ()))
}

fn parenthesised_integer<'a>(input: Input<'a>) -> Outcome<'a, i64> {
    let (input, ()) = symbol('(')(input)?;
    let (input, number) = integer(input)?;
    let (input, ()) = symbol(')')(input)?;
    Ok((input, number))
}

fn parenthesised_type<'a>(input: Input<'a>) -> Outcome<'a, ElementType> {
    let (input, ()) = symbol('(')(input)?;
    let (rest, found) = word(input)?;
    let Some(kind) = ElementType::from_text(found) else {
        return expected(space(input), "an element type");
    };
    let (input, ()) = symbol(')')(rest)?;
    Ok((input, kind))
}

/// `(D,C+,S~)`: level types of sparse arrays. Whether any is sparse.
fn level_types<'a>(input: Input<'a>) -> Outcome<'a, bool> {
    let mut sparse = false;
    let (input, ()) = list(input, '(', ')', |input| {
        let (rest, level) = word(input)?;
        if !matches!(level, "D" | "C" | "S" | "H") {
            return expected(space(input), "`D`, `C`, `S` or `H`");
        }
        let (rest, _) = eat(rest, '+');
        let (rest, _) = eat(rest, '~');
        sparse |= level != "D";
        Ok((rest, ()))
    })?;
    Ok((input, sparse))
}

/// `(8,128)(2,1)`: tiles; there may be none.
fn tiles<'a>(mut input: Input<'a>, layout: &mut Layout) -> Outcome<'a, ()> {
    while peek(input) == b'(' {
        let mut dimensions = SmallVec::new();
        (input, ()) = list(input, '(', ')', |input| {
            if let (rest, true) = eat(input, '*') {
                dimensions.push(Tile::COMBINE);
                return Ok((rest, ()));
            }
            let start = space(input);
            let (input, number) = integer(input)?;
            if number < 0 {
                return problem(start, Kind::Wrong("a tile has no negative numbers"));
            }
            dimensions.push(number);
            Ok((input, ()))
        })?;
        layout.tiles.push(Tile { dimensions });
    }
    Ok((input, ()))
}

/// `(0:1,2)(1:3)`: dimensions and the indices at which they are split.
fn split_configs<'a>(mut input: Input<'a>, layout: &mut Layout) -> Outcome<'a, ()> {
    while let (rest, true) = eat(input, '(') {
        let (rest, dimension) = integer(rest)?;
        let (mut rest, ()) = symbol(':')(rest)?;
        let mut indices = Vec::new();
        loop {
            let index;
            (rest, index) = integer(rest)?;
            indices.push(index);
            match eat(rest, ',') {
                (next, true) => rest = next,
                _ => break,
            }
        }
        (input, ()) = symbol(')')(rest)?;
        layout.split_configs.push(SplitConfig { dimension, indices });
    }
    Ok((input, ()))
}

/// The first byte of the text behind a `]` up to the end of its layout, if both can be told at a
/// glance: without white space or comments inside. `None` where the full rules must decide.
#[inline]
pub(super) fn layout_extent(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'{', b':' | b'0'..=b'9', inside @ ..] => {
            let end =
                inside.iter().position(|byte| matches!(byte, b'}' | b'{' | b'/' | b'"' | b'\n'))?;
            (inside.get(end) == Some(&b'}')).then_some(end + 3)
        }
        [b',' | b')' | b'}', ..] => Some(0),
        [b' ', b'%' | b'a'..=b'z', ..] => Some(0),
        [b' ', b'{', b'\n', b' ', b' ', b'%' | b'R', ..] => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_in_order() {
        let text = "{1,0:T(8,128)(2,1)L(2)#(u8)*(u16)E(32)S(1)SC(0:1)M(16)}";
        let (rest, layout) = layout(text, 2).expect("a layout");
        assert_eq!(rest, "");
        assert_eq!(layout.minor_to_major.as_slice(), [1, 0]);
        assert_eq!(layout.tiles.len(), 2);
        assert_eq!(layout.memory_space, 1);
        assert_eq!(layout.dynamic_shape_metadata_prefix_bytes, 16);
    }

    #[test]
    fn what_is_no_layout() {
        for (text, rank) in [
            ("{0:S(1)T(8)}", 1),
            ("{0:T(8)T(2)}", 1),
            ("{0:S5}", 1),
            ("{0:S()}", 1),
            ("{0}", 2),
            ("{0:X(1)}", 1),
        ] {
            assert!(layout(text, rank).is_err(), "{text}");
        }
        assert!(!starts_layout("{}"));
        assert!(!starts_layout("{1.0}"));
        assert!(starts_layout("{ :T(128)}"));
    }
}
