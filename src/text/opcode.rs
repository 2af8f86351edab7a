//! What each opcode takes: operands and attributes (facts: hlo-text tables, of jaxlib 0.10.2).

use crate::hlo::{AttributeName, Opcode};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// How many operands an opcode takes, as far as the syntax says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// This many.
    Exactly(u32),
    /// Pairs.
    Even,
    /// Pairs and one more.
    Odd,
    /// Any number.
    Any,
}

/// Whether the result shape may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultShape {
    /// It follows from operands and attributes.
    Inferred,
    /// It must be written.
    Written,
}

/// A set of attribute names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Names(u128);

impl Names {
    const fn of(names: &[AttributeName]) -> Names {
        let mut bits = 0;
        let mut at = 0;
        while at < names.len() {
            bits |= 1 << names[at] as u32;
            at += 1;
        }
        Names(bits)
    }

    /// Whether a name is in the set.
    #[inline]
    pub(super) const fn has(self, name: AttributeName) -> bool {
        self.0 & (1 << name as u32) != 0
    }

    /// Puts a name in.
    #[inline]
    pub(super) const fn insert(&mut self, name: AttributeName) {
        self.0 |= 1 << name as u32;
    }

    /// This set and another.
    #[inline]
    pub(super) const fn and(self, other: Names) -> Names {
        Names(self.0 | other.0)
    }

    /// The first name that is in this set and not in another.
    pub(super) fn first_missing(self, from: Names) -> Option<AttributeName> {
        let missing = self.0 & !from.0;
        AttributeName::ALL.get(missing.trailing_zeros() as usize).copied()
    }
}

/// What an opcode takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    opcode: Opcode,
    /// Its operands.
    pub(super) operands: Operands,
    /// Whether its shape may be left out.
    pub(super) shape: ResultShape,
    /// Attributes that must be there.
    pub(super) required: Names,
    /// Attributes that may be there.
    pub(super) optional: Names,
}

impl Rule {
    /// Its own attributes.
    #[inline]
    pub(super) const fn allowed(&self) -> Names {
        self.required.and(self.optional)
    }
}

/// Attributes that every instruction may have.
pub(super) const COMMON: Names = {
    use AttributeName::*;
    Names::of(&[
        Sharding,
        FrontendAttributes,
        Statistics,
        ParameterReplication,
        ControlPredecessors,
        Origin,
        Metadata,
        BackendConfig,
    ])
};

/// Attributes of async-start that the word `X-start` takes beside those of X.
pub(super) const OF_START: Names =
    Names::of(&[AttributeName::AsyncExecutionThread, AttributeName::OutputToOperandAliasing]);

/// Attributes of earlier versions that say nothing to an analysis: on any instruction.
pub(super) const OLDER: Names = {
    use AttributeName::*;
    Names::of(&[
        AllReduceId,
        AsyncGroupId,
        Barrier,
        IsCrossProgramPrefetch,
        Opaque,
        OperationQueueId,
        OuterDimensionPartitions,
        Sparsity,
        WaitOnOperationQueues,
    ])
};

/// What an attribute of an earlier version is called now.
pub(super) const fn present_name(name: AttributeName) -> Option<AttributeName> {
    Some(match name {
        AttributeName::OutputWindowDims => AttributeName::OffsetDims,
        AttributeName::ElidedWindowDims => AttributeName::CollapsedSliceDims,
        AttributeName::GatherDimsToOperandDims => AttributeName::StartIndexMap,
        AttributeName::WindowBounds => AttributeName::SliceSizes,
        AttributeName::ConvKind => AttributeName::ConvolutionKind,
        AttributeName::OriginalValue => AttributeName::Origin,
        _ => return None,
    })
}

/// The rule of an opcode.
#[inline]
pub(super) const fn rule(opcode: Opcode) -> &'static Rule {
    &RULES[opcode as usize]
}

