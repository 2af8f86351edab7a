//! A module as HLO text again. What was written with names, shapes and attributes this reader knows
//! comes back in the spelling of XLA's own printer; spans come back as they were.

use super::asynchronous::{belongs_to_start, name_of};
use super::print_shape::ShapeText;
use crate::hlo::{
    Attribute, AttributeName, CallRole, Computation, ComputationId, ElementType, Form, Instruction,
    InstructionId, Module, Opcode, ShapeId, Span,
};
use std::fmt::{self, Display, Formatter};

/// The whole module as text.
pub fn print<'m>(module: &'m Module<'m>) -> impl Display + 'm {
    ModuleText { module }
}

/// One computation as text, with the inline bodies in it.
pub fn print_computation<'m>(module: &'m Module<'m>, id: ComputationId) -> impl Display + 'm {
    ComputationText { module, id, level: 0 }
}

struct ModuleText<'m> {
    module: &'m Module<'m>,
}

impl Display for ModuleText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let module = self.module;
        if module.form == Form::SingleInstruction {
            let text = InstructionText { module, id: module.entry().root, level: 0 };
            return writeln!(f, "{}", text);
        }
        if module.form == Form::Module {
            write!(f, "{}", super::print_header::HeaderText { module })?;
        }
        let mut first = module.form != Form::Module;
        for (at, computation) in module.computations.iter().enumerate() {
            if computation.name.is_empty() {
                continue;
            }
            if !std::mem::take(&mut first) {
                writeln!(f)?;
            }
            writeln!(f, "{}", ComputationText { module, id: ComputationId(at as u32), level: 0 })?;
        }
        Ok(())
    }
}

struct ComputationText<'m> {
    module: &'m Module<'m>,
    id: ComputationId,
    level: usize,
}

impl Display for ComputationText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let computation = self.module.computation(self.id);
        if self.id == self.module.entry && self.module.form != Form::SingleInstruction {
            f.write_str("ENTRY ")?;
        }
        if !computation.name.is_empty() {
            write!(f, "%{} ", computation.name)?;
            self.signature(f, computation)?;
        }
        f.write_str("{\n")?;
        for id in computation.ids() {
            let instruction = self.module.instruction(id);
            if instruction.name.is_empty() {
                continue;
            }
            let root = if id == computation.root { "ROOT " } else { "" };
            indent(f, self.level + 1)?;
            let text = InstructionText { module: self.module, id, level: self.level + 1 };
            writeln!(f, "{root}{text}")?;
        }
        indent(f, self.level)?;
        f.write_str("}")?;
        if !computation.execution_thread.is_empty() {
            let thread = Quoted(computation.execution_thread);
            write!(f, ", execution_thread={thread}")?;
        }
        Ok(())
    }
}

fn indent(f: &mut Formatter<'_>, level: usize) -> fmt::Result {
    // Deep nesting would make the text as long as its square.
    write!(f, "{:1$}", "", level.min(40) * 2)
}

impl ComputationText<'_> {
    /// The parameters without their layouts, and the result where the text had one.
    fn signature(&self, f: &mut Formatter<'_>, computation: &Computation<'_>) -> fmt::Result {
        let Some(result) = computation.result else {
            return Ok(());
        };
        f.write_str("(")?;
        for (at, id) in self.module.parameters(self.id).into_iter().enumerate() {
            let parameter = self.module.instruction(id);
            let comma = if at > 0 { ", " } else { "" };
            let name = if parameter.name.is_empty() { "_" } else { parameter.name };
            write!(f, "{comma}{name}: {}", self.shape(parameter.shape, false))?;
        }
        write!(f, ") -> {} ", self.shape(result, true))
    }

    fn shape(&self, id: ShapeId, layouts: bool) -> ShapeText<'_> {
        ShapeText { shapes: &self.module.shapes, id, layouts }
    }
}

/// An instruction from its name to the end of its last attribute.
struct InstructionText<'m> {
    module: &'m Module<'m>,
    id: InstructionId,
    level: usize,
}

impl Display for InstructionText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let instruction = self.module.instruction(self.id);
        if !instruction.name.is_empty() {
            write!(f, "%{} = ", instruction.name)?;
        }
        self.operation(f, instruction)?;
        self.attributes(f, instruction)
    }
}

