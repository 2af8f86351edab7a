//! Shapes: `f32[8,128]{1,0}`, tuples, buffers (facts: grammar section 3).
//!
//! A dump has few distinct shape texts: the id of one that was read before is found by its text.

use super::Strictness;
use super::cursor::{Input, Outcome, eat, expected, list, peek, problem, space, split, symbol};
use super::error::Kind;
use super::layout::{layout, layout_extent, starts_layout};
use super::lexeme::{integer, next_word, word, word_length};
use super::reader::Reader;
use crate::hlo::{ArrayShape, Bound, Dimension, ElementType, Shape, ShapeId};
use smallvec::SmallVec;

/// Whether a shape comes next: `(`, a type, or `b(`.
#[inline]
pub(super) fn starts_shape(input: Input<'_>) -> bool {
    let input = space(input);
    match input.as_bytes() {
        [b'(', ..] => true,
        [b'%', ..] | [] => false,
        bytes => {
            let length = word_length(bytes);
            match bytes.get(length) {
                Some(b'[') => length > 0,
                Some(b'(') => bytes.first() == Some(&b'b') && length == 1,
                Some(b':' | b'=') => false,
                _ => {
                    let (word, rest) = split(input, length);
                    ElementType::from_text(word).is_some() || (word == "b" && peek(rest) == b'(')
                }
            }
        }
    }
}

/// A shape.
#[inline]
pub(super) fn shape<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ShapeId> {
    let input = space(input);
    let extent = shape_extent(input.as_bytes());
    let (raw, behind) = split(input, extent);
    if extent > 0
        && let Some(&id) = reader.shape_cache.get(raw)
    {
        return Ok((behind, id));
    }
    let (rest, id) = uncached_shape(input, reader)?;
    if extent > 0 && rest.len() == behind.len() {
        reader.shape_cache.insert(raw, id);
    }
    Ok((rest, id))
}

/// How long the shape at the start of `bytes` is, as far as that can be told at a glance; else 0.
/// [`shape`] remembers a text only where the full rules took as much.
#[inline]
fn shape_extent(bytes: &[u8]) -> usize {
    let extent = match bytes.first() {
        Some(b'(') => tuple_extent(bytes),
        Some(b'a'..=b'z') => array_extent(bytes),
        _ => None,
    };
    extent.unwrap_or(0)
}

#[inline]
fn array_extent(bytes: &[u8]) -> Option<usize> {
    let close = bytes.iter().position(|byte| matches!(byte, b']' | b' ' | b'/' | b'{' | b'('))?;
    if bytes.get(close) != Some(&b']') {
        return None;
    }
    Some(close + 1 + layout_extent(bytes.get(close + 1..)?)?)
}

#[inline]
fn tuple_extent(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            // Nothing but the printer's own comments.
            b'/' if bytes.get(at + 1) != Some(&b'*')
                && bytes.get(at.wrapping_sub(1)) != Some(&b'*') =>
            {
                return None;
            }
            b'"' | b'\'' | b'%' | b'\n' => return None,
            _ => {}
        }
    }
    None
}

fn uncached_shape<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ShapeId> {
    if peek(input) == b'(' {
        return tuple_shape(input, reader);
    }
    if next_word(input) == "b" {
        let (rest, _) = word(input)?;
        let (rest, ()) = symbol('(')(rest)?;
        let (rest, array) = array_shape(rest, reader)?;
        let (rest, ()) = symbol(')')(rest)?;
        return Ok((rest, reader.shapes.intern(Shape::Buffer(array))));
    }
    let (input, array) = array_shape(input, reader)?;
    Ok((input, reader.shapes.intern(Shape::Array(array))))
}

/// A tuple. Nested tuples are followed without recursion, and only arrays in them are looked up by
/// their text: a tuple would be scanned once for each level that it is in.
fn tuple_shape<'a>(mut input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ShapeId> {
    let mut elements: SmallVec<[ShapeId; 16]> = SmallVec::new();
    // Where the elements of each open tuple start.
    let mut open: SmallVec<[usize; 4]> = SmallVec::new();
    loop {
        if let (inside, true) = eat(input, '(') {
            if open.len() >= reader.shape_depth() {
                return problem(space(input), Kind::TooDeep);
            }
            open.push(elements.len());
            input = inside;
            if peek(input) != b')' {
                continue;
            }
        } else {
            let element;
            (input, element) = shape(input, reader)?;
            elements.push(element);
        }
        while let (rest, true) = eat(input, ')') {
            input = rest;
            let start = open.pop().unwrap_or(0);
            let tuple = reader.shapes.intern(Shape::Tuple(elements[start..].into()));
            if open.is_empty() {
                return Ok((input, tuple));
            }
            elements.truncate(start);
            elements.push(tuple);
        }
        match eat(input, ',') {
            (rest, true) => input = rest,
            _ => return expected(space(input), "`,` or `)`"),
        }
    }
}

