//! Attributes of an instruction: those that analyses read as typed data, the others as checked spans.

use super::{ComputationId, InstructionId, MetadataId, ShapeIndex, ShardingId};

macro_rules! attribute_names {
    ($($variant:ident $text:literal),+ $(,)?) => {
        /// The name of an attribute of an instruction (facts: hlo-text tables, and names of older and
        /// newer versions of the language).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each variant is the attribute of that name")]
        pub enum AttributeName {
            $($variant),+
        }

        impl AttributeName {
            /// Every name, in alphabetical order of its text.
            pub const ALL: &'static [AttributeName] = &[$(AttributeName::$variant),+];

            /// The name as HLO text spells it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(AttributeName::$variant => $text),+
                }
            }
        }
    };
}

attribute_names! {
    Algorithm "algorithm",
    AllReduceId "all_reduce_id",
    ApiVersion "api_version",
    AsyncExecutionThread "async_execution_thread",
    AsyncGroupId "async_group_id",
    BackendConfig "backend_config",
    Barrier "barrier",
    BatchGroupCount "batch_group_count",
    Body "body",
    BranchComputations "branch_computations",
    CalledComputations "called_computations",
    Calls "calls",
    ChannelId "channel_id",
    CollapsedSliceDims "collapsed_slice_dims",
    Condition "condition",
    ConstrainLayout "constrain_layout",
    ControlPredecessors "control-predecessors",
    ConvKind "conv_kind",
    ConvolutionKind "convolution_kind",
    CrossProgramPrefetchIndex "cross_program_prefetch_index",
    CustomCallHasSideEffect "custom_call_has_side_effect",
    CustomCallTarget "custom_call_target",
    Delta "delta",
    DimLabels "dim_labels",
    Dimensions "dimensions",
    Direction "direction",
    Distribution "distribution",
    Domain "domain",
    DynamicSliceSizes "dynamic_slice_sizes",
    ElidedWindowDims "elided_window_dims",
    Epsilon "epsilon",
    ExponentBits "exponent_bits",
    FalseComputation "false_computation",
    FeatureGroupCount "feature_group_count",
    FeatureIndex "feature_index",
    FftLength "fft_length",
    FftType "fft_type",
    FrontendAttributes "frontend_attributes",
    GatherDimsToOperandDims "gather_dims_to_operand_dims",
    HasDynamicRoot "has_dynamic_root",
    Index "index",
    IndexVectorDim "index_vector_dim",
    IndicesAreSorted "indices_are_sorted",
    InfeedConfig "infeed_config",
    InferredDimension "inferred_dimension",
    InputBatchingDims "input_batching_dims",
    InsertedWindowDims "inserted_window_dims",
    IotaDimension "iota_dimension",
    IsAssociative "is_associative",
    IsComposite "is_composite",
    IsCrossProgramPrefetch "is_cross_program_prefetch",
    IsHostTransfer "is_host_transfer",
    IsReverse "is_reverse",
    IsStable "is_stable",
    K "k",
    Kind "kind",
    Largest "largest",
    LeftSide "left_side",
    LhsBatchDims "lhs_batch_dims",
    LhsContractingDims "lhs_contracting_dims",
    LhsRaggedDims "lhs_ragged_dims",
    Literal "literal",
    Lower "lower",
    MantissaBits "mantissa_bits",
    Metadata "metadata",
    Mode "mode",
    NumCarries "num_carries",
    OffsetDims "offset_dims",
    Opaque "opaque",
    OperandBatchingDims "operand_batching_dims",
    OperandLayoutConstraints "operand_layout_constraints",
    OperandPrecision "operand_precision",
    OperationQueueId "operation_queue_id",
    Order "order",
    Origin "origin",
    OriginalValue "original_value",
    OuterDimensionPartitions "outer_dimension_partitions",
    OutfeedConfig "outfeed_config",
    OutfeedShape "outfeed_shape",
    OutputToOperandAliasing "output_to_operand_aliasing",
    OutputWindowDims "output_window_dims",
    Padding "padding",
    PaddingType "padding_type",
    ParameterReplication "parameter_replication",
    ReplicaGroups "replica_groups",
    ResultAccuracy "result_accuracy",
    RhsBatchDims "rhs_batch_dims",
    RhsContractingDims "rhs_contracting_dims",
    RhsGroupDims "rhs_group_dims",
    Scatter "scatter",
    ScatterDimsToOperandDims "scatter_dims_to_operand_dims",
    ScatterIndicesBatchingDims "scatter_indices_batching_dims",
    Schedule "schedule",
    Select "select",
    Sharding "sharding",
    Slice "slice",
    SliceSizes "slice_sizes",
    SourceTargetPairs "source_target_pairs",
    Sparsity "sparsity",
    SparsityConfig "sparsity_config",
    StartIndexMap "start_index_map",
    StartIndicesBatchingDims "start_indices_batching_dims",
    Statistics "statistics",
    ToApply "to_apply",
    TransposeA "transpose_a",
    TrueComputation "true_computation",
    Type "type",
    UniqueIndices "unique_indices",
    UnitDiagonal "unit_diagonal",
    UpdateWindowDims "update_window_dims",
    UseGlobalDeviceIds "use_global_device_ids",
    WaitOnOperationQueues "wait_on_operation_queues",
    Window "window",
    WindowBounds "window_bounds",
}

