//! The frame tables between the header and the first computation (facts: grammar section 2.2).

use super::cursor::{Input, Outcome, eat, peek, problem, space, symbol};
use super::error::Kind;
use super::lexeme::{attribute_name, eat_keyword, integer, integer32, keyword, string};
use super::reader::Reader;
use crate::hlo::{FileLocation, StackFrame};

/// All four tables, or none.
pub(super) fn frame_tables<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let (mut input, true) = eat_keyword(input, "FileNames") else {
        return Ok((input, ()));
    };
    let frames = &mut reader.frames;
    frames.present = true;
    while starts_entry(input) {
        input = numbered_string(input, &mut frames.file_names)?.0;
    }
    (input, ()) = keyword(input, "FunctionNames")?;
    while starts_entry(input) {
        input = numbered_string(input, &mut frames.function_names)?.0;
    }
    (input, ()) = keyword(input, "FileLocations")?;
    while starts_entry(input) {
        let location;
        (input, location) = file_location(input)?;
        frames.locations.push(location);
    }
    (input, ()) = keyword(input, "StackFrames")?;
    while starts_entry(input) {
        let frame;
        (input, frame) = stack_frame(input)?;
        frames.frames.push(frame);
    }
    Ok((input, ()))
}

fn starts_entry(input: Input<'_>) -> bool {
    matches!(peek(input), b'0'..=b'9' | b'-')
}

fn numbered_string<'a>(input: Input<'a>, strings: &mut Vec<&'a str>) -> Outcome<'a, ()> {
    let (input, _) = integer(input)?;
    let (input, found) = string(input)?;
    strings.push(found);
    Ok((input, ()))
}

fn file_location<'a>(input: Input<'a>) -> Outcome<'a, FileLocation> {
    let fields = ["file_name_id", "function_name_id", "line", "end_line", "column", "end_column"];
    let (input, _) = integer(input)?;
    let (input, [file_name_id, function_name_id, line, end_line, column, end_column]) =
        fields_of(input, fields)?;
    let location =
        FileLocation { file_name_id, function_name_id, line, end_line, column, end_column };
    Ok((input, location))
}

fn stack_frame<'a>(input: Input<'a>) -> Outcome<'a, StackFrame> {
    let (input, _) = integer(input)?;
    let (input, [file_location_id, parent_frame_id]) =
        fields_of(input, ["file_location_id", "parent_frame_id"])?;
    Ok((input, StackFrame { file_location_id, parent_frame_id }))
}

/// `{a=1 b=2}`: all of these fields, in any order, commas between them or not.
fn fields_of<'a, const N: usize>(
    input: Input<'a>,
    names: [&'static str; N],
) -> Outcome<'a, [i32; N]> {
    let (mut input, ()) = symbol('{')(input)?;
    let mut values = [None; N];
    loop {
        let start = space(input);
        if let (rest, true) = eat(input, '}') {
            for (value, name) in values.iter().zip(names) {
                if value.is_none() {
                    return problem(start, Kind::MissingAttribute(name));
                }
            }
            return Ok((rest, values.map(Option::unwrap_or_default)));
        }
        (input, _) = eat(input, ',');
        let start = space(input);
        let (rest, field) = attribute_name(input)?;
        let Some(at) = names.iter().position(|&name| name == field) else {
            return problem(start, Kind::UnexpectedAttribute("an entry of the frame tables"));
        };
        let value;
        (input, value) = integer32(rest)?;
        if values[at].replace(value).is_some() {
            return problem(start, Kind::Duplicate("field"));
        }
    }
}