/// An array, with its layout where it has one.
pub(super) fn array_shape<'a>(
    input: Input<'a>,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ArrayShape> {
    let (input, element_type) = element_type(input, reader)?;
    let start = space(input);
    let mut dimensions = SmallVec::new();
    let (input, ()) = list(input, '[', ']', |input| {
        let (input, dimension) = dimension(input)?;
        dimensions.push(dimension);
        Ok((input, ()))
    })?;
    if !element_type.is_array() && !dimensions.is_empty() {
        return problem(start, Kind::Wrong("token and opaque have no dimensions"));
    }
    if let (rest, true) = sparse_layout(input) {
        reader.warn(space(input), "sparse layouts belong to an earlier version".to_owned());
        reader.has_sparse_layouts = true;
        return Ok((rest, ArrayShape { element_type, dimensions, layout: None }));
    }
    if !starts_layout(input) {
        return Ok((input, ArrayShape { element_type, dimensions, layout: None }));
    }
    let (input, layout) = layout(input, dimensions.len())?;
    Ok((input, ArrayShape { element_type, dimensions, layout: Some(Box::new(layout)) }))
}

/// `sparse{10}`: the layout of sparse arrays until January 2020, of which nothing is kept.
fn sparse_layout<'a>(input: Input<'a>) -> (Input<'a>, bool) {
    let size = |rest| {
        let (rest, ()) = symbol('{')(rest)?;
        let (rest, _) = integer(rest)?;
        symbol('}')(rest)
    };
    match word(input) {
        Ok((rest, "sparse")) => size(rest).map_or((input, false), |(rest, ())| (rest, true)),
        _ => (input, false),
    }
}

fn element_type<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ElementType> {
    let input = space(input);
    let Ok((rest, found)) = word(input) else {
        return expected(input, "a shape");
    };
    if let Some(element_type) = ElementType::from_text(found) {
        return Ok((rest, element_type));
    }
    match of_same_width(found).filter(|_| reader.strictness == Strictness::Lenient) {
        Some(element_type) => {
            reader.warn(input, format!("unknown element type {found}: taken for {element_type}"));
            Ok((rest, element_type))
        }
        None => expected(input, "an element type"),
    }
}

/// A known type with as many bits as the name of an unknown one says: sizes follow from that.
fn of_same_width(name: &str) -> Option<ElementType> {
    let digits = name.trim_start_matches(|character: char| character.is_ascii_alphabetic());
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let bits: u64 = split(digits, length).0.parse().ok()?;
    let same = |element_type: &&ElementType| element_type.bits() == bits;
    let types = ElementType::ALL.iter().filter(same).filter(|of| of.is_array());
    types.max_by_key(|element_type| element_type.as_str().starts_with('u')).copied()
}

/// `8`, `<=8` or `?`.
fn dimension<'a>(input: Input<'a>) -> Outcome<'a, Dimension> {
    let input = space(input);
    if let (rest, true) = eat(input, '?') {
        return Ok((rest, Dimension { size: 0, bound: Bound::Unbounded }));
    }
    let (number, bound) = match input.strip_prefix("<=") {
        Some(rest) => (rest, Bound::Dynamic),
        None => (input, Bound::Static),
    };
    let (rest, size) = integer(number)?;
    match u64::try_from(size) {
        Ok(size) => Ok((rest, Dimension { size, bound })),
        Err(_) => {
            problem(space(number), Kind::Wrong("the size of a dimension is between 0 and 2^63 - 1"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_element_types_keep_their_width() {
        for (name, known) in [("f8e9m9", Some("u8")), ("i128", Some("c128")), ("f4x", Some("u4"))] {
            assert_eq!(of_same_width(name).map(ElementType::as_str), known, "{name}");
        }
        assert_eq!(of_same_width("tf"), None);
        let mut reader = Reader::new("", Strictness::Lenient);
        assert!(shape("f8e9m9[2]", &mut reader).is_ok());
        assert_eq!(reader.warnings.len(), 1);
        assert!(shape("f8e9m9[2]", &mut Reader::new("", Strictness::Strict)).is_err());
    }
}
