//! Buffers of a report in; what a card says of each out.

use super::layout;
use crate::hlo::{Attribute, InstructionId};
use crate::lint::{Cause, Context, is_backward};
use crate::memory::{BufferId, MemoryProfile, ValueId};
use crate::report::report::{Buffer, Kind};
use crate::report::{bytes, total_bytes};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::cmp::Reverse;

/// Buffers with users, aliases and text; the smaller ones have none.
const MOST_DETAILED: usize = 6_000;

/// Names that a list holds.
const MOST_NAMES: usize = 12;

/// Bytes of all texts of instructions that a module's page holds.
const MOST_TEXTS: usize = 1_500_000;

/// Bytes of an instruction's text that are shown.
const MOST_TEXT: usize = 4_000;

/// What a buffer is for: what it is coloured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// An argument.
    Parameter,
    /// A result that shares no argument's memory.
    Output,
    /// A value of the forward pass: kept for the backward pass, or with a dimension of the batch.
    Activation,
    /// A value that the backward pass computes, a gradient or another.
    Gradient,
    /// What a collective receives.
    Collective,
    /// A constant.
    Constant,
    /// Anything else.
    Temporary,
}

/// What a page shows of a buffer beside its report.
#[derive(Debug, Serialize)]
pub struct BufferView {
    /// What it is for.
    pub category: Category,
    /// When it is alive, where that is not all the time between its first and its last point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(u32, u32)>,
    /// How the text has it.
    #[serde(flatten)]
    pub written: Written,
    /// Other values in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Instructions that use its value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// How many more users there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_users: usize,
}

/// How the text has a buffer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Written {
    /// The layout in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub layout: String,
    /// The instruction as the text has it, without `backend_config`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Where it stands: file and line of the HLO text.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Keeps the largest buffers, in their order; says what went.
pub(super) fn keep_largest(buffers: &mut Vec<Buffer>, most: usize) -> Vec<String> {
    if buffers.len() <= most {
        return Vec::new();
    }
    let mut by_size: Vec<usize> = (0..buffers.len()).collect();
    by_size.sort_by_key(|&at| (Reverse(buffers[at].bytes), at));
    let mut is_kept = vec![false; buffers.len()];
    for &at in by_size.iter().take(most) {
        is_kept[at] = true;
    }
    let gone = by_size.get(most..).unwrap_or_default();
    let (count, largest) = (gone.len(), gone.first().map_or(0, |&at| buffers[at].bytes));
    let sum = total_bytes(gone.iter().map(|&at| buffers[at].bytes));
    let mut kept = is_kept.iter();
    buffers.retain(|_| kept.next().is_some_and(|kept| *kept));
    vec![format!(
        "{count} small buffers are not on this page, none larger than {} ({} in sum over the program)",
        bytes(largest),
        bytes(sum)
    )]
}

/// What belongs to each buffer.
pub(super) fn views(context: &Context<'_>, buffers: &[Buffer]) -> Vec<BufferView> {
    let causes = context.causes();
    let mut are_detailed = vec![false; buffers.len()];
    for at in largest(buffers) {
        are_detailed[at] = true;
    }
    let view = |((buffer, written), detailed): ((&Buffer, Written), bool)| {
        let mut view = BufferView {
            category: category(context.profile, &causes, buffer),
            ranges: Vec::new(),
            written,
            aliases: Vec::new(),
            users: Vec::new(),
            more_users: 0,
        };
        if let Some(id) = buffer.value {
            view.ranges = ranges(context.profile, buffer);
            if detailed {
                describe(context, id, &mut view);
            }
        }
        view
    };
    buffers.iter().zip(written(context, buffers)).zip(are_detailed).map(view).collect()
}

/// How the text has each buffer: of the largest, as much as a page may hold.
pub(super) fn written(context: &Context<'_>, buffers: &[Buffer]) -> Vec<Written> {
    let lines = LineStarts::of(context.module.text);
    let mut all = vec![Written::default(); buffers.len()];
    let mut left = MOST_TEXTS;
    for at in largest(buffers) {
        let Some(id) = buffers[at].value else { continue };
        let written = Written::of(context, id, &lines);
        let Some(rest) = left.checked_sub(written.text.len()) else { break };
        left = rest;
        all[at] = written;
    }
    all
}

/// The positions of the largest buffers, of which a page tells more; the largest first.
fn largest(buffers: &[Buffer]) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..buffers.len()).collect();
    by_size.sort_by_key(|&at| (Reverse(buffers[at].bytes), at));
    by_size.truncate(MOST_DETAILED);
    by_size
}

