//! `domain={kind="sharding", entry={...}, exit={...}}` (facts: grammar section 4.3).

use super::cursor::{Input, Outcome, problem, space};
use super::error::Kind;
use super::lexeme::string;
use super::reader::Reader;
use super::sharding::sharding;
use super::window::fields;

/// All three fields; the kind is always `sharding`.
pub(super) fn domain<'a>(input: Input<'a>, reader: &mut Reader<'a>) -> Outcome<'a, ()> {
    let start = space(input);
    let mut count = 0;
    let (rest, ()) = fields(input, |at, name, value| {
        count += 1;
        match name {
            "kind" => match string(value)? {
                (rest, "sharding") => Ok((rest, ())),
                _ => problem(space(value), Kind::Wrong("the kind of a domain is \"sharding\"")),
            },
            "entry" | "exit" => sharding(value, reader).map(|(rest, _)| (rest, ())),
            _ => problem(at, Kind::UnexpectedAttribute("a domain")),
        }
    })?;
    if count == 3 {
        return Ok((rest, ()));
    }
    problem(start, Kind::Wrong("a domain has a kind, an entry and an exit"))
}
