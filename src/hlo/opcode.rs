//! The operation of an instruction.

macro_rules! opcodes {
    ($($variant:ident $text:literal),+ $(,)?) => {
        /// The operation of an instruction. Names as XLA prints them (facts: XLA `hlo_opcode.h`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each variant is the opcode of that name")]
        pub enum Opcode {
            $($variant),+
        }

        impl Opcode {
            /// Every opcode, in alphabetical order of its text.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$variant),+];

            /// The opcode as HLO text spells it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Opcode::$variant => $text),+
                }
            }
        }
    };
}

opcodes! {
    Abs "abs",
    Acos "acos",
    Acosh "acosh",
    Add "add",
    AddDependency "add-dependency",
    AfterAll "after-all",
    AllGather "all-gather",
    AllGatherDone "all-gather-done",
    AllGatherStart "all-gather-start",
    AllReduce "all-reduce",
    AllReduceDone "all-reduce-done",
    AllReduceStart "all-reduce-start",
    AllToAll "all-to-all",
    And "and",
    Asin "asin",
    Asinh "asinh",
    AsyncDone "async-done",
    AsyncStart "async-start",
    AsyncUpdate "async-update",
    Atan2 "atan2",
    Atanh "atanh",
    BatchNormGrad "batch-norm-grad",
    BatchNormInference "batch-norm-inference",
    BatchNormTraining "batch-norm-training",
    Bitcast "bitcast",
    BitcastConvert "bitcast-convert",
    Broadcast "broadcast",
    Call "call",
    Cbrt "cbrt",
    Ceil "ceil",
    Cholesky "cholesky",
    Clamp "clamp",
    CollectiveBroadcast "collective-broadcast",
    CollectivePermute "collective-permute",
    CollectivePermuteDone "collective-permute-done",
    CollectivePermuteStart "collective-permute-start",
    Compare "compare",
    Complex "complex",
    Concatenate "concatenate",
    Conditional "conditional",
    Constant "constant",
    Convert "convert",
    Convolution "convolution",
    Copy "copy",
    CopyDone "copy-done",
    CopyStart "copy-start",
    Cosh "cosh",
    Cosine "cosine",
    CountLeadingZeros "count-leading-zeros",
    CustomCall "custom-call",
    Divide "divide",
    Domain "domain",
    Dot "dot",
    DynamicReshape "dynamic-reshape",
    DynamicSlice "dynamic-slice",
    DynamicUpdateSlice "dynamic-update-slice",
    Erf "erf",
    Exponential "exponential",
    ExponentialMinusOne "exponential-minus-one",
    Fft "fft",
    Floor "floor",
    Fusion "fusion",
    Gather "gather",
    GetDimensionSize "get-dimension-size",
    GetTupleElement "get-tuple-element",
    Imag "imag",
    Infeed "infeed",
    Iota "iota",
    IsFinite "is-finite",
    Log "log",
    LogPlusOne "log-plus-one",
    Logistic "logistic",
    Map "map",
    Maximum "maximum",
    Minimum "minimum",
    Mulhi "mulhi",
    Multiply "multiply",
    Negate "negate",
    Not "not",
    OptBarrier "opt-barrier",
    Or "or",
    Outfeed "outfeed",
    Pad "pad",
    Parameter "parameter",
    PartitionId "partition-id",
    Popcnt "popcnt",
    Power "power",
    RaggedAllToAll "ragged-all-to-all",
    RaggedDot "ragged-dot",
    Real "real",
    Recv "recv",
    RecvDone "recv-done",
    Reduce "reduce",
    ReducePrecision "reduce-precision",
    ReduceScatter "reduce-scatter",
    ReduceWindow "reduce-window",
    Remainder "remainder",
    ReplicaId "replica-id",
    Reshape "reshape",
    Reverse "reverse",
    Rng "rng",
    RngBitGenerator "rng-bit-generator",
    RngGetAndUpdateState "rng-get-and-update-state",
    RoundNearestAfz "round-nearest-afz",
    RoundNearestEven "round-nearest-even",
    Rsqrt "rsqrt",
    ScaledDot "scaled-dot",
    Scan "scan",
    Scatter "scatter",
    Select "select",
    SelectAndScatter "select-and-scatter",
    Send "send",
    SendDone "send-done",
    SetDimensionSize "set-dimension-size",
    ShiftLeft "shift-left",
    ShiftRightArithmetic "shift-right-arithmetic",
    ShiftRightLogical "shift-right-logical",
    Sign "sign",
    Sine "sine",
    Sinh "sinh",
    Slice "slice",
    Sort "sort",
    Sqrt "sqrt",
    StochasticConvert "stochastic-convert",
    Subtract "subtract",
    Tan "tan",
    Tanh "tanh",
    Topk "topk",
    Transpose "transpose",
    TriangularSolve "triangular-solve",
    Tuple "tuple",
    While "while",
    Xor "xor",
}

impl Opcode {
    /// The opcode that HLO text spells so, if there is one.
    pub fn from_text(text: &str) -> Option<Opcode> {
        Opcode::ALL
            .binary_search_by(|opcode| opcode.as_str().cmp(text))
            .ok()
            .map(|at| Opcode::ALL[at])
    }

    /// Whether the result is computed element by element from operands of the same shape
    /// (XLA `HloInstruction::IsElementwise`, without fusions).
    pub const fn is_elementwise(self) -> bool {
        use Opcode::*;
        matches!(
            self,
            Abs | Acos
                | Acosh
                | Add
                | And
                | Asin
                | Asinh
                | Atan2
                | Atanh
                | BitcastConvert
                | Cbrt
                | Ceil
                | Clamp
                | Compare
                | Complex
                | Convert
                | Copy
                | Cosine
                | Cosh
                | CountLeadingZeros
                | Divide
                | Erf
                | Exponential
                | ExponentialMinusOne
                | Floor
                | Imag
                | IsFinite
                | Log
                | LogPlusOne
                | Logistic
                | Maximum
                | Minimum
                | Mulhi
                | Multiply
                | Negate
                | Not
                | Or
                | Popcnt
                | Power
                | Real
                | ReducePrecision
                | Remainder
                | RoundNearestAfz
                | RoundNearestEven
                | Rsqrt
                | Select
                | ShiftLeft
                | ShiftRightArithmetic
                | ShiftRightLogical
                | Sign
                | Sine
                | Sinh
                | Sqrt
                | StochasticConvert
                | Subtract
                | Tan
                | Tanh
                | Xor
        )
    }
}

impl std::fmt::Display for Opcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Opcode;

    #[test]
    fn text_and_back() {
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::from_text(opcode.as_str()), Some(opcode));
        }
        assert_eq!(Opcode::from_text("cross-replica-sum"), None);
    }
}
