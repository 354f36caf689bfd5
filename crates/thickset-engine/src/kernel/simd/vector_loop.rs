//! Loops over rows of `f64`, run with the widest registers of the processor.
//!
//! They keep to one order of operations whatever the registers, so results do not depend on them.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use super::{LANES, Number, Task, Vector};

/// A loop over numbers. Implementations mark `run`, and what it calls, as `#[inline(always)]`, so that it is compiled for each
/// instruction set.
pub trait VectorLoop {
    /// What comes of it.
    type Output;

    /// Runs it.
    fn run(self) -> Self::Output;
}

/// Runs a loop with the widest registers there are.
pub fn vectorised<L: VectorLoop>(work: L) -> L::Output {
    struct Keep<'a, L: VectorLoop> {
        work: L,
        output: &'a mut Option<L::Output>,
    }
    impl<L: VectorLoop> Task<f64> for Keep<'_, L> {
        #[inline(always)]
        fn run<V: Vector<Number = f64>>(self) {
            *self.output = Some(self.work.run());
        }
    }
    let mut output = None;
    f64::vectorised(Keep {
        work,
        output: &mut output,
    });
    output.unwrap_or_else(|| unreachable!("a task runs once"))
}

/// The sum of `term(a, b)` over the numbers of two slices of the same length: eight sums side by side, each in ascending
/// order, then those, then what fills no eight.
#[inline(always)]
pub fn sum_of_pairs(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    let mut rest = 0.0;
    for (a, b) in a_rest.iter().zip(b_rest) {
        rest += term(*a, *b);
    }
    let even = (sums[0] + sums[4]) + (sums[2] + sums[6]);
    let odd = (sums[1] + sums[5]) + (sums[3] + sums[7]);
    even + odd + rest
}
