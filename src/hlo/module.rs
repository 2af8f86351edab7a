//! The module: arenas and the accessors that analyses use.

use super::{
    Attribute, AttributeName, CallRole, Computation, ComputationId, FrameTables, Header, IdRange,
    Instruction, InstructionId, Metadata, Opcode, Shape, ShapeId, Shapes, Sharding, ShardingId,
    SourceLocation, Span,
};

/// What kind of text a module was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Computations behind a `HloModule` line.
    #[default]
    Module,
    /// Computations without that line.
    Headerless,
    /// A single instruction, whose operands became parameters.
    SingleInstruction,
}

/// A module of HLO text.
#[derive(Clone, Debug)]
pub struct Module<'src> {
    /// The text it was read from: spans are positions in it.
    pub text: &'src str,
    /// The name without `%`; for a text without a header the name of the entry, `_` for a text that
    /// is a single instruction.
    pub name: &'src str,
    /// What kind of text it is.
    pub form: Form,
    /// What the first line says.
    pub header: Header<'src>,
    /// File names, functions, locations and stack frames.
    pub frames: FrameTables<'src>,
    /// All computations in text order; an inline body stands before the computation that holds it.
    pub computations: Vec<Computation<'src>>,
    /// All instructions, computation by computation.
    pub instructions: Vec<Instruction<'src>>,
    /// The entry computation.
    pub entry: ComputationId,
    /// All shapes.
    pub shapes: Shapes,
    /// All shardings, each once; those of a tuple stand before it.
    pub shardings: Vec<Sharding<'src>>,
    /// The text of each sharding: two that are spelled differently have two ids.
    pub sharding_texts: Vec<&'src str>,
    /// All metadata.
    pub metadata: Vec<Metadata<'src>>,
    /// Operands of all instructions.
    pub operand_arena: Vec<InstructionId>,
    /// Attributes of all instructions, in the order of the text.
    pub attribute_arena: Vec<Attribute<'src>>,
}

