//! Sums and maxima.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use super::number::Floating;
use crate::kernel::{VectorLoop, vectorised};
use crate::tensor::array::Array;
use crate::tensor::numbers::Numbers;
use crate::tensor::shape::Shape;

/// Numbers that are summed side by side.
const LANES: usize = 8;
/// Numbers of one sum of a sum of many.
const TASK: usize = 1 << 14;
/// Numbers below which starting threads costs more than it saves.
const PARALLEL: usize = 1 << 16;

/// The sum of all numbers, of shape `[1]`.
pub(crate) fn sum(x: &Array) -> Array {
    match x.numbers() {
        Numbers::F32(values) => Array::new(vec![sum_all(values)], [1]),
        Numbers::F64(values) => Array::new(vec![sum_all(values)], [1]),
        other => panic!("a sum of {:?}", other.dtype()),
    }
}

/// The sums over one axis, which then has size 1.
pub(crate) fn sum_axis(x: &Array, axis: usize) -> Array {
    let (around, shape) = (x.shape.around(axis), x.shape.with_size(axis, 1));
    if around[1] == 1 {
        return x.clone();
    }
    match x.numbers() {
        Numbers::F32(values) => Array::new(sums(values, around), shape),
        Numbers::F64(values) => Array::new(sums(values, around), shape),
        other => panic!("a sum of {:?}", other.dtype()),
    }
}

/// The sums over the axes that a smaller shape has stretched to become that of `x`: the adjoint of stretching.
pub(crate) fn sum_to(x: Array, shape: Shape) -> Array {
    (0..shape.rank()).fold(x, |x, axis| {
        if shape.size(axis) == 1 && x.shape.size(axis) != 1 {
            super::sum_axis(&x, axis)
        } else {
            x
        }
    })
}

/// The maxima over one axis, which then has size 1, and their places on it. The first of equals wins, and what is no number
/// wins over every number.
///
/// # Panics
/// If the axis is empty.
pub(crate) fn max_axis(x: &Array, axis: usize) -> (Array, Array) {
    let (around, shape) = (x.shape.around(axis), x.shape.with_size(axis, 1));
    assert!(around[1] > 0, "a maximum over no numbers");
    match x.numbers() {
        Numbers::F32(values) => maxima(values, around, shape),
        Numbers::F64(values) => maxima(values, around, shape),
        other => panic!("a maximum of {:?}", other.dtype()),
    }
}

fn sum_all<T: Floating>(values: &[T]) -> T {
    if values.len() < PARALLEL {
        let parts = values.chunks(TASK).map(row_sum);
        return parts.fold(T::ZERO, |sum, part| sum + part);
    }
    let parts: Vec<T> = values.par_chunks(TASK).map(row_sum).collect();
    parts.into_iter().fold(T::ZERO, |sum, part| sum + part)
}

fn row_sum<T: Floating>(row: &[T]) -> T {
    vectorised(RowSums {
        values: row,
        size: row.len(),
        sums: &mut [T::ZERO],
    })
}

fn sums<T: Floating>(values: &[T], [before, size, after]: [usize; 3]) -> Vec<T> {
    let mut sums = vec![T::ZERO; before * after];
    if sums.is_empty() || size == 0 {
        return sums;
    }
    let task = |values: &[T], sums: &mut [T]| {
        if after == 1 {
            vectorised(RowSums { values, size, sums });
        } else {
            vectorised(ColumnSums {
                values,
                size,
                after,
                sums,
            });
        }
    };
    if values.len() < PARALLEL || before == 1 {
        task(values, &mut sums);
    } else {
        let blocks = (TASK / (size * after)).max(1);
        sums.par_chunks_mut(blocks * after)
            .zip(values.par_chunks(blocks * size * after))
            .for_each(|(sums, values)| task(values, sums));
    }
    sums
}

/// The sum of each row: eight sums side by side, each in ascending order, then those, then what fills no eight. Gives the last.
struct RowSums<'a, T> {
    values: &'a [T],
    size: usize,
    sums: &'a mut [T],
}

impl<T: Floating> VectorLoop for RowSums<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        let mut last = T::ZERO;
        for (row, sum) in self.values.chunks_exact(self.size.max(1)).zip(self.sums) {
            let (eights, rest) = row.as_chunks::<LANES>();
            let mut lanes = [T::ZERO; LANES];
            for eight in eights {
                for lane in 0..LANES {
                    lanes[lane] = lanes[lane] + eight[lane];
                }
            }
            let rest = rest.iter().fold(T::ZERO, |sum, &value| sum + value);
            let even = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6]);
            let odd = (lanes[1] + lanes[5]) + (lanes[3] + lanes[7]);
            last = (even + odd) + rest;
            *sum = last;
        }
        last
    }
}

/// The sums over the middle of three axes, in ascending order, many columns side by side.
struct ColumnSums<'a, T> {
    values: &'a [T],
    size: usize,
    after: usize,
    sums: &'a mut [T],
}

impl<T: Floating> VectorLoop for ColumnSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let blocks = self.values.chunks_exact(self.size * self.after);
        for (block, sums) in blocks.zip(self.sums.chunks_exact_mut(self.after)) {
            for row in block.chunks_exact(self.after) {
                for (sum, &value) in sums.iter_mut().zip(row) {
                    *sum = *sum + value;
                }
            }
        }
    }
}

fn maxima<T: Floating>(
    values: &[T],
    [before, size, after]: [usize; 3],
    shape: Shape,
) -> (Array, Array) {
    let wins = |value: T, best: T| value > best || (value.is_nan() && !best.is_nan());
    let (mut best, mut places) = (
        Vec::with_capacity(before * after),
        Vec::with_capacity(before * after),
    );
    for block in values.chunks_exact((size * after).max(1)) {
        for column in 0..after {
            let (mut most, mut place) = (block[column], 0);
            for at in 1..size {
                let value = block[at * after + column];
                if wins(value, most) {
                    (most, place) = (value, at);
                }
            }
            best.push(most);
            places.push(i32::try_from(place).unwrap_or(i32::MAX));
        }
    }
    (
        Array::of(T::into_numbers(best), shape),
        Array::new(places, shape),
    )
}
