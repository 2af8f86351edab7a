//! What the parser functions build: the module's arenas, the computations that are open, caches.

use super::Strictness;
use super::cursor::{Input, Outcome, problem};
use super::error::{Kind, ParseError};
use crate::hlo::{
    Attribute, Computation, ComputationId, Form, FrameTables, Header, IdRange, Instruction,
    InstructionId, Metadata, MetadataId, Module, Opcode, Shape, ShapeId, Shapes, Sharding,
    ShardingId, Span,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// How deeply shapes, operands, inline bodies, shardings and literals may nest.
pub(super) const MAX_DEPTH: u32 = 500;

/// A place that was read with doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Offset of the byte it is about.
    pub offset: usize,
    /// What is odd; lower case, without a full stop.
    pub message: String,
}

/// A computation that is being read. Ids of its instructions count from `base` as if nothing were
/// put before it; inline bodies that are, shift them when it is closed.
#[derive(Default)]
pub(super) struct Frame<'a> {
    base: u32,
    first_computation: u32,
    /// Its instructions so far, once an inline body took their place in the module.
    detached: Option<Vec<Instruction<'a>>>,
    names: FxHashMap<&'a str, InstructionId>,
    root: Option<InstructionId>,
    /// Numbers of its parameters.
    parameters: FxHashSet<i64>,
    /// Attributes of the instruction that is being read.
    pub(super) attributes: Vec<Attribute<'a>>,
    /// Operands of the instructions that are being read, the innermost last.
    pub(super) operands: Vec<InstructionId>,
}

/// The state of reading one text.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) strictness: Strictness,
    pub(super) form: Form,
    /// The name of the computation that is being read, empty before the first.
    pub(super) inside: &'a str,
    pub(super) warnings: Vec<Warning>,
    pub(super) header: Header<'a>,
    pub(super) frames: FrameTables<'a>,
    pub(super) shapes: Shapes,
    pub(super) shape_cache: FxHashMap<&'a str, ShapeId>,
    /// Whether a shape had a sparse layout, as texts before 2020 do.
    pub(super) has_sparse_layouts: bool,
    pub(super) shardings: Vec<Sharding<'a>>,
    pub(super) sharding_cache: FxHashMap<&'a str, ShardingId>,
    pub(super) sharding_texts: Vec<&'a str>,
    pub(super) metadata: Vec<Metadata<'a>>,
    pub(super) computations: Vec<Computation<'a>>,
    pub(super) computation_names: FxHashMap<&'a str, ComputationId>,
    pub(super) entry: Option<ComputationId>,
    instructions: Vec<Instruction<'a>>,
    operand_arena: Vec<InstructionId>,
    attribute_arena: Vec<Attribute<'a>>,
    pub(super) frame: Frame<'a>,
    outer: Vec<Frame<'a>>,
    spare: Vec<Frame<'a>>,
    depth: u32,
}

