//! Attributes whose value is one of a few words.

use super::cursor::{Input, Outcome, expected, list, problem, space};
use super::error::Kind;
use super::lexeme::word;
use crate::hlo::{AttributeName, Opcode};

const DOT_ALGORITHMS: &[&str] = &[
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_bf16_bf16_f32_x9",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "unset",
];

/// The words that an attribute allows; `None` where its value is no word.
pub(super) fn words_of(name: AttributeName, opcode: Opcode) -> Option<&'static [&'static str]> {
    use AttributeName as Name;
    Some(match name {
        Name::Direction => &["EQ", "NE", "GE", "GT", "LE", "LT"],
        Name::Type => &["FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"],
        Name::Order => &["TOTAL", "PARTIAL"],
        Name::FftType => &["FFT", "IFFT", "RFFT", "IRFFT"],
        Name::ConvolutionKind | Name::ConvKind => &["fprop", "wgrad", "dgrad", "unset"],
        Name::Distribution => &["rng_uniform", "rng_normal"],
        Name::Algorithm if opcode == Opcode::RngBitGenerator => {
            &["rng_default", "rng_philox", "rng_three_fry"]
        }
        Name::Algorithm => DOT_ALGORITHMS,
        Name::Kind => &["kLoop", "kInput", "kOutput", "kCustom"],
        Name::PaddingType => &["PADDING_SAME", "PADDING_VALID", "PADDING_INVALID"],
        Name::Schedule => &["SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"],
        Name::ApiVersion => &[
            "API_VERSION_ORIGINAL",
            "API_VERSION_STATUS_RETURNING",
            "API_VERSION_STATUS_RETURNING_UNIFIED",
            "API_VERSION_TYPED_FFI",
        ],
        Name::Mode => {
            &["cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"]
        }
        Name::TransposeA => &["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"],
        _ => return None,
    })
}

/// One of the words.
pub(super) fn one_of<'a>(input: Input<'a>, words: &[&'static str]) -> Outcome<'a, ()> {
    let start = space(input);
    let (rest, found) = match word(start) {
        Ok(found) => found,
        Err(_) => return expected(start, "a word that this attribute allows"),
    };
    if matches!(rest.as_bytes().first(), Some(b':' | b'=')) || !words.contains(&found) {
        return problem(start, Kind::Wrong("this attribute does not allow this value"));
    }
    Ok((rest, ()))
}

/// `{default,highest}`, in any case.
pub(super) fn precisions<'a>(input: Input<'a>) -> Outcome<'a, ()> {
    list(input, '{', '}', |input| {
        let start = space(input);
        let (rest, found) = word(input)?;
        if ["default", "high", "highest"].iter().any(|word| found.eq_ignore_ascii_case(word)) {
            return Ok((rest, ()));
        }
        problem(start, Kind::Wrong("a precision is `default`, `high` or `highest`"))
    })
}