impl AttributeName {
    /// The attribute that HLO text spells so, if it is known.
    pub fn from_text(text: &str) -> Option<AttributeName> {
        AttributeName::ALL
            .binary_search_by(|name| name.as_str().cmp(text))
            .ok()
            .map(|at| AttributeName::ALL[at])
    }
}

/// What a called computation is to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallRole {
    /// `calls` of a fusion or an async-start, `to_apply` of a call: the computation's parameters are
    /// the operands.
    Body,
    /// `to_apply` of anything but a call (reduce, sort, map, all-reduce...): applied to elements.
    Apply,
    /// `body` of a while.
    WhileBody,
    /// `condition` of a while.
    WhileCondition,
    /// A branch of a conditional, by its position (`true_computation` 0, `false_computation` 1).
    Branch(u32),
    /// `select` of a select-and-scatter.
    Select,
    /// `scatter` of a select-and-scatter.
    Scatter,
    /// `called_computations` of a custom-call, by position.
    Called(u32),
}

/// One pair of `output_to_operand_aliasing`: an output that shares an operand's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasPair {
    /// The index inside the result.
    pub output: ShapeIndex,
    /// The operand number, not checked.
    pub operand: i64,
    /// The index inside the operand's shape.
    pub operand_index: ShapeIndex,
}

/// An attribute of an instruction. Lists become several entries. Strings are as written, without
/// their quotes, escapes included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute<'src> {
    /// A called computation.
    Calls(CallRole, ComputationId),
    /// One of `control-predecessors`.
    ControlPredecessor(InstructionId),
    /// The number of a parameter.
    ParameterNumber(i64),
    /// `index` of a get-tuple-element.
    Index(i64),
    /// The literal of a constant, a span (outer braces or parentheses included).
    Literal(&'src str),
    /// `custom_call_target`.
    CustomCallTarget(&'src str),
    /// `output_to_operand_aliasing`, one pair.
    OutputToOperandAlias(Box<AliasPair>),
    /// `is_host_transfer=true`.
    IsHostTransfer,
    /// `channel_id`.
    ChannelId(i64),
    /// `sharding`.
    Sharding(ShardingId),
    /// `metadata`.
    Metadata(MetadataId),
    /// `frontend_attributes`, with its braces.
    FrontendAttributes(&'src str),
    /// `backend_config`: a dictionary with its braces, or the inside of a quoted string.
    BackendConfig(&'src str),
    /// `async_execution_thread`.
    AsyncExecutionThread(&'src str),
    /// Any other attribute: its value as written, checked.
    Other(AttributeName, &'src str),
    /// An attribute of a name that is not known: name and value as written.
    Unknown(Box<(&'src str, &'src str)>),
}