impl<'m> InstructionText<'m> {
    fn of(&self, id: InstructionId) -> InstructionText<'m> {
        InstructionText { module: self.module, id, level: self.level }
    }

    /// The shape, the opcode and what stands in its parentheses.
    fn operation(&self, f: &mut Formatter<'_>, instruction: &Instruction<'_>) -> fmt::Result {
        let shapes = &self.module.shapes;
        let shape = ShapeText { shapes, id: instruction.shape, layouts: true };
        write!(f, "{shape} ")?;
        self.opcode(f, instruction)?;
        f.write_str("(")?;
        for attribute in self.module.attributes(self.id) {
            match (attribute, instruction.opcode) {
                (Attribute::ParameterNumber(number), _) => write!(f, "{number}")?,
                (Attribute::Literal(literal), Opcode::Constant) => f.write_str(literal)?,
                _ => {}
            }
        }
        for (at, &operand) in self.module.operands(self.id).iter().enumerate() {
            match at {
                0 => {}
                _ if at % 5 == 0 => write!(f, ", /*index={at}*/")?,
                _ => f.write_str(", ")?,
            }
            self.operand(f, operand)?;
        }
        f.write_str(")")
    }

    /// A name; an instruction without one in full.
    fn operand(&self, f: &mut Formatter<'_>, id: InstructionId) -> fmt::Result {
        let operand = self.module.instruction(id);
        if self.module.form == Form::SingleInstruction
            && operand.opcode == Opcode::Parameter
            && operand.computation == self.module.entry
        {
            let shapes = &self.module.shapes;
            let shape = ShapeText { shapes, id: operand.shape, layouts: true };
            let sigil = if operand.name.is_empty() { "" } else { " %" };
            return write!(f, "{shape}{sigil}{}", operand.name);
        }
        if !operand.name.is_empty() {
            return write!(f, "%{}", operand.name);
        }
        match (operand.opcode, self.module.tuple_index(id), self.module.operands(id)) {
            (Opcode::GetTupleElement, Some(index), &[tuple]) => {
                self.operand(f, tuple)?;
                write!(f, "#{index}")
            }
            _ => self.of(id).operation(f, operand),
        }
    }

    fn opcode(&self, f: &mut Formatter<'_>, instruction: &Instruction<'_>) -> fmt::Result {
        let unknown =
            self.module.attributes(self.id).iter().find_map(|attribute| match attribute {
                Attribute::Unknown(unknown) if unknown.0 == "opcode" => Some(unknown.1),
                _ => None,
            });
        if let Some(word) = unknown {
            return f.write_str(word);
        }
        let suffix = match instruction.opcode {
            Opcode::AsyncStart => "start",
            Opcode::AsyncUpdate => "update",
            Opcode::AsyncDone => "done",
            opcode => return f.write_str(opcode.as_str()),
        };
        match hidden(self.module, self.start_of(self.id)) {
            Some(wrapped) => write!(f, "{}-{suffix}", self.module.opcode(wrapped)),
            None => f.write_str(instruction.opcode.as_str()),
        }
    }

    /// The async-start at the beginning of the chain that an instruction belongs to.
    fn start_of(&self, mut id: InstructionId) -> InstructionId {
        while matches!(self.module.opcode(id), Opcode::AsyncUpdate | Opcode::AsyncDone) {
            match self.module.operands(id).first() {
                Some(&operand) => id = operand,
                None => break,
            }
        }
        id
    }

    fn attributes(&self, f: &mut Formatter<'_>, instruction: &Instruction<'_>) -> fmt::Result {
        let own = self.module.attributes(self.id);
        match hidden(self.module, self.id) {
            Some(wrapped) if instruction.opcode == Opcode::AsyncStart => {
                let of_wrapped: Vec<_> = self
                    .module
                    .attributes(wrapped)
                    .iter()
                    .filter(|attribute| !belongs_to_start(attribute))
                    .collect();
                self.of(wrapped).list(f, &of_wrapped)?;
                let is_hidden = |attribute: &&Attribute<'_>| {
                    matches!(attribute, Attribute::Calls(CallRole::Body, _))
                };
                let of_start: Vec<_> =
                    own.iter().filter(|attribute| !is_hidden(attribute)).collect();
                self.list(f, &of_start)
            }
            _ => self.list(f, &own.iter().collect::<Vec<_>>()),
        }
    }

    /// Attributes; those of one name that follow each other make a list.
    fn list(&self, f: &mut Formatter<'_>, attributes: &[&Attribute<'_>]) -> fmt::Result {
        let mut rest = attributes;
        while let Some((&first, behind)) = rest.split_first() {
            let name = name_of(first);
            let more = match first {
                Attribute::ControlPredecessor(_)
                | Attribute::OutputToOperandAlias(_)
                | Attribute::Calls(CallRole::Branch(_) | CallRole::Called(_), _) => {
                    behind.iter().take_while(|attribute| name_of(attribute) == name).count()
                }
                _ => 0,
            };
            let (group, behind) = rest.split_at(1 + more);
            self.group(f, group)?;
            rest = behind;
        }
        Ok(())
    }

    fn group(&self, f: &mut Formatter<'_>, group: &[&Attribute<'_>]) -> fmt::Result {
        let Some(&first) = group.first() else {
            return Ok(());
        };
        match first {
            Attribute::ParameterNumber(_) => Ok(()),
            Attribute::Literal(_) if self.module.opcode(self.id) == Opcode::Constant => Ok(()),
            Attribute::Unknown(unknown) if unknown.0 == "opcode" => Ok(()),
            Attribute::Unknown(unknown) => write!(f, ", {}={}", unknown.0, unknown.1),
            Attribute::Calls(CallRole::Branch(_), _) if self.selects_by_pred() => {
                for attribute in group {
                    let of_true = matches!(attribute, Attribute::Calls(CallRole::Branch(0), _));
                    write!(f, ", {of_true}_computation=")?;
                    self.value(f, attribute)?;
                }
                Ok(())
            }
            _ => {
                write!(f, ", {}=", self.name(first))?;
                let is_list = matches!(
                    first,
                    Attribute::ControlPredecessor(_)
                        | Attribute::OutputToOperandAlias(_)
                        | Attribute::Calls(CallRole::Branch(_) | CallRole::Called(_), _)
                );
                if !is_list {
                    return self.value(f, first);
                }
                f.write_str("{")?;
                for (at, attribute) in group.iter().enumerate() {
                    f.write_str(if at > 0 { ", " } else { "" })?;
                    self.value(f, attribute)?;
                }
                f.write_str("}")
            }
        }
    }

    fn name(&self, attribute: &Attribute<'_>) -> &'static str {
        match attribute {
            Attribute::Calls(CallRole::Body, _) if self.module.opcode(self.id) == Opcode::Call => {
                AttributeName::ToApply.as_str()
            }
            _ => name_of(attribute).map_or("", AttributeName::as_str),
        }
    }

    /// Whether the branches are those of `true` and `false`.
    fn selects_by_pred(&self) -> bool {
        let selector = self.module.operands(self.id).first();
        let shape = selector.and_then(|&selector| self.module.shape(selector).array());
        shape.is_some_and(|array| array.element_type == ElementType::Pred)
    }

    fn value(&self, f: &mut Formatter<'_>, attribute: &Attribute<'_>) -> fmt::Result {
        let module = self.module;
        match attribute {
            Attribute::Calls(_, id) => self.callee(f, *id),
            Attribute::ControlPredecessor(id) => {
                write!(f, "%{}", module.instruction(*id).name)
            }
            Attribute::ParameterNumber(number)
            | Attribute::Index(number)
            | Attribute::ChannelId(number) => write!(f, "{number}"),
            Attribute::Literal(text) | Attribute::FrontendAttributes(text) => f.write_str(text),
            Attribute::CustomCallTarget(text) | Attribute::AsyncExecutionThread(text) => {
                write!(f, "{}", Quoted(text))
            }
            Attribute::OutputToOperandAlias(pair) => write!(
                f,
                "{}: ({}, {})",
                Index(&pair.output),
                pair.operand,
                Index(&pair.operand_index)
            ),
            Attribute::IsHostTransfer => f.write_str("true"),
            Attribute::Sharding(id) => {
                f.write_str(module.sharding_texts.get(id.index()).copied().unwrap_or("{}"))
            }
            Attribute::Metadata(id) => {
                f.write_str(module.metadata.get(id.index()).map_or("{}", |metadata| metadata.text))
            }
            Attribute::BackendConfig(text) => write!(f, "{}", DictionaryOrQuoted(text)),
            Attribute::Other(_, text) => f.write_str(text),
            Attribute::Unknown(unknown) => f.write_str(unknown.1),
        }
    }

    /// The name of a computation, or the whole of one that has none.
    fn callee(&self, f: &mut Formatter<'_>, id: ComputationId) -> fmt::Result {
        match self.module.computation(id).name {
            "" => {
                let level = self.level + 1;
                write!(f, "{}", ComputationText { module: self.module, id, level })
            }
            name => write!(f, "%{name}"),
        }
    }
}

