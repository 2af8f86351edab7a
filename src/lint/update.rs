//! Which entry parameters a result is a new version of: `w - lr * g` of `w`, a cache with a slice
//! written into it, what a loop carries and updates. A gradient has the shape of a parameter but does
//! not come from it element by element; `tanh(x)` does, but nothing is added to it.

use super::Context;
use crate::hlo::{Attribute, CallRole, ComputationId, InstructionId, Module, Opcode, ShapeIndex};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// How many instructions are looked at for one program.
const MOST_STEPS: u32 = 1 << 20;

/// How many instructions are looked at for what is added.
const DELTA_STEPS: usize = 64;

/// How deep loops may stand in loops.
const DEPTH: u32 = 8;

/// An instruction and where in its shape.
pub(super) type Place = (InstructionId, ShapeIndex);

/// What is known of a chain from a result to a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Update {
    /// The data goes through as it is, or each element is computed from itself.
    None,
    /// Something is added that says nothing of itself: `x + y`.
    Weak,
    /// A gradient, a scaled sum or a slice is written into it.
    Sure,
}

/// The search, with its limit over all results of a program.
pub(super) struct Search<'c, 'a> {
    context: &'c Context<'a>,
    steps_left: u32,
}

impl<'c, 'a> Search<'c, 'a> {
    pub(super) fn new(context: &'c Context<'a>) -> Search<'c, 'a> {
        Search { context, steps_left: MOST_STEPS }
    }

    /// The entry parameters that a result is a new version of, the nearest first.
    pub(super) fn updated(&mut self, result: &Place) -> Vec<(InstructionId, Update)> {
        let sources = self.sources(self.context.module.entry, result.clone(), DEPTH);
        sources
            .into_iter()
            .filter(|((_, index), update)| index.is_empty() && *update != Update::None)
            .map(|((id, _), update)| (id, update))
            .collect()
    }

