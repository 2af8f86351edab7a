//! Every buffer of a module, with where it comes from and when it is alive.

use super::Options;
use crate::lint::{Argument, Context, Source, unescape};
use crate::memory::{Allocation, AllocationKind, LiveRange, ValueId};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a buffer exists.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An argument.
    Parameter,
    /// A result that shares no argument's memory.
    Output,
    /// A constant.
    Constant,
    /// A value of a computation that is applied to elements.
    ThreadLocal,
    /// Anything else.
    Temporary,
}

impl Kind {
    fn of(allocation: &Allocation) -> Kind {
        match allocation.kind {
            AllocationKind::Parameter { .. } => Kind::Parameter,
            AllocationKind::Constant => Kind::Constant,
            AllocationKind::ThreadLocal => Kind::ThreadLocal,
            AllocationKind::Temporary if allocation.maybe_live_out => Kind::Output,
            AllocationKind::Temporary => Kind::Temporary,
        }
    }

    /// The word that outputs print.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Parameter => "parameter",
            Kind::Output => "output",
            Kind::Constant => "constant",
            Kind::ThreadLocal => "thread-local",
            Kind::Temporary => "temporary",
        }
    }
}

/// A buffer: values that must share their memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Buffer {
    /// The instruction of its largest value, at the peak of those that are there; of equal ones the
    /// first.
    pub instruction: String,
    /// Where in the instruction's result; empty where it is the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<u32>,
    /// The opcode.
    pub opcode: String,
    /// The operation in the user's program, or an argument's path.
    pub op_name: String,
    /// The user's line that computes the data.
    pub source: Option<Source>,
    /// The call stack of the instruction, innermost first, where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Source>,
    /// The shape with its layout.
    pub shape: String,
    /// Its size, padding included.
    pub bytes: u64,
    /// Its size without padding.
    pub unpadded_bytes: u64,
    /// The memory space (0 is HBM).
    pub memory_space: i64,
    /// Why it exists.
    pub kind: Kind,
    /// The number of the argument it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<i64>,
    /// Whether it is an argument whose memory a result takes.
    pub is_donated: bool,
    /// The number of its allocation.
    pub allocation: u32,
    /// Where in the allocation; absent where the compiler placed it before.
    pub offset_bytes: Option<u64>,
    /// The first program point at which it is alive: 0 for what lives for the whole program.
    pub start: Option<u32>,
    /// The last program point at which it is alive.
    pub end: Option<u32>,
    /// Whether it is alive at the peak of HBM (in whatever memory space it is).
    pub is_alive_at_peak: bool,
    /// How many values share it.
    pub values: usize,
    /// The value that it is called by; absent where the report was read and not made.
    #[serde(skip)]
    pub(in crate::report) value: Option<ValueId>,
}

/// All buffers that were placed, by allocation and offset.
pub(super) fn all(context: &Context<'_>, options: Options) -> Vec<Buffer> {
    let profile = context.profile;
    let arguments: FxHashMap<i64, &Argument> =
        context.arguments.iter().rev().map(|argument| (argument.number, argument)).collect();
    let mut buffers: Vec<Buffer> = Vec::new();
    for (number, allocation) in profile.allocations.iter().enumerate() {
        let mut by_buffer: Vec<(u32, ValueId)> =
            allocation.values.iter().map(|&id| (profile.value(id).buffer.0, id)).collect();
        by_buffer.sort_unstable();
        let start = buffers.len();
        for members in by_buffer.chunk_by(|a, b| a.0 == b.0) {
            let mut buffer = buffer(context, options, allocation, number as u32, members);
            let argument = buffer.as_ref().and_then(|b| arguments.get(&b.parameter?));
            if let (Some(buffer), Some(argument)) = (&mut buffer, argument) {
                buffer.op_name.clone_from(&argument.path);
                buffer.source = None;
            }
            buffers.extend(buffer);
        }
        buffers[start..].sort_by_key(|buffer| (buffer.offset_bytes, buffer.start));
    }
    buffers
}

fn buffer(
    context: &Context<'_>,
    options: Options,
    allocation: &Allocation,
    number: u32,
    members: &[(u32, ValueId)],
) -> Option<Buffer> {
    let (profile, module) = (context.profile, context.module);
    let values = || members.iter().map(|&(_, id)| (id, profile.value(id)));
    let (largest_id, largest) =
        values().max_by_key(|(id, value)| (value.size_bytes, std::cmp::Reverse(*id)))?;
    // Backends that reuse an argument's memory put other values there, too.
    let is_argument = |number: i64| {
        values().any(|(_, value)| {
            module.instruction(value.instruction).computation == module.entry
                && module.parameter_number(value.instruction) == Some(number)
        })
    };
    let parameter = match allocation.kind {
        AllocationKind::Parameter { number, .. } => Some(number).filter(|&n| is_argument(n)),
        _ => None,
    };
    // Older compilers put temporaries into the memory of results that are not there yet.
    let is_result = profile.schedule.is_empty()
        || values().any(|(_, value)| {
            value.live.is_some_and(|live| live.end as usize >= profile.schedule.len())
        });
    let kind = match Kind::of(allocation) {
        Kind::Parameter if parameter.is_none() => Kind::Temporary,
        Kind::Output if !is_result => Kind::Temporary,
        kind => kind,
    };
    let peak = profile.hbm().and_then(|hbm| hbm.peak_point);
    let is_at = |live: LiveRange| peak.is_some_and(|at| live.start <= at && at <= live.end);
    // Values that follow one another in a buffer have names of their own: at the peak it is called by
    // the one that is there.
    let there = values().filter(|(_, value)| value.live.is_some_and(is_at));
    let named = there.max_by_key(|(id, value)| (value.size_bytes, std::cmp::Reverse(*id)));
    let (named_id, named) = named.unwrap_or((largest_id, largest));
    let instruction = named.instruction;
    let index = named.index.to_vec();
    let shape = crate::text::shape_text(&module.shapes, named.shape);
    let (origin, source) = context.origin(named);
    let named = module.metadata(instruction).or_else(|| module.metadata(origin));
    let is_whole = !matches!(kind, Kind::Temporary | Kind::ThreadLocal);
    let ranges = || values().filter_map(|(_, value)| value.live);
    let live: Option<LiveRange> = if is_whole && !profile.schedule.is_empty() {
        Some(LiveRange { start: 0, end: (profile.schedule.len() as u32).saturating_sub(1) })
    } else {
        ranges().reduce(|a, b| LiveRange { start: a.start.min(b.start), end: a.end.max(b.end) })
    };
    Some(Buffer {
        instruction: module.instruction(instruction).name.to_owned(),
        index,
        opcode: module.opcode(instruction).to_string(),
        op_name: named.map(|metadata| unescape(metadata.op_name)).unwrap_or_default(),
        source,
        stack: if options.stacks { context.stack(origin) } else { Vec::new() },
        shape,
        bytes: largest.size_bytes,
        unpadded_bytes: largest.unpadded_bytes,
        memory_space: allocation.memory_space,
        kind,
        parameter,
        is_donated: parameter.is_some() && allocation.maybe_live_out,
        allocation: number,
        offset_bytes: largest.place.map(|place| place.offset_bytes),
        start: live.map(|live| live.start),
        end: live.map(|live| live.end),
        is_alive_at_peak: kind != Kind::ThreadLocal
            && live.is_some_and(is_at)
            && (is_whole || ranges().any(is_at)),
        values: members.len(),
        value: Some(named_id),
    })
}