/// What an instruction is made of once its attributes are read.
pub(super) struct Parts<'a> {
    pub(super) name: &'a str,
    pub(super) span: Span,
    pub(super) shape: ShapeId,
    pub(super) opcode: Opcode,
    /// Where its operands start in [`Frame::operands`].
    pub(super) operands_from: usize,
    /// Where its attributes start in [`Frame::attributes`].
    pub(super) attributes_from: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, strictness: Strictness) -> Self {
        // What printed texts need, and no more than the text's size in all: growing a large arena
        // copies it, while the part of a reservation that is never written costs no memory.
        let bytes = text.len();
        Reader {
            text,
            strictness,
            form: Form::Module,
            inside: "",
            warnings: Vec::new(),
            header: Header::default(),
            frames: FrameTables::default(),
            shapes: Shapes::default(),
            shape_cache: FxHashMap::default(),
            has_sparse_layouts: false,
            shardings: Vec::new(),
            sharding_cache: FxHashMap::default(),
            sharding_texts: Vec::new(),
            metadata: Vec::with_capacity(bytes / 256),
            computations: Vec::new(),
            computation_names: FxHashMap::default(),
            entry: None,
            instructions: Vec::with_capacity(bytes / 160),
            operand_arena: Vec::with_capacity(bytes / 80),
            attribute_arena: Vec::with_capacity(bytes / 80),
            frame: Frame::default(),
            outer: Vec::new(),
            spare: Vec::new(),
            depth: 0,
        }
    }

    /// The offset of the start of `input`.
    #[inline]
    pub(super) fn offset(&self, input: Input<'a>) -> usize {
        self.text.len().saturating_sub(input.len())
    }

    /// The span from one input to a later one. Texts are shorter than 4 GiB.
    #[inline]
    pub(super) fn span(&self, from: Input<'a>, to: Input<'a>) -> Span {
        Span { start: self.offset(from) as u32, end: self.offset(to) as u32 }
    }

    #[cold]
    pub(super) fn warn(&mut self, at: Input<'a>, message: String) {
        let offset = self.offset(at);
        self.warnings.push(Warning { offset, message });
    }

    /// Runs a parser function one level deeper, unless that is too deep.
    #[inline]
    pub(super) fn nested<O>(
        &mut self,
        input: Input<'a>,
        parser: impl FnOnce(Input<'a>, &mut Self) -> Outcome<'a, O>,
    ) -> Outcome<'a, O> {
        if self.depth >= MAX_DEPTH {
            return problem(input, Kind::TooDeep);
        }
        self.depth += 1;
        let outcome = parser(input, self);
        self.depth -= 1;
        outcome
    }

    /// How deeply tuple shapes may nest: they are read without recursion, so that the strict reader
    /// can take what XLA takes. Analyses of a module that the lenient reader made may recurse.
    pub(super) fn shape_depth(&self) -> usize {
        match self.strictness {
            Strictness::Strict => 8192,
            Strictness::Lenient => MAX_DEPTH as usize,
        }
    }

    // ---- computations ----

    /// Opens a computation; the one that is open, if any, waits.
    pub(super) fn open(&mut self, nested: bool) {
        let mut frame = self.spare.pop().unwrap_or_default();
        if nested {
            let own = self.frame.base as usize;
            let frame = &mut self.frame;
            if frame.detached.is_none() {
                frame.detached =
                    Some(self.instructions.split_off(own.min(self.instructions.len())));
            }
        }
        frame.base = self.instructions.len() as u32;
        frame.first_computation = self.computations.len() as u32;
        if nested {
            self.outer.push(std::mem::replace(&mut self.frame, frame));
        } else {
            self.spare.push(std::mem::replace(&mut self.frame, frame));
        }
    }

    /// Closes the open computation, which must have an instruction. Returns its id.
    pub(super) fn close(
        &mut self,
        name: &'a str,
        result: Option<ShapeId>,
    ) -> Option<ComputationId> {
        let mut frame = std::mem::take(&mut self.frame);
        let id = ComputationId(self.computations.len() as u32);
        let start = match frame.detached.take() {
            Some(instructions) => self.attach(instructions, frame.base, id),
            None => frame.base,
        };
        let end = self.instructions.len() as u32;
        if end == start {
            return None;
        }
        let root = match frame.root {
            Some(root) => InstructionId(root.0 - frame.base + start),
            None => InstructionId(end - 1),
        };
        let instructions = IdRange { start, end };
        let execution_thread = "";
        self.computations.push(Computation { name, instructions, root, result, execution_thread });
        frame.recycle();
        let outer = self.outer.pop();
        self.frame = match outer {
            Some(outer) => {
                self.spare.push(frame);
                outer
            }
            None => frame,
        };
        Some(id)
    }

    /// Puts a computation's instructions behind the inline bodies that were read meanwhile, and
    /// moves the ids that name them along.
    fn attach(
        &mut self,
        instructions: Vec<Instruction<'a>>,
        base: u32,
        computation: ComputationId,
    ) -> u32 {
        let start = self.instructions.len() as u32;
        let shift = start - base;
        for mut instruction in instructions {
            instruction.computation = computation;
            if let Some(operands) = self.operand_arena.get_mut(instruction.operands.range()) {
                operands.iter_mut().for_each(|operand| operand.0 += shift);
            }
            if let Some(attributes) = self.attribute_arena.get_mut(instruction.attributes.range()) {
                for attribute in attributes {
                    if let Attribute::ControlPredecessor(predecessor) = attribute {
                        predecessor.0 += shift;
                    }
                }
            }
            self.instructions.push(instruction);
        }
        start
    }

    // ---- instructions ----

    /// The instructions of the open computation so far.
    fn own_instructions(&self) -> &[Instruction<'a>] {
        match &self.frame.detached {
            Some(instructions) => instructions,
            None => self.instructions.get(self.frame.base as usize..).unwrap_or(&[]),
        }
    }

    /// An instruction of the open computation.
    #[inline]
    pub(super) fn own(&self, id: InstructionId) -> Option<&Instruction<'a>> {
        let at = id.0.checked_sub(self.frame.base)? as usize;
        match &self.frame.detached {
            Some(instructions) => instructions.get(at),
            None => self.instructions.get(id.index()),
        }
    }

    /// How many instructions the open computation has so far.
    pub(super) fn own_count(&self) -> usize {
        self.own_instructions().len()
    }

    /// The shape of an instruction of the open computation.
    #[inline]
    pub(super) fn shape_of(&self, id: InstructionId) -> Option<&Shape> {
        Some(self.shapes.get(self.own(id)?.shape))
    }

    /// The id of a name of the open computation.
    #[inline]
    pub(super) fn named(&self, name: &str) -> Option<InstructionId> {
        self.frame.names.get(name).copied()
    }

    /// The last instruction of the open computation.
    pub(super) fn last_own(&self) -> InstructionId {
        InstructionId((self.frame.base + self.own_count() as u32).saturating_sub(1))
    }

    /// Whether operands that are not defined become parameters: at the top of a text of a single
    /// instruction.
    pub(super) fn makes_parameters(&self) -> bool {
        self.form == Form::SingleInstruction && self.outer.is_empty()
    }

    /// How many parameters the open computation has.
    pub(super) fn own_parameters(&self) -> usize {
        self.frame.parameters.len()
    }

    /// Adds an instruction to the open computation, without a name to be found by.
    #[inline]
    pub(super) fn add(&mut self, parts: Parts<'a>) -> InstructionId {
        let operands =
            move_tail(&mut self.frame.operands, parts.operands_from, &mut self.operand_arena);
        let attributes =
            move_tail(&mut self.frame.attributes, parts.attributes_from, &mut self.attribute_arena);
        let instruction = Instruction {
            name: parts.name,
            span: parts.span,
            shape: parts.shape,
            computation: ComputationId(self.frame.first_computation),
            operands,
            attributes,
            opcode: parts.opcode,
        };
        match &mut self.frame.detached {
            Some(instructions) => {
                instructions.push(instruction);
                InstructionId(self.frame.base + instructions.len() as u32 - 1)
            }
            None => {
                self.instructions.push(instruction);
                InstructionId(self.instructions.len() as u32 - 1)
            }
        }
    }

    /// Makes an instruction known by its name; false if the name is taken.
    #[inline]
    pub(super) fn name(&mut self, name: &'a str, id: InstructionId) -> bool {
        match self.frame.names.entry(name) {
            std::collections::hash_map::Entry::Occupied(_) => false,
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(id);
                true
            }
        }
    }

    /// Marks the root; false if there is one.
    pub(super) fn set_root(&mut self, id: InstructionId) -> bool {
        self.frame.root.replace(id).is_none()
    }

    /// Whether the open computation has a `ROOT`.
    pub(super) fn has_root(&self) -> bool {
        self.frame.root.is_some()
    }

    /// Notes the number of a parameter; false if it is taken.
    pub(super) fn add_parameter(&mut self, number: i64) -> bool {
        self.frame.parameters.insert(number)
    }

    /// Whether the numbers of the open computation's parameters are 0 to n - 1.
    pub(super) fn parameters_are_complete(&self) -> bool {
        let count = self.frame.parameters.len() as i64;
        self.frame.parameters.iter().all(|&number| (0..count).contains(&number))
    }

    /// Keeps metadata.
    pub(super) fn add_metadata(&mut self, metadata: Metadata<'a>) -> MetadataId {
        self.metadata.push(metadata);
        MetadataId(self.metadata.len() as u32 - 1)
    }

    /// An instruction of a closed computation.
    pub(super) fn closed(&self, id: InstructionId) -> Option<&Instruction<'a>> {
        self.instructions.get(id.index())
    }

    /// The module, once the whole text is read.
    pub(super) fn finish(self, name: &'a str) -> Result<Module<'a>, ParseError> {
        let entry =
            self.entry.unwrap_or(ComputationId((self.computations.len() as u32).saturating_sub(1)));
        Ok(Module {
            text: self.text,
            name,
            form: self.form,
            header: self.header,
            frames: self.frames,
            computations: self.computations,
            instructions: self.instructions,
            entry,
            shapes: self.shapes,
            shardings: self.shardings,
            sharding_texts: self.sharding_texts,
            metadata: self.metadata,
            operand_arena: self.operand_arena,
            attribute_arena: self.attribute_arena,
        })
    }
}

impl Frame<'_> {
    /// Empties a frame for the next computation. A map that grew large is dropped: clearing it for
    /// each of many small computations would take its size each time.
    fn recycle(&mut self) {
        if self.names.capacity() > 1024 && self.names.len() < self.names.capacity() / 8 {
            self.names = FxHashMap::default();
        }
        self.names.clear();
        self.root = None;
        self.parameters.clear();
        self.attributes.clear();
        self.operands.clear();
    }
}

#[inline]
fn move_tail<T>(scratch: &mut Vec<T>, from: usize, arena: &mut Vec<T>) -> IdRange {
    let start = arena.len() as u32;
    arena.extend(scratch.drain(from.min(scratch.len())..));
    IdRange { start, end: arena.len() as u32 }
}
