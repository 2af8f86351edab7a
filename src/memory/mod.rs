//! A dataflow graph and a policy in; sizes, live ranges, allocations, totals and the peak out.