/// The instruction that an async-start wraps, where the text had `X-start` instead of a computation.
fn hidden(module: &Module<'_>, start: InstructionId) -> Option<InstructionId> {
    if module.opcode(start) != Opcode::AsyncStart {
        return None;
    }
    let (_, body) = module.calls(start).find(|(role, _)| *role == CallRole::Body)?;
    let computation = module.computation(body);
    let root = module.instruction(computation.root);
    let implied = computation.name.is_empty() && root.span == Span::default();
    implied.then_some(computation.root)
}

/// An index into nested tuples.
pub(super) struct Index<'m>(pub(super) &'m [u32]);

impl Display for Index<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, number) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{number}")?;
        }
        f.write_str("}")
    }
}

/// A string with the quotes that its text had: double ones, unless there is one in it.
pub(super) struct Quoted<'m>(pub(super) &'m str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let quote = if has_bare_quote(self.0) { '\'' } else { '"' };
        write!(f, "{quote}{}{quote}", self.0)
    }
}

fn has_bare_quote(text: &str) -> bool {
    let mut escaped = false;
    text.bytes().any(|byte| {
        let found = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        found
    })
}

/// A dictionary as it is, anything else in quotes.
pub(super) struct DictionaryOrQuoted<'m>(pub(super) &'m str);

impl Display for DictionaryOrQuoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_dictionary =
            super::lexeme::dictionary(self.0).is_ok_and(|(rest, _)| rest.is_empty());
        if is_dictionary && self.0.starts_with('{') {
            f.write_str(self.0)
        } else {
            write!(f, "{}", Quoted(self.0))
        }
    }
}
