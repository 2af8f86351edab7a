//! `origin=` and the header's `origin_recovery_table=` (facts: grammar sections 2.1, 5.7).

use super::cursor::{Input, Outcome};
use super::reader::Reader;
use super::value::any_value;

/// The header's table.
pub(super) fn origin_recovery_table<'a>(
    input: Input<'a>,
    _reader: &mut Reader<'a>,
) -> Outcome<'a, ()> {
    any_value(input)
}
