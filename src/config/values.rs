//! Values of a configuration file, read as what their keys take. Errors are sentences.

use super::nearest::unknown;
use super::{Pattern, parse_bytes};
use crate::target::Chip;
use toml::de::{DeArray, DeTable, DeValue};

fn wrong<T>(value: &DeValue<'_>, wanted: &str) -> Result<T, String> {
    Err(format!("{wanted} belongs here, this is of type {}", value.type_str()))
}

/// A text.
pub(super) fn text<'d>(value: &'d DeValue<'_>) -> Result<&'d str, String> {
    value.as_str().map_or_else(|| wrong(value, "a text in quotes"), Ok)
}

/// A text that says something.
pub(super) fn some_text<'d>(value: &'d DeValue<'_>) -> Result<&'d str, String> {
    match text(value)? {
        said if said.trim().is_empty() => Err("it says nothing".to_owned()),
        said => Ok(said),
    }
}

/// A size: a text with a unit, or a number of bytes.
pub(super) fn size(value: &DeValue<'_>) -> Result<u64, String> {
    match (value.as_str(), value.as_integer()) {
        (Some(text), _) => parse_bytes(text),
        (_, Some(integer)) => u64::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| "it is no number of bytes".to_owned()),
        _ => wrong(value, "a size such as \"14GiB\""),
    }
}

/// A number that is finite and not negative.
pub(super) fn number(value: &DeValue<'_>) -> Result<f64, String> {
    let number = match (value.as_float(), value.as_integer()) {
        (Some(float), _) => float.as_str().parse().ok(),
        (_, Some(integer)) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|whole| whole as f64)
        }
        _ => return wrong(value, "a number"),
    };
    let is_fine = |number: &f64| number.is_finite() && *number >= 0.0;
    number.filter(is_fine).ok_or_else(|| "it is no number from 0".to_owned())
}

/// A number between 0 and 1.
pub(super) fn share(value: &DeValue<'_>) -> Result<f64, String> {
    let share = number(value)?;
    if share <= 1.0 { Ok(share) } else { Err("a share is a number from 0 to 1".to_owned()) }
}

/// A table.
pub(super) fn table<'d>(value: &'d DeValue<'d>) -> Result<&'d DeTable<'d>, String> {
    value.as_table().map_or_else(|| wrong(value, "a table"), Ok)
}

/// A list.
pub(super) fn list<'d>(value: &'d DeValue<'d>) -> Result<&'d DeArray<'d>, String> {
    value.as_array().map_or_else(|| wrong(value, "a list of tables ([[...]])"), Ok)
}

/// A pattern of names.
pub(super) fn pattern(value: &DeValue<'_>) -> Result<Pattern, String> {
    Pattern::new(text(value)?)
}

/// A chip.
pub(super) fn chip(value: &DeValue<'_>) -> Result<Chip, String> {
    let word = text(value)?;
    let chips: Vec<Chip> = Chip::all().collect();
    Chip::from_name(word).map_or_else(|| name(value, "chip", &chips, Chip::name), Ok)
}

/// One of several named things.
pub(super) fn name<T: Copy>(
    value: &DeValue<'_>,
    what: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, String> {
    let word = text(value)?;
    let names: Vec<&str> = all.iter().map(|&one| name_of(one)).collect();
    let found = all.iter().copied().find(|&one| name_of(one) == word);
    found.ok_or_else(|| {
        let message = unknown(what, word, names.iter().copied());
        format!("{message} (one of {})", names.join(", "))
    })
}
