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

/// Adds rows to sums.
pub(super) struct SumRows<'a, T> {
    pub rows: &'a [T],
    pub sums: &'a mut [T],
}

impl<T: Stored> Task<T> for SumRows<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        for row in self.rows.chunks_exact(self.sums.len()) {
            for (sum, number) in self.sums.iter_mut().zip(row) {
                *sum += *number;
            }
        }
    }
}
