//! Rows side by side: loops that do the same to eight rows at once, each row in a lane of its own.
//!
//! Number `i` of the eight rows is one [`Lanes`], in memory, or one [`Register`]. A row never meets its neighbours, so its
//! results do not depend on them. Nothing is fused: every processor gives the same bits, and the same as a loop over one row.

#![expect(unsafe_code, reason = "loads and stores of registers")]
#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use std::ops::{Add, Div, Mul, Sub};

use super::{Number, Task, Vector};

/// Rows side by side, and numbers that [`sum_of_pairs`](super::sum_of_pairs) adds up side by side.
pub const LANES: usize = 8;

/// One number of each of so many rows.
pub type Lanes = [f64; LANES];

/// [`Lanes`] in the processor's registers.
pub trait Register:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The same number in every lane.
    fn splat(value: f64) -> Self;

    /// From memory.
    fn load(from: &Lanes) -> Self;

    /// To memory.
    fn store(self, to: &mut Lanes);

    /// The square roots.
    #[must_use]
    fn sqrt(self) -> Self;

    /// The numbers without their signs.
    #[must_use]
    fn abs(self) -> Self;

    /// `then` where `self > other`, else `otherwise`; so it is where either is not a number.
    #[must_use]
    fn if_greater(self, other: Self, then: Self, otherwise: Self) -> Self;
}

/// A loop over registers. Implementations mark `run`, and what it calls, as `#[inline(always)]`, so that it is compiled for
/// each instruction set.
pub trait LaneLoop {
    /// Runs it.
    fn run<R: Register>(self);
}

/// Runs a loop with the widest registers there are.
pub fn by_lanes(work: impl LaneLoop) {
    struct Keep<L>(L);
    impl<L: LaneLoop> Task<f64> for Keep<L> {
        #[inline(always)]
        fn run<V: Vector<Number = f64>>(self) {
            self.0.run::<Of<V>>();
        }
    }
    f64::vectorised(Keep(work));
}

/// The sum of `term(a, b)` over the numbers of eight rows, in the order of [`sum_of_pairs`](super::sum_of_pairs).
#[inline(always)]
pub fn sum_of_lanes<R: Register>(a: &[Lanes], b: &[Lanes], term: impl Fn(R, R) -> R) -> R {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [R::splat(0.0); LANES];
    // Plain counters: what an iterator calls may be compiled apart, for no instruction set in particular.
    for chunk in 0..a.len().min(b.len()) {
        let (a, b) = (&a[chunk], &b[chunk]);
        for place in 0..LANES {
            sums[place] = sums[place] + term(R::load(&a[place]), R::load(&b[place]));
        }
    }
    let mut rest = R::splat(0.0);
    for place in 0..a_rest.len().min(b_rest.len()) {
        rest = rest + term(R::load(&a_rest[place]), R::load(&b_rest[place]));
    }
    let even = (sums[0] + sums[4]) + (sums[2] + sums[6]);
    let odd = (sums[1] + sums[5]) + (sums[3] + sums[7]);
    even + odd + rest
}

/// A register of the instruction set.
#[derive(Clone, Copy)]
struct Of<V>(V);

impl<V: Vector<Number = f64>> Add for Of<V> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.add(other.0))
    }
}

impl<V: Vector<Number = f64>> Sub for Of<V> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0.sub(other.0))
    }
}

impl<V: Vector<Number = f64>> Mul for Of<V> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0.mul(other.0))
    }
}

impl<V: Vector<Number = f64>> Div for Of<V> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(self.0.div(other.0))
    }
}

impl<V: Vector<Number = f64>> Register for Of<V> {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self(V::splat(value))
    }

    #[inline(always)]
    fn load(from: &Lanes) -> Self {
        const { assert!(V::LANES == LANES) };
        // SAFETY: there are as many numbers as the register has lanes.
        Self(unsafe { V::load(from.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, to: &mut Lanes) {
        const { assert!(V::LANES == LANES) };
        // SAFETY: as above.
        unsafe { self.0.store(to.as_mut_ptr()) }
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs())
    }

    #[inline(always)]
    fn if_greater(self, other: Self, then: Self, otherwise: Self) -> Self {
        Self(self.0.if_greater(other.0, then.0, otherwise.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::simd::{Instructions, sum_of_pairs, with_instructions};

    /// Every operation of a register.
    struct Everything<'a> {
        a: &'a [Lanes],
        b: &'a [Lanes],
        out: &'a mut Vec<Lanes>,
    }

    impl LaneLoop for Everything<'_> {
        #[inline(always)]
        fn run<R: Register>(self) {
            let mut write = |one: R| {
                self.out.push([0.0; LANES]);
                if let Some(last) = self.out.last_mut() {
                    one.store(last);
                }
            };
            for (a, b) in self.a.iter().zip(self.b) {
                let (a, b) = (R::load(a), R::load(b));
                let zero = R::splat(0.0);
                for one in [a + b, a - b, a * b, a / b, a.abs(), a.abs().sqrt()] {
                    write(one);
                }
                write(a.if_greater(b, a, zero));
            }
            write(sum_of_lanes(self.a, self.b, |a: R, b| (a - b) * b));
        }
    }

    /// The same, one number at a time.
    fn one_by_one(a: &[Lanes], b: &[Lanes]) -> Vec<Lanes> {
        let mut out = Vec::new();
        for (a, b) in a.iter().zip(b) {
            let mut each = |of: fn(f64, f64) -> f64| {
                out.push(std::array::from_fn(|lane| of(a[lane], b[lane])));
            };
            each(|a, b| a + b);
            each(|a, b| a - b);
            each(|a, b| a * b);
            each(|a, b| a / b);
            each(|a, _| a.abs());
            each(|a, _| a.abs().sqrt());
            each(|a, b| if a > b { a } else { 0.0 });
        }
        let row = |of: &[Lanes], lane: usize| of.iter().map(|one| one[lane]).collect::<Vec<_>>();
        out.push(std::array::from_fn(|lane| {
            sum_of_pairs(&row(a, lane), &row(b, lane), |a, b| (a - b) * b)
        }));
        out
    }

    #[test]
    fn lanes_have_the_bits_of_single_numbers_whatever_the_instructions() {
        let numbers = |step: f64| -> Vec<Lanes> {
            let mut last = 0.37;
            let mut next = |_| {
                last = (last * 3.9 + step) % 1.0;
                last - 0.5
            };
            (0..29).map(|_| std::array::from_fn(&mut next)).collect()
        };
        let (mut a, b) = (numbers(0.11), numbers(0.23));
        // Equal numbers, a zero of either sign, and what is no number.
        a[3] = b[3];
        a[4] = [0.0, -0.0, f64::NAN, f64::INFINITY, -1.0, 1.0, 1e-310, 0.0];
        let bits = |all: &[Lanes]| -> Vec<u64> {
            let number = |one: &f64| if one.is_nan() { 0 } else { one.to_bits() };
            all.as_flattened().iter().map(number).collect()
        };
        let expected = bits(&one_by_one(&a, &b));
        for &instructions in Instructions::ALL {
            let got = with_instructions(instructions, || {
                let mut out = Vec::new();
                by_lanes(Everything {
                    a: &a,
                    b: &b,
                    out: &mut out,
                });
                bits(&out)
            });
            assert!(got.is_none_or(|got| got == expected), "{instructions}");
        }
    }
}