impl<'src> Module<'src> {
    /// The name that XLA gives the module: without a header `module_` and the name of the entry.
    pub fn full_name(&self) -> std::borrow::Cow<'src, str> {
        match self.form {
            Form::Headerless => format!("module_{}", self.name).into(),
            Form::Module | Form::SingleInstruction => self.name.into(),
        }
    }

    /// An instruction.
    pub fn instruction(&self, id: InstructionId) -> &Instruction<'src> {
        &self.instructions[id.index()]
    }

    /// A computation.
    pub fn computation(&self, id: ComputationId) -> &Computation<'src> {
        &self.computations[id.index()]
    }

    /// The entry computation.
    pub fn entry(&self) -> &Computation<'src> {
        self.computation(self.entry)
    }

    /// Every instruction's id, in text order.
    pub fn ids(
        &self,
    ) -> impl ExactSizeIterator<Item = InstructionId> + DoubleEndedIterator + use<> {
        (0..self.instructions.len() as u32).map(InstructionId)
    }

    /// The operation of an instruction.
    pub fn opcode(&self, id: InstructionId) -> Opcode {
        self.instruction(id).opcode
    }

    /// The operands of an instruction.
    pub fn operands(&self, id: InstructionId) -> &[InstructionId] {
        slice(&self.operand_arena, self.instruction(id).operands)
    }

    /// The attributes of an instruction.
    pub fn attributes(&self, id: InstructionId) -> &[Attribute<'src>] {
        slice(&self.attribute_arena, self.instruction(id).attributes)
    }

    /// The shape of an instruction's result.
    pub fn shape(&self, id: InstructionId) -> &Shape {
        self.shapes.get(self.instruction(id).shape)
    }

    /// The shape at an index inside an instruction's result.
    pub fn subshape(&self, id: InstructionId, index: &[u32]) -> Option<ShapeId> {
        self.shapes.subshape(self.instruction(id).shape, index)
    }

    /// Whether an instruction is the root of its computation.
    pub fn is_root(&self, id: InstructionId) -> bool {
        self.computation(self.instruction(id).computation).root == id
    }

    /// The computations that an instruction calls, with their roles, in the order of the text.
    pub fn calls(&self, id: InstructionId) -> impl Iterator<Item = (CallRole, ComputationId)> {
        self.attributes(id).iter().filter_map(|attribute| match attribute {
            Attribute::Calls(role, computation) => Some((*role, *computation)),
            _ => None,
        })
    }

    /// The control predecessors of an instruction.
    pub fn control_predecessors(&self, id: InstructionId) -> impl Iterator<Item = InstructionId> {
        self.attributes(id).iter().filter_map(|attribute| match attribute {
            Attribute::ControlPredecessor(predecessor) => Some(*predecessor),
            _ => None,
        })
    }

    /// The number of a parameter.
    pub fn parameter_number(&self, id: InstructionId) -> Option<i64> {
        self.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::ParameterNumber(number) => Some(*number),
            _ => None,
        })
    }

    /// The parameters of a computation by number: position n holds parameter n.
    pub fn parameters(&self, computation: ComputationId) -> Vec<InstructionId> {
        let mut parameters: Vec<(i64, InstructionId)> = self
            .computation(computation)
            .ids()
            .filter(|&id| self.opcode(id) == Opcode::Parameter)
            .map(|id| (self.parameter_number(id).unwrap_or(i64::MAX), id))
            .collect();
        parameters.sort_unstable();
        parameters.into_iter().map(|(_, id)| id).collect()
    }

    /// The `index` of a get-tuple-element.
    pub fn tuple_index(&self, id: InstructionId) -> Option<i64> {
        self.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::Index(index) => Some(*index),
            _ => None,
        })
    }

    /// The `custom_call_target`, escapes included.
    pub fn custom_call_target(&self, id: InstructionId) -> Option<&'src str> {
        self.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::CustomCallTarget(target) => Some(*target),
            _ => None,
        })
    }

    /// Whether `is_host_transfer=true` is set.
    pub fn is_host_transfer(&self, id: InstructionId) -> bool {
        self.attributes(id).iter().any(|attribute| matches!(attribute, Attribute::IsHostTransfer))
    }

    /// The `backend_config` as written.
    pub fn backend_config(&self, id: InstructionId) -> Option<&'src str> {
        self.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::BackendConfig(text) => Some(*text),
            _ => None,
        })
    }

    /// The `frontend_attributes` as written, with their braces.
    pub fn frontend_attributes(&self, id: InstructionId) -> Option<&'src str> {
        self.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::FrontendAttributes(text) => Some(*text),
            _ => None,
        })
    }

    /// The sharding of an instruction.
    pub fn sharding(&self, id: InstructionId) -> Option<&Sharding<'src>> {
        self.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::Sharding(sharding) => Some(self.sharding_of(*sharding)),
            _ => None,
        })
    }

    /// An interned sharding.
    pub fn sharding_of(&self, id: ShardingId) -> &Sharding<'src> {
        &self.shardings[id.index()]
    }

    /// The metadata of an instruction.
    pub fn metadata(&self, id: InstructionId) -> Option<&Metadata<'src>> {
        self.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::Metadata(metadata) => self.metadata.get(metadata.index()),
            _ => None,
        })
    }

    /// The value of another attribute, as written.
    pub fn attribute(&self, id: InstructionId, name: AttributeName) -> Option<&'src str> {
        self.attributes(id).iter().find_map(|attribute| match attribute {
            Attribute::Other(found, value) if *found == name => Some(*value),
            _ => None,
        })
    }

    /// The line of the user's program that metadata names: the innermost frame, or the
    /// `source_file` of older dumps.
    pub fn source(&self, metadata: &Metadata<'src>) -> Option<SourceLocation<'src>> {
        self.frames.location(metadata.stack_frame_id).or_else(|| {
            (!metadata.source_file.is_empty()).then_some(SourceLocation {
                file: metadata.source_file,
                function: "",
                line: metadata.source_line,
            })
        })
    }

    /// The text of a span.
    pub fn text_of(&self, span: Span) -> &'src str {
        self.text.get(span.range()).unwrap_or("")
    }
}

fn slice<T>(arena: &[T], range: IdRange) -> &[T] {
    arena.get(range.range()).unwrap_or(&[])
}
