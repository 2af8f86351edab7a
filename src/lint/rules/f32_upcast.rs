//! `f32-upcast`.

use crate::config::{bytes, total_bytes};
use crate::hlo::{ElementType, InstructionId, Opcode};
use crate::lint::composition::operation;
use crate::lint::readers::{element_type, is_narrow, is_narrowing, readers};
use crate::lint::{
    Argument, Confidence, Context, Finding, Kind, Level, Meta, Reference, Remedy, Rule, Source,
    is_backward,
};
use crate::memory::{AllocationKind, Edit, Value};
use crate::target::Backend;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

/// See [`META`].
pub struct F32Upcast;

/// The declaration.
pub static META: Meta = Meta {
    name: "f32-upcast",
    summary: "bf16 data is kept in HBM as f32",
    documentation: "\
What it does: finds f32 temporaries alive at the peak that hold no more than bf16 data: what is
written is converted from 16 bits, or every reader converts to 16 bits at once. Beside these, as a
note (a warning where memory is short), those computed element by element from bf16 data in f32
and converted back later, as by a softmax in f32.
Why it costs memory: twice the bytes of the same data in bf16.
Example: a layer normalises in f32, and the scan over layers saves the converted input for the
backward pass: f32[64,4096,1024], 1 GiB instead of 512 MiB.
Remedy: save the value before the conversion: jax.checkpoint around the normalisation (its input
is saved, in bf16), or convert where it is read. It loses nothing where the data was bf16. Where
the f32 values are computed, keeping them in bf16 costs accuracy. Gradients of f32 arguments are
left alone.
References: E1000, 3.A (bf16 for large tensors).",
    level: Level::Warn,
    kind: Kind::Waste,
    preview: false,
    thresholds: &[],
    reference: Reference { code: "E1000", section: "3.A, bf16 for large tensors" },
};

/// How many values are looked at, the largest first.
const MOST: usize = 256;

/// How many instructions are looked at for one value.
const STEPS: usize = 128;

/// How many lines are listed.
const LINES: usize = 3;

impl Rule for F32Upcast {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn check(&self, context: &Context<'_>, findings: &mut Vec<Finding>) {
        // A CPU computes in f32 whatever the program says.
        if context.policy.backend == Backend::Cpu {
            return;
        }
        let wide = candidates(context);
        for kind in [Upcast::Exact, Upcast::Computed] {
            let of_kind: Vec<&Wide> = wide.iter().filter(|wide| wide.kind == kind).collect();
            if let Some(finding) = report(context, &of_kind) {
                context.push(findings, &META, finding);
            }
        }
    }
}

/// How sure it is that 16 bits would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Upcast {
    /// What is written was 16 bits before, or becomes 16 bits when it is read.
    Exact,
    /// It is computed in f32 from 16 bits, and converted back later.
    Computed,
}

/// An f32 buffer of 16-bit data.
struct Wide<'c> {
    value: &'c Value,
    kind: Upcast,
    origin: InstructionId,
    source: Option<Source>,
}

/// The buffers of one type that could be smaller, the largest first.
fn candidates<'c>(context: &'c Context<'_>) -> Vec<Wide<'c>> {
    let mut seen = FxHashSet::default();
    let mut values: Vec<&Value> =
        context.profile.values.iter().filter(|value| may_be_wide(context, value)).collect();
    values.sort_by_key(|value| (Reverse(value.size_bytes), value.instruction));
    values
        .into_iter()
        .filter(|value| seen.insert(value.buffer))
        .take(MOST)
        .filter_map(|value| classify(context, value))
        .collect()
}

fn may_be_wide(context: &Context<'_>, value: &Value) -> bool {
    let is_temporary = || {
        value.place.is_some_and(|place| {
            let allocation = context.profile.allocation(place.allocation);
            allocation.kind == AllocationKind::Temporary && !allocation.maybe_live_out
        })
    };
    let array = context.module.shapes.get(value.shape).array();
    value.memory_space == 0
        && value.size_bytes / 2 >= context.min_bytes(&META)
        && array.is_some_and(|array| array.element_type == ElementType::F32)
        && is_temporary()
        && context.is_alive_at_peak(value)
}

