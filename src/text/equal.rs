//! Whether two modules say the same: what print and read again must keep.

use super::asynchronous::name_of;
use crate::hlo::{Attribute, Instruction, InstructionId, Module, Shape, ShapeId};
use rustc_hash::FxHashMap;

/// The first thing in which two modules differ; `None` if they say the same. Places in the text, the
/// numbers of shapes, metadata and shardings, and the order of attributes do not count.
pub fn difference(left: &Module<'_>, right: &Module<'_>) -> Option<String> {
    let mut comparison = Comparison { left, right, shapes: FxHashMap::default() };
    comparison
        .headers()
        .or_else(|| comparison.computations())
        .or_else(|| left.ids().find_map(|id| comparison.instruction(id)))
}

struct Comparison<'m> {
    left: &'m Module<'m>,
    right: &'m Module<'m>,
    /// Shapes that were found equal.
    shapes: FxHashMap<(ShapeId, ShapeId), bool>,
}

impl Comparison<'_> {
    fn headers(&mut self) -> Option<String> {
        let (left, right) = (self.left, self.right);
        if (left.name, left.form, left.entry) != (right.name, right.form, right.entry) {
            return Some("name, form or entry".to_owned());
        }
        if left.frames != right.frames {
            return Some("frame tables".to_owned());
        }
        let (mut of_left, mut of_right) = (left.header.clone(), right.header.clone());
        let layouts =
            (of_left.entry_computation_layout.take(), of_right.entry_computation_layout.take());
        let same_layout = match layouts {
            (None, None) => true,
            (Some((left, left_result)), Some((right, right_result))) => {
                left.len() == right.len()
                    && left.iter().zip(&right).all(|(&left, &right)| self.same_shape(left, right))
                    && self.same_shape(left_result, right_result)
            }
            _ => false,
        };
        (of_left != of_right || !same_layout).then(|| "header".to_owned())
    }

    fn computations(&mut self) -> Option<String> {
        let (left, right) = (self.left, self.right);
        if left.computations.len() != right.computations.len() {
            return Some("number of computations".to_owned());
        }
        for (of_left, of_right) in left.computations.iter().zip(&right.computations) {
            let same_result = match (of_left.result, of_right.result) {
                (None, None) => true,
                (Some(left), Some(right)) => self.same_shape(left, right),
                _ => false,
            };
            let parts = |of: &crate::hlo::Computation<'_>| (of.instructions, of.root);
            if of_left.name != of_right.name
                || of_left.execution_thread != of_right.execution_thread
                || parts(of_left) != parts(of_right)
                || !same_result
            {
                return Some(format!("computation {}", of_left.name));
            }
        }
        None
    }

    fn instruction(&mut self, id: InstructionId) -> Option<String> {
        let (left, right) = (self.left, self.right);
        let of_left = left.instruction(id);
        let Some(of_right) = right.instructions.get(id.index()) else {
            return Some("number of instructions".to_owned());
        };
        let parts = |of: &Instruction<'_>| (of.opcode, of.computation);
        let same = of_left.name == of_right.name
            && parts(of_left) == parts(of_right)
            && left.operands(id) == right.operands(id)
            && self.same_shape(of_left.shape, of_right.shape);
        if !same {
            return Some(format!("instruction {}", of_left.name));
        }
        (attributes(left, id) != attributes(right, id))
            .then(|| format!("attributes of instruction {}", of_left.name))
    }

    fn same_shape(&mut self, left: ShapeId, right: ShapeId) -> bool {
        if let Some(&same) = self.shapes.get(&(left, right)) {
            return same;
        }
        let same = match (self.left.shapes.get(left), self.right.shapes.get(right)) {
            (Shape::Tuple(of_left), Shape::Tuple(of_right)) => {
                of_left.len() == of_right.len()
                    && of_left
                        .iter()
                        .zip(of_right.iter())
                        .all(|(&left, &right)| self.same_shape(left, right))
            }
            (left, right) => left == right,
        };
        self.shapes.insert((left, right), same);
        same
    }
}

/// The attributes of an instruction without numbers that depend on the reading, in the order of
/// their names.
fn attributes(module: &Module<'_>, id: InstructionId) -> Vec<String> {
    let mut texts: Vec<(Option<crate::hlo::AttributeName>, String)> = module
        .attributes(id)
        .iter()
        .map(|attribute| {
            let text = match attribute {
                Attribute::Sharding(id) => module.sharding_texts[id.index()].to_owned(),
                Attribute::Metadata(id) => format!("{:?}", module.metadata[id.index()]),
                other => format!("{other:?}"),
            };
            (name_of(attribute), text)
        })
        .collect();
    texts.sort_by_key(|(name, _)| *name);
    texts.into_iter().map(|(_, text)| text).collect()
}