    /// The parameters of a computation, and where in them, that a value in it comes from element by
    /// element.
    fn sources(&mut self, scope: ComputationId, from: Place, depth: u32) -> Vec<(Place, Update)> {
        let module = self.context.module;
        let mut found: Vec<(Place, Update)> = Vec::new();
        let mut seen: FxHashSet<(Place, Update)> = FxHashSet::default();
        let mut queue = VecDeque::from([(from, Update::None)]);
        while let Some((place, update)) = queue.pop_front() {
            if self.steps_left == 0 {
                break;
            }
            if !seen.insert((place.clone(), update)) {
                continue;
            }
            self.steps_left -= 1;
            let is_parameter = module.opcode(place.0) == Opcode::Parameter;
            if is_parameter && module.instruction(place.0).computation == scope {
                match found.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, known)) => *known = (*known).max(update),
                    None => found.push((place, update)),
                }
                continue;
            }
            if module.opcode(place.0) == Opcode::While {
                queue.extend(self.around(&place, update, depth));
            } else {
                self.step(&place, update, &mut queue);
            }
        }
        found
    }

    /// From what a loop returns to what it starts with, where the body updates the element or hands
    /// it on.
    fn around(
        &mut self,
        (id, index): &Place,
        update: Update,
        depth: u32,
    ) -> Option<(Place, Update)> {
        let module = self.context.module;
        let (_, body) = module.calls(*id).find(|(role, _)| *role == CallRole::WhileBody)?;
        let root = module.computations.get(body.index())?.root;
        let depth = depth.checked_sub(1)?;
        let inside = self.sources(body, (root, index.clone()), depth);
        let own = inside.into_iter().filter(|((_, at), _)| at == index).map(|(_, of)| of).max()?;
        let start = *module.operands(*id).first()?;
        Some(((start, index.clone()), own.max(update)))
    }

    /// One step upstream, to all operands that the elements come from.
    fn step(&self, place: &Place, update: Update, queue: &mut VecDeque<(Place, Update)>) {
        let module = self.context.module;
        let (id, index) = place;
        if let Some(next) = hand_on(self.context, place) {
            queue.push_back((next, update));
            return;
        }
        let operands = module.operands(*id);
        let mut go = |operand: Option<&InstructionId>, update: Update| {
            if let Some(&operand) = operand {
                queue.push_back(((operand, ShapeIndex::new()), update));
            }
        };
        match module.opcode(*id) {
            Opcode::Convert | Opcode::ReducePrecision => go(operands.first(), update),
            Opcode::Add => {
                let of = |base, delta| self.addition(base, delta).max(update);
                if let &[a, b] = operands {
                    go(Some(&a), of(a, b));
                    go(Some(&b), of(b, a));
                }
            }
            Opcode::Subtract => {
                if let &[a, b] = operands {
                    go(Some(&a), self.addition(a, b).max(update));
                }
            }
            Opcode::Multiply => {
                if let &[a, b] = operands {
                    if is_scalar(self.context, b) {
                        go(Some(&a), update);
                    } else if is_scalar(self.context, a) {
                        go(Some(&b), update);
                    }
                }
            }
            Opcode::Divide => {
                if let &[a, b] = operands
                    && is_scalar(self.context, b)
                {
                    go(Some(&a), update);
                }
            }
            Opcode::Select => {
                go(operands.get(1), update);
                go(operands.get(2), update);
            }
            Opcode::Clamp => go(operands.get(1), update),
            Opcode::DynamicUpdateSlice => go(operands.first(), Update::Sure),
            Opcode::Scatter => {
                // N operands, one index array, N updates.
                let at = index.first().map_or(0, |&at| at as usize);
                go(operands.get(at).filter(|_| at < operands.len() / 2), Update::Sure);
            }
            Opcode::CustomCall => {
                for attribute in module.attributes(*id) {
                    if let Attribute::OutputToOperandAlias(pair) = attribute
                        && pair.output == *index
                        && let Ok(operand) = usize::try_from(pair.operand)
                        && let Some(&operand) = operands.get(operand)
                    {
                        queue.push_back(((operand, pair.operand_index.clone()), Update::Sure));
                    }
                }
                if is_table_update(module, *id) {
                    self.tables(place, queue);
                }
            }
            // Each device updates its part, and the parts are gathered: the elements stay in place.
            Opcode::DynamicSlice => go(operands.first(), update),
            Opcode::AllGather if operands.len() == 1 => go(operands.first(), update),
            Opcode::AllGather => {
                go(index.first().and_then(|&at| operands.get(at as usize)), update)
            }
            Opcode::AllGatherStart if operands.len() == 1 => go(operands.first(), update),
            Opcode::Conditional => {
                for (_, branch) in module.calls(*id) {
                    if let Some(branch) = module.computations.get(branch.index()) {
                        queue.push_back(((branch.root, index.clone()), update));
                    }
                }
            }
            _ => {}
        }
    }

    /// From a table that a SparseCore's optimizer updates to the operands that have its shape.
    fn tables(&self, (id, index): &Place, queue: &mut VecDeque<(Place, Update)>) {
        let module = self.context.module;
        let array = |id, index: &[u32]| {
            let shape = module.subshape(id, index)?;
            let array = module.shapes.get(shape).array()?;
            Some((array.element_type, &array.dimensions))
        };
        let table = array(*id, index);
        let operands = module.operands(*id).iter();
        let alike = operands.filter(|&&operand| table.is_some() && array(operand, &[]) == table);
        queue.extend(alike.map(|&operand| ((operand, ShapeIndex::new()), Update::Sure)));
    }

    /// What it means that something is added to (or taken from) a value.
    fn addition(&self, base: InstructionId, delta: InstructionId) -> Update {
        if is_scalar(self.context, delta) {
            return Update::None;
        }
        let delta = self.look_at(delta);
        let is_scaled = delta.is_scaled || self.is_scaled(base);
        if delta.is_backward || delta.is_computed && is_scaled {
            Update::Sure
        } else {
            Update::Weak
        }
    }

    /// Looks at what is added, element by element upstream.
    fn look_at(&self, delta: InstructionId) -> Delta {
        let module = self.context.module;
        let mut found = Delta::default();
        let mut seen = FxHashSet::default();
        let mut stack = vec![(delta, ShapeIndex::new())];
        while let Some(place) = stack.pop() {
            if seen.len() >= DELTA_STEPS || !seen.insert(place.clone()) {
                continue;
            }
            let (id, _) = place;
            let op_name = module.metadata(id).map_or("", |metadata| metadata.op_name);
            found.is_backward |= super::is_backward(op_name);
            if let Some(next) = hand_on(self.context, &place) {
                stack.push(next);
                continue;
            }
            match module.opcode(id) {
                Opcode::Broadcast | Opcode::Constant | Opcode::Iota | Opcode::Parameter => {}
                opcode if opcode.is_elementwise() => {
                    found.is_scaled |= self.is_scaled(id);
                    let operands = module.operands(id).iter();
                    stack.extend(operands.map(|&operand| (operand, ShapeIndex::new())));
                }
                _ => found.is_computed = true,
            }
        }
        found
    }

    /// Whether a value is another one times a scalar.
    fn is_scaled(&self, id: InstructionId) -> bool {
        let module = self.context.module;
        let mut place = (id, ShapeIndex::new());
        for _ in 0..DELTA_STEPS {
            match hand_on(self.context, &place) {
                Some(next) => place = next,
                None if module.opcode(place.0) == Opcode::Convert => {
                    let Some(&operand) = module.operands(place.0).first() else { return false };
                    place = (operand, ShapeIndex::new());
                }
                None => break,
            }
        }
        matches!(module.opcode(place.0), Opcode::Multiply | Opcode::Divide)
            && module.operands(place.0).iter().any(|&operand| is_scalar(self.context, operand))
    }
}

