//! The partitioner's warning that it holds a value whole on every device to get from one sharding to
//! another. Compiles that work print it, too.

use super::line::{ahead, between};
use super::table::{quoted, source};
use crate::hlo::ElementType;
use schemars::JsonSchema;
use serde::Serialize;

/// A value that is whole on every device for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Resharding {
    /// The sharding it has.
    pub from: String,
    /// The sharding it is to have.
    pub to: String,
    /// The instruction in the module before partitioning, where the message names it.
    pub instruction: Option<String>,
    /// Its shape, with the layout.
    pub shape: Option<String>,
    /// What the whole value takes without padding.
    pub whole_bytes: Option<u64>,
    /// The operation in the user's program.
    pub op_name: Option<String>,
    /// The user's file and line.
    pub source: Option<String>,
    /// How often it was said.
    pub count: usize,
}

/// `Involuntary full rematerialization. The compiler cannot go from sharding A to B efficiently for HLO
/// operation %name = shape opcode(..), sharding=.., metadata={..}`; older: `was not able to go from
/// sharding A to B without doing a full rematerialization of the tensor [for HLO operation: ..]`.
pub fn read(log: &[u8], offset: usize) -> Option<Resharding> {
    const REACH: usize = 16 << 10;
    let text = ahead(log, offset, REACH);
    let line = text.lines().next()?;
    let (from, rest) = line.split_once(" go from sharding ")?.1.split_once("} to {")?;
    let to = rest.split_once(" without doing ").or_else(|| rest.split_once(" efficiently "))?.0;
    let mut found = Resharding {
        from: format!("{from}}}"),
        to: format!("{{{to}"),
        count: 1,
        ..Resharding::default()
    };
    let operation = rest.split_once("for HLO operation").map(|(_, operation)| operation);
    let operation =
        operation.and_then(|operation| operation.trim_start_matches([':', ' ']).split_once(" = "));
    if let Some((name, defined)) = operation {
        let shape = defined.split(' ').next().filter(|shape| !shape.starts_with('('));
        found.instruction = Some(name.trim_start_matches('%').to_owned());
        found.whole_bytes = shape.and_then(bytes_of);
        found.shape = shape.map(str::to_owned);
        let metadata = between(defined, "metadata={", "}.").unwrap_or(defined);
        found.op_name = quoted(metadata, "op_name=\"");
        found.source = source(metadata);
    }
    Some(found)
}

/// The bytes of `f32[16,16,16]{2,1,0}` without padding.
fn bytes_of(shape: &str) -> Option<u64> {
    let (element_type, rest) = shape.split_once('[')?;
    let bits = ElementType::from_text(element_type)?.bits();
    let mut elements: u64 = 1;
    for size in rest.split(']').next()?.split(',').filter(|size| !size.is_empty()) {
        elements = elements.checked_mul(size.parse().ok()?)?;
    }
    Some(elements.checked_mul(bits)?.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::{bytes_of, read};

    /// Own wording of operations, with the fixed words of each release.
    #[test]
    fn every_form() {
        let cases = [
            (
                "Involuntary full rematerialization. The compiler was not able to go from sharding \
                 {devices=[2,1,4]<=[4,2]T(1,0)} to {devices=[1,8,1]<=[8]} without doing a full \
                 rematerialization of the tensor. You",
                ("{devices=[2,1,4]<=[4,2]T(1,0)}", "{devices=[1,8,1]<=[8]}", None, None),
            ),
            (
                "Involuntary full rematerialization. The compiled was not able to go from sharding \
                 {maximal device=0} to {replicated} without doing a full rematerialization of the \
                 tensor for HLO operation: %pad.3 = f64[96]{0} pad(%a, %b), padding=8_7. You",
                ("{maximal device=0}", "{replicated}", Some("pad.3"), Some(768)),
            ),
            (
                "Involuntary full rematerialization. The compiler cannot go from sharding \
                 {devices=[2,4]<=[8]} to {devices=[1,8]<=[8]} efficiently for HLO operation %x = \
                 f32[16,16,16]{2,1,0} copy(%y), sharding={devices=[2,4]<=[8]}, \
                 metadata={op_name=\"jit(f)/add\" source_file=\"m.py\" source_line=7}. As",
                ("{devices=[2,4]<=[8]}", "{devices=[1,8]<=[8]}", Some("x"), Some(16384)),
            ),
        ];
        for (text, (from, to, name, bytes)) in cases {
            let found = read(text.as_bytes(), 0).unwrap();
            assert_eq!((found.from.as_str(), found.to.as_str()), (from, to), "{text}");
            assert_eq!((found.instruction.as_deref(), found.whole_bytes), (name, bytes), "{text}");
            if name == Some("x") {
                assert_eq!(found.source.as_deref(), Some("m.py:7"));
            }
        }
        assert_eq!(read(b"Involuntary full rematerialization of what", 0), None);
        assert_eq!(bytes_of("f32[18446744073709551615,4]"), None);
    }
}