fn classify<'c>(context: &'c Context<'_>, value: &'c Value) -> Option<Wide<'c>> {
    let module = context.module;
    // What writes into the buffer; a loop's carry and memory without data write nothing.
    let mut writers: Vec<(InstructionId, &Value)> = Vec::new();
    for &id in &context.profile.buffer(value.buffer).values {
        let member = context.profile.value(id);
        let (origin, _) = context.origin(member);
        let is_empty = matches!(module.opcode(origin), Opcode::Broadcast | Opcode::Constant)
            || module.custom_call_target(origin) == Some("AllocateBuffer");
        if !member.is_phi && !is_empty && !writers.iter().any(|(known, _)| *known == origin) {
            writers.push((origin, member));
        }
    }
    let &(origin, writer) = writers.first()?;
    let (_, source) = context.origin(writer);
    if is_gradient(context, origin, value) {
        return None;
    }
    let exact = writers.iter().all(|&(id, _)| is_widening(context, id))
        || writers.len() == 1 && is_narrowed_at_once(context, value);
    let kind = if exact {
        Upcast::Exact
    } else if writers.iter().all(|&(id, _)| is_of_narrow_data(context, id))
        && becomes_narrow(context, origin)
    {
        Upcast::Computed
    } else {
        return None;
    };
    Some(Wide { value, kind, origin, source })
}

/// Whether a value is the gradient of an f32 argument: its type is the argument's.
fn is_gradient(context: &Context<'_>, origin: InstructionId, value: &Value) -> bool {
    let op_name = context.module.metadata(origin).map_or("", |metadata| metadata.op_name);
    let shape = context.module.shapes.get(value.shape).array();
    let is_like = |argument: &Argument| {
        let argument = context.module.shape(argument.instruction).array();
        argument.zip(shape).is_some_and(|(argument, gradient)| {
            argument.element_type == gradient.element_type
                && argument.dimensions == gradient.dimensions
        })
    };
    is_backward(op_name) && context.arguments.iter().any(is_like)
}

/// Whether an instruction converts from at most 16 bits to f32.
fn is_widening(context: &Context<'_>, id: InstructionId) -> bool {
    let from = context.module.operands(id).first().and_then(|&from| element_type(context, from));
    context.module.opcode(id) == Opcode::Convert && from.is_some_and(is_narrow)
}

/// Whether everything that reads a value converts it to 16 bits first.
fn is_narrowed_at_once(context: &Context<'_>, value: &Value) -> bool {
    if !value.index.is_empty() || context.module.shape(value.instruction).array().is_none() {
        return false;
    }
    readers(context, value.instruction).is_some_and(|readers| {
        !readers.is_empty() && readers.iter().all(|&reader| is_narrowing(context, reader))
    })
}

/// Whether what is computed element by element comes from 16-bit data alone.
fn is_of_narrow_data(context: &Context<'_>, id: InstructionId) -> bool {
    let module = context.module;
    let elements = |id| module.shape(id).array().and_then(|array| array.elements());
    let whole = elements(id);
    let mut found = false;
    let mut seen = FxHashSet::default();
    let mut todo = vec![id];
    while let Some(at) = todo.pop() {
        if seen.len() >= STEPS {
            return false;
        }
        // What is much smaller, such as a row's maximum, says nothing of the data.
        if !seen.insert(at) || elements(at).zip(whole).is_none_or(|(part, all)| part < all) {
            continue;
        }
        let operands = module.operands(at);
        match module.opcode(at) {
            Opcode::Broadcast | Opcode::Constant | Opcode::Iota => {}
            _ if is_widening(context, at) => found = true,
            Opcode::Dot | Opcode::Convolution => {
                let narrow = |&operand: &InstructionId| {
                    element_type(context, operand).is_some_and(is_narrow)
                };
                if !operands.iter().all(narrow) {
                    return false;
                }
                found = true;
            }
            Opcode::Parameter => match handed_in(context, at) {
                Some(outer) => todo.push(outer),
                None => return false,
            },
            Opcode::Bitcast | Opcode::Copy | Opcode::Reshape | Opcode::Transpose => {
                todo.extend(operands);
            }
            Opcode::Fusion => {
                let body = module.calls(at).next();
                todo.extend(body.map(|(_, body)| module.computation(body).root));
            }
            opcode if opcode.is_elementwise() => todo.extend(operands),
            _ => return false,
        }
    }
    found
}