/// What is added to a value.
#[derive(Clone, Copy, Debug, Default)]
struct Delta {
    /// An operation of the backward pass is in it.
    is_backward: bool,
    /// It is not computed element by element: a product, a reduction, something a loop returns.
    is_computed: bool,
    /// It is multiplied by a scalar.
    is_scaled: bool,
}

/// The one place upstream that holds the same data, for instructions that only hand it on: copies,
/// bitcasts, tuples, fusions and calls, in and out.
pub(super) fn hand_on(context: &Context<'_>, (id, index): &Place) -> Option<Place> {
    let module = context.module;
    let operands = module.operands(*id);
    let operand = |number: usize| operands.get(number).copied();
    match module.opcode(*id) {
        Opcode::Copy | Opcode::Bitcast | Opcode::Reshape | Opcode::OptBarrier => {
            Some((operand(0)?, index.clone()))
        }
        Opcode::CopyDone => Some((operand(0)?, ShapeIndex::from_slice(&[0]))),
        Opcode::CopyStart => Some((operand(0)?, ShapeIndex::new())),
        Opcode::GetTupleElement => {
            let mut inner =
                ShapeIndex::from_slice(&[u32::try_from(module.tuple_index(*id)?).ok()?]);
            inner.extend_from_slice(index);
            Some((operand(0)?, inner))
        }
        Opcode::Tuple => {
            let (&first, rest) = index.split_first()?;
            Some((operand(first as usize)?, rest.into()))
        }
        Opcode::AsyncDone | Opcode::AllGatherDone => {
            let mut inner = ShapeIndex::from_slice(&[1]);
            inner.extend_from_slice(index);
            Some((operand(0)?, inner))
        }
        Opcode::AsyncStart => {
            let (&first, rest) = index.split_first()?;
            let root = root_of_body(module, *id).filter(|_| first == 1)?;
            Some((root, rest.into()))
        }
        Opcode::Fusion | Opcode::Call => Some((root_of_body(module, *id)?, index.clone())),
        Opcode::Parameter => outside(context, *id, index),
        Opcode::CustomCall if is_annotation(module, *id) => match index.split_first() {
            Some((&first, rest)) => Some((operand(first as usize)?, rest.into())),
            None => Some((operand(0)?, ShapeIndex::new())),
        },
        _ => None,
    }
}

/// Whether an instruction updates embedding tables by their gradients.
fn is_table_update(module: &Module<'_>, id: InstructionId) -> bool {
    let target = module.custom_call_target(id).unwrap_or("");
    target.contains("SparseDenseMatmulGrad")
}

/// Whether a custom-call only says how a value is spread over devices.
fn is_annotation(module: &Module<'_>, id: InstructionId) -> bool {
    const TARGETS: &[&str] = &["Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"];
    let target = module.custom_call_target(id).unwrap_or("");
    target.starts_with("xla.sdy.") || TARGETS.contains(&target)
}

fn root_of_body(module: &Module<'_>, id: InstructionId) -> Option<InstructionId> {
    let (_, body) = module.calls(id).find(|(role, _)| *role == CallRole::Body)?;
    Some(module.computations.get(body.index())?.root)
}

/// What the only caller of a fusion, call or branch hands in.
fn outside(context: &Context<'_>, parameter: InstructionId, index: &ShapeIndex) -> Option<Place> {
    let module = context.module;
    let [caller] = context.graph.callers(module.instruction(parameter).computation) else {
        return None;
    };
    let operands = module.operands(caller.instruction);
    let number = match caller.role {
        CallRole::Body => usize::try_from(module.parameter_number(parameter)?).ok()?,
        CallRole::Branch(branch) => (branch as usize).checked_add(1)?,
        _ => return None,
    };
    Some((*operands.get(number)?, index.clone()))
}

/// Whether a value is one number for many elements: a broadcast, a constant scalar.
fn is_scalar(context: &Context<'_>, id: InstructionId) -> bool {
    let module = context.module;
    let mut place = (id, ShapeIndex::new());
    for _ in 0..DELTA_STEPS {
        let is_array_of_many = module
            .subshape(place.0, &place.1)
            .and_then(|shape| module.shapes.get(shape).array())
            .is_some_and(|array| array.elements() != Some(1));
        if !is_array_of_many || module.opcode(place.0) == Opcode::Broadcast {
            return true;
        }
        match hand_on(context, &place) {
            Some(next) => place = next,
            None if module.opcode(place.0) == Opcode::Convert => {
                let Some(&operand) = module.operands(place.0).first() else { return false };
                place = (operand, ShapeIndex::new());
            }
            None => return module.opcode(place.0) == Opcode::Constant,
        }
    }
    false
}
