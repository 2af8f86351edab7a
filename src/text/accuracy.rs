//! `result_accuracy=` and `statistics=` (facts: grammar sections 4.3, 5.5).

use super::cursor::{Input, Outcome, expected, list, problem, space};
use super::error::Kind;
use super::lexeme::attribute_name;
use super::number::{Number, double, number};
use super::window::fields;
use super::words::one_of;

/// `{mode=highest}` or `{tolerance={atol=0.5,rtol=1e-3,ulps=2}}`.
pub(super) fn result_accuracy<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let mut count = 0;
    let (rest, ()) = fields(input, |at, name, value| {
        count += 1;
        match name {
            "mode" => one_of(value, &["default", "highest"]),
            "tolerance" => fields(value, |at, name, value| match name {
                "atol" | "rtol" | "ulps" => double(value).map(|(rest, _)| (rest, ())),
                _ => problem(at, Kind::UnexpectedAttribute("a tolerance")),
            }),
            _ => problem(at, Kind::UnexpectedAttribute("a result accuracy")),
        }
    })?;
    if count == 1 { Ok((rest, ())) } else { expected(start, "`{mode=..}` or `{tolerance=..}`") }
}

/// `{visualizing_index=1,name=33}`.
pub(super) fn statistics<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    let mut first = true;
    list(input, '{', '}', |input| {
        let (input, _) = attribute_name(input)?;
        let at = space(input);
        let (input, value) = number(input)?;
        let whole = std::mem::replace(&mut first, false);
        match value {
            Number::Integer(_) => Ok((input, ())),
            Number::Decimal(_) if !whole => Ok((input, ())),
            _ => expected(at, if whole { "an integer" } else { "a number" }),
        }
    })
}
