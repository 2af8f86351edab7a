//! Literals (facts: grammar section 4.4). Counts and ranges are checked, nothing is materialised.

use super::collective::any_integer;
use super::cursor::{Input, Outcome, eat, expected, list, peek, problem, space, split, symbol};
use super::error::{Kind, Problem};
use super::lexeme::eat_keyword;
use super::number::{F32_LIMIT, Number, number};
use super::reader::Reader;
use super::shape::shape;
use crate::hlo::{ArrayShape, ElementType, Shape, ShapeId};

/// A literal of a shape.
pub(super) fn literal<'a>(
    input: Input<'a>,
    shape: ShapeId,
    reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    match reader.shapes.get(shape) {
        Shape::Tuple(elements) => {
            let elements = elements.clone();
            reader.nested(input, |input, reader| {
                tuple_literal(input, &elements, |input, element| literal(input, element, reader))
            })
        }
        Shape::Array(array) | Shape::Buffer(array) if reader.has_sparse_layouts => {
            sparse_literal(input, array).or_else(|_| array_literal(input, array))
        }
        Shape::Array(array) | Shape::Buffer(array) => array_literal(input, array),
    }
}

/// A literal with its shape before it, as `literal=` of a custom-call has it: in a tuple before each
/// element.
pub(super) fn shaped_literal<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    if peek(input) == b'(' {
        return reader.nested(input, |input, reader| {
            list(input, '(', ')', |input| shaped_literal(input, reader))
        });
    }
    let (input, shape) = shape(input, reader)?;
    literal(input, shape, reader)
}

/// `(literal, literal)`, or `{...}` where the printer elided it.
fn tuple_literal<'a>(
    input: Input<'a>,
    elements: &[ShapeId],
    mut element_literal: impl FnMut(Input<'a>, ShapeId) -> Outcome<'a, ()>,
) -> Outcome<'a, ()> {
    if peek(input) == b'{' {
        let (input, ()) = symbol('{')(input)?;
        let (input, ()) = dots(input)?;
        return symbol('}')(input);
    }
    let (mut input, ()) = symbol('(')(input)?;
    for (at, &element) in elements.iter().enumerate() {
        if at > 0 {
            (input, _) = eat(input, ',');
        }
        (input, ()) = element_literal(input, element)?;
    }
    symbol(')')(input)
}

/// `...`.
fn dots<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let input = space(input);
    match input.strip_prefix("...") {
        Some(rest) => Ok((rest, ())),
        None => expected(input, "`...`"),
    }
}

/// An array: nested braces as deep as its rank, commas where the writer likes them.
fn array_literal<'a>(input: Input<'a>, shape: &ArrayShape) -> Outcome<'a, ()> {
    let start = space(input);
    if !shape.element_type.is_array() {
        return problem(start, Kind::Wrong("token and opaque have no literals"));
    }
    if shape.dimensions.is_empty() {
        return element(start, shape.element_type);
    }
    let rank = shape.dimensions.len();
    let mut seen = vec![0_u64; rank];
    let mut level = 0_usize;
    let mut input = input;
    loop {
        input = space(input);
        match input.as_bytes().first() {
            Some(b'{') => {
                level += 1;
                if level > rank {
                    return problem(input, Kind::Wrong("the literal nests deeper than its rank"));
                }
                if let Some(outer) = level.checked_sub(2) {
                    seen[outer] += 1;
                }
                input = split(input, 1).1;
            }
            Some(b'}') if level > 0 => {
                level -= 1;
                let wanted = shape.dimensions[level].size;
                if seen[level] != wanted {
                    return problem(input, count(wanted, seen[level]));
                }
                seen[level] = 0;
                input = split(input, 1).1;
                if level == 0 {
                    return Ok((input, ()));
                }
            }
            Some(b',') if level > 0 => input = split(input, 1).1,
            Some(b'.') if level == 1 => {
                (input, ()) = dots(input)?;
                seen[0] = shape.dimensions[0].size;
            }
            Some(_) if level == rank => {
                (input, ()) = element(input, shape.element_type)?;
                seen[rank - 1] += 1;
            }
            Some(_) if level > 0 => {
                return problem(input, Kind::Wrong("the literal nests less deep than its rank"));
            }
            // One number for the whole array: XLA's reader takes it.
            Some(b'-' | b'0'..=b'9' | b'a'..=b'z' | b'(') => {
                return element(input, shape.element_type);
            }
            _ => return expected(input, "`{` of a literal"),
        }
    }
}

fn count(expected: u64, found: u64) -> Kind {
    let clamp = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Kind::Count {
        what: "elements in this part of the literal",
        expected: clamp(expected),
        found: clamp(found),
    }
}

/// `{[0, 1]: 2, [1, 1]: 3}`, or `{1: 2}` for a vector: literals of the sparse layouts of texts before
/// 2020.
fn sparse_literal<'a>(input: Input<'a>, shape: &ArrayShape) -> Outcome<'a, ()> {
    list(input, '{', '}', |input| {
        let (input, ()) = match peek(input) {
            b'[' => list(input, '[', ']', any_integer)?,
            _ => any_integer(input)?,
        };
        let (input, ()) = symbol(':')(input)?;
        element(input, shape.element_type)
    })
}