impl Written {
    fn of(context: &Context<'_>, id: ValueId, lines: &LineStarts) -> Written {
        let value = context.profile.value(id);
        let array = context.module.shapes.get(value.shape).array();
        Written {
            layout: array.map(layout::words).unwrap_or_default(),
            text: text(context, value.instruction),
            line: lines.line(context.module.instruction(value.instruction).span.start),
        }
    }
}

fn category(
    profile: &MemoryProfile,
    causes: &FxHashMap<BufferId, Cause>,
    buffer: &Buffer,
) -> Category {
    let cause = buffer.value.and_then(|id| causes.get(&profile.value(id).buffer));
    match (buffer.kind, cause) {
        (Kind::Parameter, _) => Category::Parameter,
        (Kind::Output, _) => Category::Output,
        (Kind::Constant, _) => Category::Constant,
        (Kind::ThreadLocal, _) => Category::Temporary,
        _ if is_collective(&buffer.opcode) => Category::Collective,
        (_, Some(Cause::Residual)) => Category::Activation,
        (_, Some(Cause::Gradient)) => Category::Gradient,
        _ if is_backward(&buffer.op_name) => Category::Gradient,
        (_, Some(Cause::Activation)) => Category::Activation,
        _ if buffer.op_name.contains("jvp(") => Category::Activation,
        _ => Category::Temporary,
    }
}

/// Whether an opcode is one of a collective operation or of a part of it.
fn is_collective(opcode: &str) -> bool {
    let stems = ["all-", "collective-", "ragged-all-to-all", "reduce-scatter", "send", "recv"];
    stems.iter().any(|stem| opcode.starts_with(stem))
}

/// When any value of a buffer is alive, where there are gaps between them.
pub(super) fn ranges(profile: &MemoryProfile, buffer: &Buffer) -> Vec<(u32, u32)> {
    let is_whole = !matches!(buffer.kind, Kind::Temporary | Kind::ThreadLocal);
    let Some(id) = buffer.value.filter(|_| !is_whole) else { return Vec::new() };
    let value = profile.value(id);
    let here = value.place.map(|place| place.allocation);
    let members = profile.buffer(value.buffer).values.iter().map(|&id| profile.value(id));
    let mut alive: Vec<(u32, u32)> = members
        .filter(|value| value.place.map(|place| place.allocation) == here)
        .filter_map(|value| value.live.map(|live| (live.start, live.end)))
        .collect();
    alive.sort_unstable();
    let mut joined: Vec<(u32, u32)> = Vec::new();
    for (start, end) in alive {
        match joined.last_mut() {
            Some(last) if start <= last.1.saturating_add(1) => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    if joined.len() > 1 { joined } else { Vec::new() }
}

fn describe(context: &Context<'_>, id: ValueId, view: &mut BufferView) {
    let (profile, module) = (context.profile, context.module);
    let value = profile.value(id);
    let name = |id: InstructionId| module.instruction(id).name.to_owned();
    let others = profile.buffer(value.buffer).values.iter().filter(|&&other| other != id);
    view.aliases = others
        .map(|&other| profile.value(other).instruction)
        .filter(|&other| other != value.instruction)
        .take(MOST_NAMES)
        .map(name)
        .collect();
    view.aliases.dedup();
    let mut users = context.graph.users(value.instruction).map(|(user, _)| user);
    view.users = users.by_ref().take(MOST_NAMES).map(name).collect();
    view.more_users = users.count();
}

/// The instruction's text without its `backend_config`.
fn text(context: &Context<'_>, id: InstructionId) -> String {
    let module = context.module;
    let whole = module.text.get(module.instruction(id).span.range()).unwrap_or_default();
    let config = module.attributes(id).iter().find_map(|attribute| match attribute {
        Attribute::BackendConfig(config) => Some(*config),
        _ => None,
    });
    let cut = config.and_then(|config| {
        let (before, behind) = whole.split_once(config)?;
        let before = before.trim_end_matches(['"', '{']);
        Some((before.strip_suffix("backend_config=")?, behind.trim_start_matches(['"', '}'])))
    });
    let mut text = match cut {
        Some((before, behind)) => format!("{}{behind}", before.trim_end().trim_end_matches(',')),
        None => whole.to_owned(),
    };
    if let Some((end, _)) = text.char_indices().find(|(at, _)| *at >= MOST_TEXT) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Where the lines of a text start.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> LineStarts {
        LineStarts(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).collect())
    }

    /// The 1-based line of an offset.
    fn line(&self, offset: u32) -> usize {
        1 + self.0.partition_point(|&start| start <= offset as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::is_collective;

    #[test]
    fn collectives() {
        let opcodes = ["all-reduce", "all-gather-start", "reduce-scatter", "collective-permute"];
        assert!(opcodes.iter().all(|opcode| is_collective(opcode)));
        assert!(
            !["fusion", "reduce", "allocate-buffer"].iter().any(|opcode| is_collective(opcode))
        );
    }
}