macro_rules! rules {
    ($($opcode:ident: $operands:expr, $shape:ident, [$($required:ident),*], [$($optional:ident),*];)+) => {
        const TABLE: [Rule; Opcode::ALL.len()] = [$(Rule {
            opcode: Opcode::$opcode,
            operands: $operands,
            shape: ResultShape::$shape,
            required: Names::of(&[$(AttributeName::$required),*]),
            optional: Names::of(&[$(AttributeName::$optional),*]),
        }),+];
    };
}

static RULES: [Rule; Opcode::ALL.len()] = TABLE;

// The table stands in the order of the opcodes.
const _: () = {
    let mut at = 0;
    while at < TABLE.len() {
        assert!(TABLE[at].opcode as usize == at);
        at += 1;
    }
};

use Operands::{Any, Even, Exactly, Odd};

rules! {
    Abs: Exactly(1), Inferred, [], [];
    Acos: Exactly(1), Inferred, [], [ResultAccuracy];
    Acosh: Exactly(1), Inferred, [], [ResultAccuracy];
    Add: Exactly(2), Inferred, [], [];
    AddDependency: Exactly(2), Inferred, [], [];
    AfterAll: Any, Inferred, [], [];
    AllGather: Any, Written, [Dimensions], [ChannelId, ConstrainLayout, ReplicaGroups, UseGlobalDeviceIds];
    AllGatherDone: Exactly(1), Written, [], [];
    AllGatherStart: Any, Written, [Dimensions], [ChannelId, ConstrainLayout, ReplicaGroups, UseGlobalDeviceIds];
    AllReduce: Any, Written, [ToApply], [ChannelId, ConstrainLayout, Mode, ReplicaGroups, UseGlobalDeviceIds];
    AllReduceDone: Exactly(1), Written, [], [];
    AllReduceStart: Any, Written, [ToApply], [ChannelId, ConstrainLayout, Mode, ReplicaGroups, UseGlobalDeviceIds];
    AllToAll: Any, Written, [], [ChannelId, ConstrainLayout, Dimensions, ReplicaGroups];
    And: Exactly(2), Inferred, [], [];
    Asin: Exactly(1), Inferred, [], [ResultAccuracy];
    Asinh: Exactly(1), Inferred, [], [ResultAccuracy];
    AsyncDone: Exactly(1), Written, [], [AsyncExecutionThread, Calls];
    AsyncStart: Any, Written, [Calls], [AsyncExecutionThread, OutputToOperandAliasing];
    AsyncUpdate: Any, Written, [], [AsyncExecutionThread, Calls, OutputToOperandAliasing];
    Atan2: Exactly(2), Inferred, [], [];
    Atanh: Exactly(1), Inferred, [], [ResultAccuracy];
    BatchNormGrad: Exactly(5), Inferred, [Epsilon, FeatureIndex], [];
    BatchNormInference: Exactly(5), Inferred, [Epsilon, FeatureIndex], [];
    BatchNormTraining: Exactly(3), Inferred, [Epsilon, FeatureIndex], [];
    Bitcast: Exactly(1), Written, [], [];
    BitcastConvert: Exactly(1), Written, [], [];
    Broadcast: Exactly(1), Inferred, [], [Dimensions];
    Call: Any, Inferred, [ToApply], [IsComposite];
    Cbrt: Exactly(1), Inferred, [], [ResultAccuracy];
    Ceil: Exactly(1), Inferred, [], [];
    Cholesky: Exactly(1), Inferred, [], [Lower];
    Clamp: Exactly(3), Inferred, [], [];
    CollectiveBroadcast: Any, Written, [], [ChannelId, HasDynamicRoot, ReplicaGroups];
    CollectivePermute: Any, Written, [SourceTargetPairs], [ChannelId, SliceSizes];
    CollectivePermuteDone: Exactly(1), Written, [], [];
    CollectivePermuteStart: Any, Written, [SourceTargetPairs], [ChannelId, SliceSizes];
    Compare: Exactly(2), Inferred, [Direction], [Order, Type];
    Complex: Exactly(2), Inferred, [], [];
    Concatenate: Any, Inferred, [Dimensions], [];
    Conditional: Any, Inferred, [], [BranchComputations, FalseComputation, TrueComputation];
    Constant: Exactly(0), Written, [], [];
    Convert: Exactly(1), Written, [], [];
    Convolution: Exactly(2), Inferred, [DimLabels], [Algorithm, BatchGroupCount, ConvolutionKind, FeatureGroupCount, OperandPrecision, SparsityConfig, Window];
    Copy: Exactly(1), Inferred, [], [];
    CopyDone: Exactly(1), Written, [], [];
    CopyStart: Exactly(1), Written, [], [CrossProgramPrefetchIndex];
    Cosh: Exactly(1), Inferred, [], [ResultAccuracy];
    Cosine: Exactly(1), Inferred, [], [ResultAccuracy];
    CountLeadingZeros: Exactly(1), Inferred, [], [];
    CustomCall: Any, Written, [CustomCallTarget], [ApiVersion, BatchGroupCount, CalledComputations, CustomCallHasSideEffect, DimLabels, FeatureGroupCount, Literal, OperandLayoutConstraints, OperandPrecision, OutputToOperandAliasing, PaddingType, Schedule, ToApply, Window];
    Divide: Exactly(2), Inferred, [], [];
    Domain: Exactly(1), Inferred, [Domain], [];
    Dot: Any, Inferred, [], [Algorithm, LhsBatchDims, LhsContractingDims, OperandPrecision, RhsBatchDims, RhsContractingDims];
    DynamicReshape: Any, Written, [], [];
    DynamicSlice: Any, Written, [DynamicSliceSizes], [];
    DynamicUpdateSlice: Any, Written, [], [];
    Erf: Exactly(1), Inferred, [], [ResultAccuracy];
    Exponential: Exactly(1), Inferred, [], [ResultAccuracy];
    ExponentialMinusOne: Exactly(1), Inferred, [], [ResultAccuracy];
    Fft: Exactly(1), Inferred, [FftLength, FftType], [];
    Floor: Exactly(1), Inferred, [], [];
    Fusion: Any, Written, [Calls, Kind], [OutputToOperandAliasing];
    Gather: Exactly(2), Inferred, [CollapsedSliceDims, IndexVectorDim, OffsetDims, SliceSizes, StartIndexMap], [IndicesAreSorted, OperandBatchingDims, StartIndicesBatchingDims];
    GetDimensionSize: Exactly(1), Inferred, [Dimensions], [];
    GetTupleElement: Exactly(1), Inferred, [Index], [];
    Imag: Exactly(1), Inferred, [], [];
    Infeed: Exactly(1), Written, [], [InfeedConfig];
    Iota: Exactly(0), Written, [IotaDimension], [];
    IsFinite: Exactly(1), Inferred, [], [];
    Log: Exactly(1), Inferred, [], [ResultAccuracy];
    LogPlusOne: Exactly(1), Inferred, [], [ResultAccuracy];
    Logistic: Exactly(1), Inferred, [], [ResultAccuracy];
    Map: Any, Inferred, [ToApply], [Dimensions];
    Maximum: Exactly(2), Inferred, [], [];
    Minimum: Exactly(2), Inferred, [], [];
    Mulhi: Exactly(2), Inferred, [], [];
    Multiply: Exactly(2), Inferred, [], [];
    Negate: Exactly(1), Inferred, [], [];
    Not: Exactly(1), Inferred, [], [];
    OptBarrier: Exactly(1), Inferred, [], [];
    Or: Exactly(2), Inferred, [], [];
    Outfeed: Exactly(2), Written, [], [OutfeedConfig, OutfeedShape];
    Pad: Exactly(2), Inferred, [Padding], [];
    Parameter: Exactly(0), Written, [], [];
    PartitionId: Exactly(0), Inferred, [], [];
    Popcnt: Exactly(1), Inferred, [], [];
    Power: Exactly(2), Inferred, [], [];
    RaggedAllToAll: Any, Written, [], [ChannelId, Dimensions, ReplicaGroups];
    RaggedDot: Exactly(3), Inferred, [], [LhsBatchDims, LhsContractingDims, LhsRaggedDims, OperandPrecision, RhsBatchDims, RhsContractingDims, RhsGroupDims];
    Real: Exactly(1), Inferred, [], [];
    Recv: Exactly(1), Written, [], [ChannelId, IsHostTransfer];
    RecvDone: Exactly(1), Written, [], [ChannelId, IsHostTransfer];
    Reduce: Even, Inferred, [Dimensions, ToApply], [];
    ReducePrecision: Exactly(1), Written, [ExponentBits, MantissaBits], [];
    ReduceScatter: Any, Written, [Dimensions, ToApply], [ChannelId, ConstrainLayout, Mode, ReplicaGroups, UseGlobalDeviceIds];
    ReduceWindow: Even, Inferred, [ToApply], [Window];
    Remainder: Exactly(2), Inferred, [], [];
    ReplicaId: Exactly(0), Inferred, [], [];
    Reshape: Exactly(1), Written, [], [InferredDimension];
    Reverse: Exactly(1), Inferred, [Dimensions], [];
    Rng: Any, Written, [Distribution], [];
    RngBitGenerator: Any, Written, [Algorithm], [];
    RngGetAndUpdateState: Exactly(0), Written, [Delta], [];
    RoundNearestAfz: Exactly(1), Inferred, [], [];
    RoundNearestEven: Exactly(1), Inferred, [], [];
    Rsqrt: Exactly(1), Inferred, [], [ResultAccuracy];
    ScaledDot: Exactly(4), Inferred, [], [Algorithm, LhsBatchDims, LhsContractingDims, OperandPrecision, RhsBatchDims, RhsContractingDims];
    Scan: Any, Inferred, [Dimensions, NumCarries, ToApply], [IsAssociative, IsReverse];
    Scatter: Odd, Inferred, [IndexVectorDim, InsertedWindowDims, ScatterDimsToOperandDims, ToApply, UpdateWindowDims], [IndicesAreSorted, InputBatchingDims, ScatterIndicesBatchingDims, UniqueIndices];
    Select: Exactly(3), Inferred, [], [];
    SelectAndScatter: Exactly(3), Inferred, [Scatter, Select], [Window];
    Send: Exactly(2), Written, [], [ChannelId, IsHostTransfer];
    SendDone: Exactly(1), Written, [], [ChannelId, IsHostTransfer];
    SetDimensionSize: Exactly(2), Inferred, [Dimensions], [];
    ShiftLeft: Exactly(2), Inferred, [], [];
    ShiftRightArithmetic: Exactly(2), Inferred, [], [];
    ShiftRightLogical: Exactly(2), Inferred, [], [];
    Sign: Exactly(1), Inferred, [], [];
    Sine: Exactly(1), Inferred, [], [ResultAccuracy];
    Sinh: Exactly(1), Inferred, [], [ResultAccuracy];
    Slice: Exactly(1), Written, [Slice], [];
    Sort: Any, Inferred, [Dimensions, ToApply], [IsStable];
    Sqrt: Exactly(1), Inferred, [], [ResultAccuracy];
    StochasticConvert: Exactly(2), Written, [], [];
    Subtract: Exactly(2), Inferred, [], [];
    Tan: Exactly(1), Inferred, [], [ResultAccuracy];
    Tanh: Exactly(1), Inferred, [], [ResultAccuracy];
    Topk: Exactly(1), Inferred, [K], [IsStable, Largest];
    Transpose: Exactly(1), Inferred, [Dimensions], [];
    TriangularSolve: Exactly(2), Inferred, [], [LeftSide, Lower, TransposeA, UnitDiagonal];
    Tuple: Any, Inferred, [], [];
    While: Exactly(1), Inferred, [Body, Condition], [];
    Xor: Exactly(2), Inferred, [], [];
}

