//! Bytes in; an [`hlo::Module`](crate::hlo::Module) out, and back to text.
//!
//! One pass, zero copy. A parser function reads one production of `grammar/hlo.ebnf` and has its
//! name; it takes the rest of the text and returns what is left of it, as nom parsers do. Those
//! that build something also take the `reader::Reader`, which owns the arenas, the names of the
//! computations that are open, and caches of the few distinct shapes and shardings of a text.

mod accuracy;
mod asynchronous;
mod attribute;
mod called;
mod check;
mod collective;
mod computation;
mod cursor;
mod domain;
mod equal;
mod error;
mod excerpt;
#[cfg(test)]
mod grammar_test;
mod header;
mod infer;
mod instruction;
mod layout;
mod lexeme;
mod literal;
mod mesh;
mod metadata;
mod number;
mod opcode;
mod operand;
mod origin;
mod print;
mod print_header;
mod print_shape;
mod reader;
mod shape;
mod sharding;
mod tables;
mod value;
mod window;
mod words;

pub use equal::difference;
pub use error::{Location, ParseError, location};
pub use excerpt::{Excerpt, excerpt};
pub use print::{print, print_computation};
pub use print_shape::shape_text;
pub use reader::Warning;

use crate::hlo::{Form, Module};
use cursor::{Input, Outcome, peek, space};
use error::Problem;
use reader::Reader;

/// How unknown names are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Attributes, opcodes and element types that are not known are errors.
    Strict,
    /// They are warnings, so that a dump of another version can be analysed.
    #[default]
    Lenient,
}

/// A module, and what was odd about its text.
#[derive(Clone, Debug)]
pub struct Parsed<'src> {
    /// The module.
    pub module: Module<'src>,
    /// Older syntax, unknown names.
    pub warnings: Vec<Warning>,
}

/// Reads a HLO text, leniently.
///
/// # Errors
/// Where the text is no HLO: the place and what was expected there.
pub fn parse(text: &str) -> Result<Parsed<'_>, ParseError> {
    parse_with(text, Strictness::Lenient)
}

/// Reads a HLO text from bytes, leniently.
///
/// # Errors
/// Where the bytes are not UTF-8 or the text is no HLO.
pub fn parse_bytes(bytes: &[u8]) -> Result<Parsed<'_>, ParseError> {
    parse(decode(bytes)?)
}

/// The text of bytes.
///
/// # Errors
/// Where they are not UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes).map_err(|error| ParseError {
        offset: error.valid_up_to(),
        message: "this byte is not UTF-8 text".to_owned(),
    })
}

/// Reads a HLO text.
///
/// # Errors
/// Where the text is no HLO: the place and what was expected there.
pub fn parse_with(text: &str, strictness: Strictness) -> Result<Parsed<'_>, ParseError> {
    if u32::try_from(text.len()).is_err() {
        let message = "the text is 4 GiB long or longer: too long to be read".to_owned();
        return Err(ParseError { offset: 0, message });
    }
    if let Some(offset) = memchr::memchr(0, text.as_bytes()) {
        return Err(ParseError { offset, message: "a NUL byte is no part of HLO text".to_owned() });
    }
    let mut reader = Reader::new(text, strictness);
    match module(text, &mut reader) {
        Ok((_, name)) => {
            let warnings = std::mem::take(&mut reader.warnings);
            Ok(Parsed { module: reader.finish(name)?, warnings })
        }
        Err(error) => {
            let problem = match error {
                nom::Err::Error(problem) | nom::Err::Failure(problem) => problem,
                // All parser functions are of nom's complete kind.
                nom::Err::Incomplete(_) => {
                    Problem { remaining: 0, kind: error::Kind::Expected("more text") }
                }
            };
            let inside = match reader.inside {
                "" => "the header".to_owned(),
                name => format!("computation {name}"),
            };
            Err(problem.into_error(text, &inside))
        }
    }
}

/// A whole text. Returns the name of the module.
fn module<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, &'a str> {
    if !header::starts_module(input) {
        return headerless(input, reader);
    }
    let (input, name) = header::header(input, reader)?;
    let (input, ()) = tables::frame_tables(input, reader)?;
    let (input, ()) = computations(input, reader)?;
    Ok((input, name))
}

/// One computation or more, up to the end of the text.
fn computations<'a>(mut input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    loop {
        (input, ()) = computation::computation(input, reader)?;
        if space(input).is_empty() {
            return Ok((input, ()));
        }
    }
}

/// A text without a header: computations, or a single instruction.
fn headerless<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, &'a str> {
    let (_, is_entry) = lexeme::eat_keyword(input, "ENTRY");
    let second = lexeme::name(input).map_or(0, |(rest, _)| peek(rest));
    if !is_entry && second != b'{' {
        reader.form = Form::SingleInstruction;
        let (input, ()) = instruction::single_instruction(input, reader)?;
        return Ok((input, "_"));
    }
    reader.form = Form::Headerless;
    let (input, ()) = computations(input, reader)?;
    let entry = reader.entry.and_then(|entry| reader.computations.get(entry.index()));
    let name = entry.or(reader.computations.last()).map_or("", |computation| computation.name);
    Ok((input, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::{CallRole, Opcode};

    #[test]
    fn inline_bodies_stand_before_the_computation_that_holds_them() {
        let text = "HloModule m
            add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
            ENTRY e {
              p = f32[4] parameter(0)
              z = f32[] constant(0)
              i = f32[] reduce(p, z), dimensions={0}, to_apply={ x = f32[] parameter(0)
                y = f32[] parameter(1) ROOT r = f32[] multiply(x, y) }
              n = f32[] negate(i), control-predecessors={z}
              ROOT r = f32[] reduce(abs(p), n), dimensions={0}, to_apply=%add
            }";
        let module = parse_with(text, Strictness::Strict).expect("a module").module;
        assert_eq!(module.computations.len(), 3);
        assert_eq!(module.entry.0, 2);
        let entry = module.entry();
        assert_eq!(entry.instructions.range(), 6..12);
        let names: Vec<_> = entry.ids().map(|id| module.instruction(id).name).collect();
        assert_eq!(names, ["p", "z", "i", "n", "", "r"]);
        let root = entry.root;
        assert_eq!(root.0, 11);
        let operands: Vec<_> = module.operands(root).iter().map(|id| id.0).collect();
        assert_eq!(operands, [10, 9]);
        assert_eq!(module.opcode(module.operands(root)[0]), Opcode::Abs);
        let predecessors: Vec<_> =
            module.control_predecessors(module.operands(root)[1]).map(|id| id.0).collect();
        assert_eq!(predecessors, [7]);
        let (role, body) = module.calls(crate::hlo::InstructionId(8)).next().expect("a call");
        assert_eq!((role, body.0), (CallRole::Apply, 1));
        assert!(entry.ids().all(|id| module.instruction(id).computation == module.entry));
    }
}
