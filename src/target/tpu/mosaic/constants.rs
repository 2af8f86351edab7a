//! A kernel and the sizes of its grid in; the values that are known numbers out.

use super::bytecode::DYNAMIC;
use super::kernel::Kernel;
use super::operation::Kind;

/// The known number of each value of the kernel.
#[derive(Debug)]
pub struct Constants {
    numbers: Vec<Option<i64>>,
}

impl Constants {
    /// Works out what is known: constants, indices of grid dimensions of size 1, and what is
    /// computed of them.
    pub fn new(kernel: &Kernel<'_>, grid: &[i64]) -> Constants {
        let mut known = Constants { numbers: vec![None; kernel.ir.values.len()] };
        for (value, &size) in kernel.arguments_of(kernel.main).zip(grid) {
            if size == 1 {
                known.set(value, Some(0));
            }
        }
        for at in 0..kernel.ir.operations.len() as u32 {
            known.operation(kernel, grid, at);
        }
        known
    }

    /// The number of a value, where it is known.
    pub fn get(&self, value: u32) -> Option<i64> {
        self.numbers.get(value as usize).copied().flatten()
    }

    fn set(&mut self, value: u32, number: Option<i64>) {
        if let Some(place) = self.numbers.get_mut(value as usize) {
            *place = number;
        }
    }

    fn operation(&mut self, kernel: &Kernel<'_>, grid: &[i64], at: u32) {
        let Some(operation) = kernel.operation(at) else { return };
        let operands = kernel.ir.operands(operation);
        let first = || operands.first().and_then(|&value| self.get(value));
        let second = || operands.get(1).and_then(|&value| self.get(value));
        let both = |with: fn(i64, i64) -> Option<i64>| with(first()?, second()?);
        let number = match operation.kind {
            Kind::Constant => kernel.bytecode.integer(operation.attributes, "value"),
            Kind::Add => both(i64::checked_add),
            Kind::Subtract => both(i64::checked_sub),
            Kind::Multiply => both(i64::checked_mul),
            Kind::Divide => both(i64::checked_div),
            Kind::Remainder => both(i64::checked_rem),
            Kind::And => both(|a, b| Some(a & b)),
            Kind::Or => both(|a, b| Some(a | b)),
            Kind::Xor => both(|a, b| Some(a ^ b)),
            Kind::Minimum => both(|a, b| Some(a.min(b))),
            Kind::Maximum => both(|a, b| Some(a.max(b))),
            Kind::IntegerCast => first(),
            Kind::Compare => {
                let predicate = kernel.bytecode.integer(operation.attributes, "predicate");
                first().zip(second()).and_then(|(a, b)| compare(predicate?, a, b)).map(i64::from)
            }
            Kind::Select => {
                let chosen = first().map(|condition| if condition != 0 { 1 } else { 2 });
                chosen.and_then(|at: usize| self.get(*operands.get(at)?))
            }
            Kind::IterationBound => {
                let dimension = kernel.bytecode.integer(operation.attributes, "dim");
                dimension
                    .and_then(|at| grid.get(usize::try_from(at).ok()?).copied())
                    .filter(|&size| size != DYNAMIC)
            }
            Kind::For if self.runs_once(kernel, at) => {
                let carried: Vec<Option<i64>> =
                    operands.iter().map(|&value| self.get(value)).collect();
                let block = kernel.ir.region(operation, 0).first().copied();
                let block = block.and_then(|block| kernel.ir.blocks.get(block as usize));
                let arguments =
                    block.map_or(0..0, |block| block.arguments.start..block.arguments.end);
                // Lower bound, upper bound, step, then what is carried; the first argument is the
                // induction variable.
                let values = carried.first().into_iter().chain(carried.iter().skip(3));
                for (argument, &number) in arguments.zip(values) {
                    self.set(argument, number);
                }
                return;
            }
            _ => return,
        };
        if operation.results.len() == 1 {
            self.set(operation.results.start, number);
        }
    }

    /// Whether a loop is known to run exactly once.
    pub fn runs_once(&self, kernel: &Kernel<'_>, at: u32) -> bool {
        let Some(operation) = kernel.operation(at) else { return false };
        let [lower, upper, step, ..] = *kernel.ir.operands(operation) else { return false };
        let known = |value| self.get(value);
        match (known(lower), known(upper), known(step)) {
            (Some(lower), Some(upper), Some(step)) => {
                step > 0 && lower < upper && upper.saturating_sub(lower) <= step
            }
            _ => false,
        }
    }
}

/// Predicates of `arith.cmpi`.
fn compare(predicate: i64, a: i64, b: i64) -> Option<bool> {
    Some(match predicate {
        0 => a == b,
        1 => a != b,
        2 => a < b,
        3 => a <= b,
        4 => a > b,
        5 => a >= b,
        6 => (a as u64) < b as u64,
        7 => a as u64 <= b as u64,
        8 => a as u64 > b as u64,
        9 => a as u64 >= b as u64,
        _ => return None,
    })
}