/// What the word of an opcode stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpcodeWord {
    /// The opcode itself.
    Plain(Opcode),
    /// `X-start`: an async-start of a computation that holds just X.
    Start(Opcode),
    /// `X-update`.
    Update(Opcode),
    /// `X-done`.
    Done(Opcode),
    /// A word of an earlier version for the opcode.
    Older(Opcode),
    /// A comparison of an earlier version, by the direction it has now.
    OlderCompare(&'static str),
    /// An opcode that is not known, or gone: it is kept as a custom call.
    Unknown,
}

impl OpcodeWord {
    /// The opcode of the instruction.
    #[inline]
    pub(super) const fn own(self) -> Opcode {
        match self {
            OpcodeWord::Plain(opcode) | OpcodeWord::Older(opcode) => opcode,
            OpcodeWord::Start(_) => Opcode::AsyncStart,
            OpcodeWord::Update(_) => Opcode::AsyncUpdate,
            OpcodeWord::Done(_) => Opcode::AsyncDone,
            OpcodeWord::OlderCompare(_) => Opcode::Compare,
            OpcodeWord::Unknown => Opcode::CustomCall,
        }
    }
}

static WORDS: LazyLock<FxHashMap<&'static str, Opcode>> =
    LazyLock::new(|| Opcode::ALL.iter().map(|opcode| (opcode.as_str(), *opcode)).collect());