/// What the only fusion around a parameter hands in.
fn handed_in(context: &Context<'_>, parameter: InstructionId) -> Option<InstructionId> {
    let module = context.module;
    let [caller] = context.graph.callers(module.instruction(parameter).computation) else {
        return None;
    };
    let number = usize::try_from(module.parameter_number(parameter)?).ok()?;
    let is_fusion = module.opcode(caller.instruction) == Opcode::Fusion;
    let operands = module.operands(caller.instruction);
    is_fusion.then(|| operands.get(number).copied()).flatten()
}

/// Whether a value becomes 16 bits again, element by element.
fn becomes_narrow(context: &Context<'_>, id: InstructionId) -> bool {
    let module = context.module;
    let mut seen = FxHashSet::default();
    let mut todo = vec![id];
    while let Some(at) = todo.pop() {
        if seen.len() >= STEPS || !seen.insert(at) {
            continue;
        }
        if is_narrowing(context, at) {
            return true;
        }
        if module.is_root(at) {
            let computation = module.instruction(at).computation;
            let fusions = context.graph.callers(computation).iter().map(|c| c.instruction);
            todo.extend(fusions.filter(|&id| module.opcode(id) == Opcode::Fusion));
        }
        for (user, number) in context.graph.users(at) {
            match module.opcode(user) {
                Opcode::Fusion => {
                    todo.extend(crate::lint::readers::inside(context, user, number));
                }
                Opcode::GetTupleElement | Opcode::Tuple | Opcode::Bitcast | Opcode::Copy => {
                    todo.push(user);
                }
                opcode if opcode.is_elementwise() => todo.push(user),
                _ => {}
            }
        }
    }
    false
}

fn report(context: &Context<'_>, wide: &[&Wide<'_>]) -> Option<Finding> {
    let largest = wide.first()?;
    let total = total_bytes(wide.iter().map(|wide| wide.value.size_bytes));
    let saved = total_bytes(wide.iter().map(|wide| wide.value.size_bytes / 2));
    let is_exact = largest.kind == Upcast::Exact;
    let mut finding = context.finding(&META, Some(largest.origin));
    let shape = context.shape_text(largest.value.shape);
    finding.instruction =
        Some(context.module.instruction(largest.value.instruction).name.to_owned());
    finding.source = largest.source.clone();
    finding.message = match (wide.len(), is_exact) {
        (1, true) => format!("{shape} of {} holds 16-bit data", bytes(total)),
        (1, false) => format!("{shape} of {} is computed from 16-bit data", bytes(total)),
        (count, true) => format!("{count} f32 buffers, {}, hold 16-bit data", bytes(total)),
        (count, false) => {
            format!("{count} f32 buffers, {}, are computed from 16-bit data", bytes(total))
        }
    };
    finding.shape = Some(shape);
    finding.bytes = saved;
    finding.buffers = wide.iter().map(|wide| wide.value.buffer).collect();
    if wide.len() > 1 {
        finding.details = lines(context, wide);
    }
    let action = if is_exact {
        "keep the 16-bit value, e.g. jax.checkpoint around what converts it"
    } else {
        "keep it in bf16, at the price of accuracy"
    };
    let edits = wide
        .iter()
        .map(|wide| Edit::Shrink { buffer: wide.value.buffer, bytes: wide.value.size_bytes / 2 })
        .collect();
    let priced = context.priced(action, edits, false);
    // Accuracy is a price: without need it is only said.
    if !is_exact && !context.is_near_capacity() || priced.is_none() {
        finding.level = Level::Note;
    }
    if !is_exact {
        finding.confidence = Confidence::Heuristic;
    }
    finding.remedies = vec![priced.unwrap_or_else(|| Remedy::new(action))];
    Some(finding)
}

fn lines(context: &Context<'_>, wide: &[&Wide<'_>]) -> Vec<String> {
    let more = wide.len().saturating_sub(LINES);
    let mut lines: Vec<String> = wide
        .iter()
        .take(LINES)
        .map(|wide| {
            let place = wide.source.as_ref().map(|s| format!("  {s}")).unwrap_or_default();
            format!(
                "{}  {}  {}{place}",
                bytes(wide.value.size_bytes),
                context.shape_text(wide.value.shape),
                operation(context, wide.origin)
            )
        })
        .collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}
