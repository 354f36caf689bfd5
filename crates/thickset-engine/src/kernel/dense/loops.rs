//! The loops of a chain that are no products of matrices.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use crate::kernel::row_tile::squares;
use crate::kernel::simd::{Task, Vector};
use crate::kernel::softplus::value_and_slope;
use crate::kernel::storage::Stored;

/// Rows as columns.
pub(super) struct Transpose<'a, T> {
    pub from: &'a [T],
    pub columns: usize,
    pub to: &'a mut [T],
}

impl<T: Stored> Task<T> for Transpose<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let rows = self.from.len() / self.columns.max(1);
        let whole = [rows, self.columns].map(|side| side - side % V::LANES);
        squares::<V>(self.from, [rows, self.columns], whole, self.to);
        for row in 0..rows {
            let first = if row < whole[0] { whole[1] } else { 0 };
            for column in first..self.columns {
                self.to[column * rows + row] = self.from[row * self.columns + column];
            }
        }
    }
}

/// Softplus in place of its input, and its slopes.
pub(super) struct Soften<'a, T> {
    pub beta: T,
    pub value: &'a mut [T],
    pub slope: &'a mut [T],
}

impl<T: Stored> Task<T> for Soften<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let shrink = T::ONE / self.beta;
        for (value, slope) in self.value.iter_mut().zip(self.slope) {
            (*value, *slope) = value_and_slope(*value, self.beta, shrink);
        }
    }
}

/// Numbers times slopes.
pub(super) struct Scale<'a, T> {
    pub slopes: &'a [T],
    pub numbers: &'a mut [T],
}

impl<T: Stored> Task<T> for Scale<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        for (number, slope) in self.numbers.iter_mut().zip(self.slopes) {
            *number = *number * *slope;
        }
    }
}

/// Adds rows to sums, each times its factor where there are some.
pub(super) struct SumRows<'a, T> {
    pub rows: &'a [T],
    pub factors: Option<&'a [T]>,
    pub sums: &'a mut [T],
}

impl<T: Stored> Task<T> for SumRows<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        for (place, row) in self.rows.chunks_exact(self.sums.len()).enumerate() {
            let factor = self.factors.map_or(T::ONE, |factors| factors[place]);
            for (sum, number) in self.sums.iter_mut().zip(row) {
                *sum += factor * *number;
            }
        }
    }
}

/// Points of a way at one place of it behind a map with this bias, and its ReLU where it has one.
pub(super) struct Reach<'a, T> {
    /// What the map makes of the whole way, without its bias.
    pub way: &'a [T],
    pub place: T,
    pub bias: &'a [T],
    pub is_gated: bool,
    pub to: &'a mut [T],
}

impl<T: Stored> Task<T> for Reach<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let columns = self.bias.len();
        let rows = self.way.chunks_exact(columns);
        for (way, to) in rows.zip(self.to.chunks_exact_mut(columns)) {
            for ((to, way), bias) in to.iter_mut().zip(way).zip(self.bias) {
                let sum = self.place * *way + *bias;
                let is_open = !self.is_gated || sum > T::default();
                *to = if is_open { sum } else { T::default() };
            }
        }
    }
}

/// Adds `share` times those numbers whose deciders are positive, or all where there are none.
pub(super) struct AddGated<'a, T> {
    pub numbers: &'a [T],
    pub deciders: Option<&'a [T]>,
    pub share: T,
    pub sums: &'a mut [T],
}

impl<T: Stored> Task<T> for AddGated<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let deciders = self.deciders.unwrap_or(self.numbers);
        let is_gated = self.deciders.is_some();
        let numbers = self.numbers.iter().zip(deciders);
        for (sum, (number, decider)) in self.sums.iter_mut().zip(numbers) {
            let is_open = !is_gated || *decider > T::default();
            *sum += if is_open {
                *number * self.share
            } else {
                T::default()
            };
        }
    }
}

/// `factor` times those numbers whose deciders are positive, or all where there are none.
pub(super) struct Gate<'a, T> {
    pub numbers: &'a [T],
    pub deciders: Option<&'a [T]>,
    pub factor: T,
    pub to: &'a mut [T],
}

impl<T: Stored> Task<T> for Gate<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let deciders = self.deciders.unwrap_or(self.numbers);
        let is_gated = self.deciders.is_some();
        let numbers = self.numbers.iter().zip(deciders);
        for (to, (number, decider)) in self.to.iter_mut().zip(numbers) {
            let is_open = !is_gated || *decider > T::default();
            *to = if is_open {
                *number * self.factor
            } else {
                T::default()
            };
        }
    }
}

/// The sum of squares, eight sums side by side whatever the registers.
pub(super) struct SumSquares<'a, T> {
    pub numbers: &'a [T],
    pub sum: &'a mut f64,
}

impl<T: Stored> Task<T> for SumSquares<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let (eights, rest) = self.numbers.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for numbers in eights {
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += number.to_f64() * number.to_f64();
            }
        }
        let rest = rest.iter().map(|number| number.to_f64() * number.to_f64());
        *self.sum = sums.into_iter().chain(rest).sum();
    }
}