/// The opcode that a word stands for.
#[inline]
pub(super) fn opcode_word(word: &str) -> Option<OpcodeWord> {
    match WORDS.get(word) {
        Some(&opcode) => Some(OpcodeWord::Plain(opcode)),
        None => sugar(word).or_else(|| older(word)),
    }
}

/// Opcodes of versions before 2023.
fn older(word: &str) -> Option<OpcodeWord> {
    Some(match word {
        "cross-replica-sum" => OpcodeWord::Older(Opcode::AllReduce),
        "generate-token" => OpcodeWord::Older(Opcode::AfterAll),
        "clz" => OpcodeWord::Older(Opcode::CountLeadingZeros),
        "tuple-select" => OpcodeWord::Older(Opcode::Select),
        "equal-to" => OpcodeWord::OlderCompare("EQ"),
        "not-equal-to" => OpcodeWord::OlderCompare("NE"),
        "greater-than" => OpcodeWord::OlderCompare("GT"),
        "greater-than-or-equal-to" => OpcodeWord::OlderCompare("GE"),
        "less-than" => OpcodeWord::OlderCompare("LT"),
        "less-than-or-equal-to" => OpcodeWord::OlderCompare("LE"),
        "trace" | "host-compute" => OpcodeWord::Unknown,
        _ => return None,
    })
}

