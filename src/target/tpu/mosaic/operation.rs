//! The name of an operation in; what an estimate needs to know of it out.

/// What an operation is. Mosaic writes every operation as one of dialect `stable_mosaic` whose name
/// is the real name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the operation of that name")]
pub enum Kind {
    Func,
    Return,
    Constant,
    Compare,
    Add,
    Subtract,
    Multiply,
    And,
    Or,
    Xor,
    Minimum,
    Maximum,
    Divide,
    Remainder,
    Select,
    /// A conversion between integers.
    IntegerCast,
    /// Any other operation on each element.
    Elementwise,
    ShapeCast,
    Reduction,
    Matmul,
    VectorLoad,
    VectorStore,
    ScalarLoad,
    Slice,
    Squeeze,
    /// Another look at the same memory.
    View,
    Alloca,
    EnqueueDma,
    WaitDma,
    If,
    For,
    Yield,
    IterationBound,
    /// An operation without effect on memory, whose result depends on its operands.
    Pure,
    /// Anything else: it may have any effect.
    Other,
}

impl Kind {
    /// The kind of a name.
    pub fn from_name(name: &str) -> Kind {
        match name {
            "func.func" => Kind::Func,
            "func.return" => Kind::Return,
            "arith.constant" => Kind::Constant,
            "arith.cmpi" => Kind::Compare,
            "arith.addi" => Kind::Add,
            "arith.subi" => Kind::Subtract,
            "arith.muli" => Kind::Multiply,
            "arith.andi" => Kind::And,
            "arith.ori" => Kind::Or,
            "arith.xori" => Kind::Xor,
            "arith.minsi" => Kind::Minimum,
            "arith.maxsi" => Kind::Maximum,
            "arith.divsi" | "arith.divui" => Kind::Divide,
            "arith.remsi" | "arith.remui" => Kind::Remainder,
            "arith.select" => Kind::Select,
            "arith.extui" | "arith.extsi" | "arith.trunci" | "arith.index_cast" => {
                Kind::IntegerCast
            }
            "tpu.bitcast" => Kind::Elementwise,
            "vector.shape_cast" => Kind::ShapeCast,
            "vector.multi_reduction" => Kind::Reduction,
            "tpu.matmul" => Kind::Matmul,
            "vector.load" | "tpu.vector_load" => Kind::VectorLoad,
            "tpu.vector_store" | "vector.store" => Kind::VectorStore,
            "memref.load" => Kind::ScalarLoad,
            "tpu.memref_slice" => Kind::Slice,
            "tpu.memref_squeeze" => Kind::Squeeze,
            "tpu.memref_reshape" | "tpu.memref_bitcast" | "tpu.reinterpret_cast" => Kind::View,
            "memref.alloca" => Kind::Alloca,
            "tpu.enqueue_dma" => Kind::EnqueueDma,
            "tpu.wait_dma" | "tpu.wait_dma2" => Kind::WaitDma,
            "scf.if" => Kind::If,
            "scf.for" => Kind::For,
            "scf.yield" | "tpu.yield" => Kind::Yield,
            "tpu.iteration_bound" => Kind::IterationBound,
            "tpu.strided_load"
            | "tpu.iota"
            | "tpu.concatenate"
            | "tpu.transpose"
            | "tpu.dynamic_rotate"
            | "tpu.rotate"
            | "tpu.repeat"
            | "tpu.dynamic_gather"
            | "tpu.reduce_index"
            | "tpu.assume_multiple"
            | "tpu.weird"
            | "tpu.device_id" => Kind::Pure,
            _ if name.starts_with("arith.") || name.starts_with("math.") => Kind::Elementwise,
            _ if name.starts_with("vector.") => Kind::Pure,
            _ => Kind::Other,
        }
    }

    /// Whether it computes each element of its result from the same element of its operands.
    pub fn is_elementwise(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Compare
                | Add
                | Subtract
                | Multiply
                | And
                | Or
                | Xor
                | Minimum
                | Maximum
                | Divide
                | Remainder
                | Select
                | IntegerCast
                | Elementwise
        )
    }

    /// Whether it goes when nobody needs its results.
    pub fn is_pure(self) -> bool {
        use Kind::*;
        self.is_elementwise()
            || matches!(
                self,
                Constant
                    | ShapeCast
                    | Reduction
                    | Matmul
                    | VectorLoad
                    | ScalarLoad
                    | Slice
                    | Squeeze
                    | View
                    | Alloca
                    | IterationBound
                    | Pure
            )
    }
}
