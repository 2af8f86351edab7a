//! A module in; its dataflow graph (operands, control edges, calls, loops) out.