fn sugar(word: &str) -> Option<OpcodeWord> {
    let (wrapped, suffix) = word.rsplit_once('-')?;
    let opcode = *WORDS.get(wrapped)?;
    if has_own_async(opcode) {
        return None;
    }
    match suffix {
        "start" => Some(OpcodeWord::Start(opcode)),
        "update" => Some(OpcodeWord::Update(opcode)),
        "done" => Some(OpcodeWord::Done(opcode)),
        _ => None,
    }
}

/// Opcodes whose asynchronous forms are opcodes themselves.
const fn has_own_async(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::AllGather
            | Opcode::AllReduce
            | Opcode::CollectivePermute
            | Opcode::Copy
            | Opcode::Recv
            | Opcode::Send
    )
}

static ATTRIBUTES: LazyLock<FxHashMap<&'static str, AttributeName>> =
    LazyLock::new(|| AttributeName::ALL.iter().map(|name| (name.as_str(), *name)).collect());

/// The attribute that a word names.
#[inline]
pub(super) fn attribute_word(word: &str) -> Option<AttributeName> {
    ATTRIBUTES.get(word).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_names_fit_the_set() {
        assert!(AttributeName::ALL.len() <= 128);
    }

    #[test]
    fn asynchronous_words() {
        assert_eq!(opcode_word("slice-start"), Some(OpcodeWord::Start(Opcode::Slice)));
        assert_eq!(opcode_word("copy-start"), Some(OpcodeWord::Plain(Opcode::CopyStart)));
        assert_eq!(opcode_word("copy-update"), None);
        assert_eq!(opcode_word("async-start-done"), Some(OpcodeWord::Done(Opcode::AsyncStart)));
    }
}