/// One element.
fn element<'a>(input: Input<'a>, element_type: ElementType) -> Outcome<'a, ()> {
    use ElementType::{C64, C128, F32, F64, Pred};
    let input = space(input);
    match element_type {
        Pred => {
            if let (rest, true) = eat_keyword(input, "true") {
                return Ok((rest, ()));
            }
            if let (rest, true) = eat_keyword(input, "false") {
                return Ok((rest, ()));
            }
            match number(input)? {
                (rest, Number::Integer(_)) => Ok((rest, ())),
                _ => expected(input, "`true`, `false` or an integer"),
            }
        }
        C64 | C128 => {
            let part = if element_type == C64 { F32 } else { F64 };
            let (rest, ()) = symbol('(')(input)?;
            let (rest, ()) = element(rest, part)?;
            let (rest, ()) = symbol(',')(rest)?;
            let (rest, ()) = element(rest, part)?;
            symbol(')')(rest)
        }
        _ => {
            let (rest, value) = number(input)?;
            let checked = if element_type.is_floating() {
                check_float(input, value, element_type)
            } else {
                check_integer(input, value, element_type)
            };
            checked.map(|()| (rest, ()))
        }
    }
}

fn wrong(input: Input<'_>, message: &'static str) -> Result<(), nom::Err<Problem>> {
    Err(nom::Err::Error(Problem { remaining: input.len(), kind: Kind::Wrong(message) }))
}

/// Integers must fit their type; those of 64 bits are taken as bit patterns.
fn check_integer(
    input: Input<'_>,
    value: Number,
    element_type: ElementType,
) -> Result<(), nom::Err<Problem>> {
    let Number::Integer(value) = value else {
        return wrong(input, "expected an integer for this element type");
    };
    let bits = element_type.bits();
    if bits >= 64 {
        return Ok(());
    }
    let signed = element_type.as_str().starts_with('s');
    let (low, high) = match signed {
        true => (-(1_i64 << (bits - 1)), (1_i64 << (bits - 1)) - 1),
        false => (0, (1_i64 << bits) - 1),
    };
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        wrong(input, "the integer is out of range for its element type")
    }
}

/// Floating-point numbers must be finite once they are rounded to their type (facts: grammar 4.4, the
/// first magnitudes that are not).
fn check_float(
    input: Input<'_>,
    value: Number,
    element_type: ElementType,
) -> Result<(), nom::Err<Problem>> {
    use ElementType::{
        Bf16, F8e3m4, F8e4m3, F8e4m3b11fnuz, F8e4m3fn, F8e4m3fnuz, F8e5m2, F8e5m2fnuz, F8e8m0fnu,
        F16, F32, F64,
    };
    let value = match value {
        Number::Infinite => return Ok(()),
        Number::Nan(None) => return Ok(()),
        Number::Nan(Some(payload)) => {
            let mantissa_bits = match element_type {
                F16 => 10,
                Bf16 => 7,
                F32 => 23,
                F64 => 52,
                _ => return wrong(input, "a nan of this element type has no payload"),
            };
            if payload >> mantissa_bits == 0 {
                return Ok(());
            }
            return wrong(input, "the payload of the nan does not fit its element type");
        }
        Number::Integer(value) => value as f64,
        Number::Decimal(value) => value,
    };
    let first_infinite = match element_type {
        F16 => 65520.0,
        Bf16 => 3.396_177_529_230_46e38,
        F32 => F32_LIMIT,
        F8e5m2 | F8e5m2fnuz => 61440.0,
        F8e4m3 | F8e4m3fnuz => 248.0,
        F8e3m4 => 15.75,
        F8e4m3b11fnuz => 31.0,
        F8e4m3fn => 464.000_000_1,
        F8e8m0fnu if value <= 0.0 => {
            return wrong(input, "numbers of this element type are above 0");
        }
        F8e8m0fnu => 2.552_117_751_907_038_5e38,
        _ => f64::INFINITY,
    };
    if value.abs() < first_infinite {
        Ok(())
    } else {
        wrong(input, "the number is out of range for its element type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Strictness;

    fn accepts(shape_text: &str, literal_text: &str) -> bool {
        let mut reader = Reader::new("", Strictness::Strict);
        let (_, id) = shape(shape_text, &mut reader).expect("a shape");
        literal(literal_text, id, &mut reader).is_ok_and(|(rest, ())| rest.is_empty())
    }

    #[test]
    fn counts_and_ranges() {
        for (shape, text, expected) in [
            ("f32[]", "1", true),
            ("f32[]", "{1}", false),
            ("f32[3]", "{1 2 3}", true),
            ("f32[3]", "{1,,2,3}", true),
            ("f32[3]", "{1,2}", false),
            ("f32[2,2]", "{ {1,2}, {3,4} }", true),
            ("f32[2,2]", "{1,2,3,4}", false),
            ("f32[9,9]", "{...}", true),
            ("f32[2,2]", "{ {...}, {1,2} }", false),
            ("f32[]", "...", false),
            ("f32[0]", "{}", true),
            ("f32[2,0]", "{ {}, {} }", true),
            ("u8[]", "256", false),
            ("s8[]", "-128", true),
            ("s1[]", "-1", true),
            ("u64[]", "-1", true),
            ("f16[]", "65520", false),
            ("f8e4m3fn[]", "464", true),
            ("f8e4m3fn[]", "465", false),
            ("f8e8m0fnu[]", "0", false),
            ("f4e2m1fn[]", "1e30", true),
            ("c64[]", "(1, 2)", true),
            ("pred[]", "true", true),
            ("pred[]", "7", true),
            ("s32[]", "true", false),
            ("bf16[]", "nan(0x7f)", true),
            ("bf16[]", "nan(0x80)", false),
            ("(f32[], s32[2])", "(1, {2, 3})", true),
            ("(f32[2], s32[])", "{...}", true),
            ("token[]", "1", false),
        ] {
            assert_eq!(accepts(shape, text), expected, "{shape} {text}");
        }
    }
}
