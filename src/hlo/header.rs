//! What the `HloModule` line says.

use super::{ShapeId, ShapeIndex};

/// Whether an output may or must share the memory of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AliasKind {
    /// `may-alias`, also where the text names no kind.
    #[default]
    May,
    /// `must-alias`.
    Must,
}

/// A place inside an entry parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterIndex {
    /// The parameter number, not checked.
    pub parameter: i64,
    /// The index inside the parameter's shape.
    pub index: ShapeIndex,
}

/// One entry of `input_output_alias`: an output that shares a parameter's memory (donation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputOutputAlias {
    /// The index inside the entry's result.
    pub output: ShapeIndex,
    /// The parameter it shares with.
    pub parameter: ParameterIndex,
    /// May or must.
    pub kind: AliasKind,
}

/// What the `HloModule` line says besides the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'src> {
    /// Text order in every computation is execution order.
    pub is_scheduled: bool,
    /// `replica_count`, 1 where absent.
    pub replica_count: i64,
    /// `num_partitions`, 1 where absent.
    pub num_partitions: i64,
    /// Donated parameters that an output took.
    pub input_output_alias: Vec<InputOutputAlias>,
    /// Donated parameters that no output took.
    pub buffer_donor: Vec<ParameterIndex>,
    /// `alias_passthrough_params`.
    pub alias_passthrough_params: bool,
    /// Shapes of the entry's parameters and of its result.
    pub entry_computation_layout: Option<(Vec<ShapeId>, ShapeId)>,
    /// For each parameter whether the partitioner may choose its sharding: `true` where the user
    /// gave none.
    pub allow_spmd_sharding_propagation_to_parameters: Vec<bool>,
    /// The same for the results.
    pub allow_spmd_sharding_propagation_to_output: Vec<bool>,
    /// `frontend_attributes`: keys and values as written (a string without its quotes, or a
    /// dictionary with its braces).
    pub frontend_attributes: Vec<(&'src str, &'src str)>,
    /// Other attributes: names and values as written.
    pub other: Vec<(&'src str, &'src str)>,
}

impl Default for Header<'_> {
    fn default() -> Self {
        Header {
            is_scheduled: false,
            replica_count: 1,
            num_partitions: 1,
            input_output_alias: Vec::new(),
            buffer_donor: Vec::new(),
            alias_passthrough_params: false,
            entry_computation_layout: None,
            allow_spmd_sharding_propagation_to_parameters: Vec::new(),
            allow_spmd_sharding_propagation_to_output: Vec::new(),
            frontend_attributes: Vec::new(),
            other: Vec::new(),
        }
    }
}
