//! Products of small matrices that are read where they lie.
//!
//! As in `matrix_product`, each element is one chain of multiply-adds over the inner index in ascending order, so its bits are
//! those of that file. What differs is that nothing is packed: a layer's matrices fit into the cache, and whoever multiplies
//! the same weights many times holds them in both orders.

#![expect(unsafe_code, reason = "vector loads and stores through pointers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::mem::MaybeUninit;

use crate::kernel::buffer::{Scratch, filled};
use crate::kernel::simd::{Number, Task, Vector};

/// Rows of a tile two registers wide.
const ROWS: usize = 8;
/// Rows of a tile one register wide, where there are few registers and each takes two of the processor's: 12 of its 16.
const FEW_ROWS: usize = 6;

/// The left factor: the number of a row and an inner index lies at `row * row_step + inner * inner_step`.
#[derive(Clone, Copy)]
pub(super) struct Left<'a, T> {
    pub values: &'a [T],
    pub row_step: usize,
    pub inner_step: usize,
}

impl<'a, T> Left<'a, T> {
    /// A matrix as it is stored, with so many columns.
    pub(super) fn plain(values: &'a [T], columns: usize) -> Self {
        Self {
            values,
            row_step: columns,
            inner_step: 1,
        }
    }

    /// The transpose of a matrix that is stored with so many columns.
    pub(super) fn transposed(values: &'a [T], columns: usize) -> Self {
        Self {
            values,
            row_step: 1,
            inner_step: columns,
        }
    }
}

/// What the sums begin with.
#[derive(Clone, Copy)]
pub(super) enum Start<'a, T> {
    Zero,
    /// The same numbers for each row, one a column.
    Row(&'a [T]),
    /// What lies in the output.
    Kept,
}

/// What is done with the sums at the end.
#[derive(Clone, Copy)]
pub(super) enum End<'a, T> {
    /// Nothing.
    Plain,
    /// Those that are not positive become zero.
    Relu,
    /// Those become zero whose number here, of the output's size, is not positive.
    Gate(&'a [T]),
}

/// `out = start + left right`, or what `end` makes of it, for `right` and `out` row by row with as many columns as there are. `size` is rows, columns,
/// inner indices.
pub(super) fn multiply<T: Number>(
    left: Left<'_, T>,
    right: &[T],
    size: [usize; 3],
    (start, end): (Start<'_, T>, End<'_, T>),
    out: &mut [T],
) {
    assert!(out.len() >= size[0] * size[1], "room for the product");
    // SAFETY: there is room for the product, and what lies there are numbers.
    unsafe { write(left, right, size, (start, end), out.as_mut_ptr()) };
}

/// The same as numbers of their own, whose sums do not begin with what lies there.
pub(super) fn multiplied<T: Number>(
    left: Left<'_, T>,
    right: &[T],
    size: [usize; 3],
    (start, end): (Start<'_, T>, End<'_, T>),
) -> Vec<T> {
    assert!(!matches!(start, Start::Kept), "nothing lies there yet");
    // SAFETY: there is room for the product, all of which is written, and none of it is read before.
    unsafe {
        filled(size[0] * size[1], |out| {
            write(left, right, size, (start, end), out.at(0));
        })
    }
}

/// # Safety
/// `out` must be valid for the product, used by nobody else, and initialised where sums begin with what lies there. All is written.
unsafe fn write<T: Number>(
    left: Left<'_, T>,
    right: &[T],
    size: [usize; 3],
    (start, end): (Start<'_, T>, End<'_, T>),
    out: *mut T,
) {
    let [rows, columns, depth] = size;
    if let End::Gate(deciders) = end {
        assert!(deciders.len() >= rows * columns, "one decider a number");
    }
    assert!(right.len() >= depth * columns, "the right factor");
    if let Start::Row(start) = start {
        assert!(start.len() >= columns, "one start a column");
    }
    if rows * columns == 0 {
        return;
    }
    if depth > 0 {
        let last = (rows - 1) * left.row_step + (depth - 1) * left.inner_step;
        assert!(last < left.values.len(), "the left factor");
    }
    T::vectorised(Product {
        left,
        right,
        size,
        start,
        end,
        out,
    });
}

struct Product<'a, T> {
    left: Left<'a, T>,
    right: &'a [T],
    size: [usize; 3],
    start: Start<'a, T>,
    end: End<'a, T>,
    /// Of the product's size.
    out: *mut T,
}

impl<T: Number> Task<T> for Product<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let [_, columns, depth] = self.size;
        let mut column = 0;
        // SAFETY: `write` has checked the sizes of all operands; the panel has the columns that fill no register, and those that
        // end with the last one are as many as a register holds.
        unsafe {
            while column + V::LANES <= columns {
                let from = self.right.as_ptr().add(column);
                if !V::FEW && column + 2 * V::LANES <= columns {
                    self.strip::<V, ROWS, 2>(column, from, columns);
                    column += 2 * V::LANES;
                } else if V::FEW {
                    self.strip::<V, FEW_ROWS, 1>(column, from, columns);
                    column += V::LANES;
                } else {
                    self.strip::<V, ROWS, 1>(column, from, columns);
                    column += V::LANES;
                }
            }
            if column == columns {
                return;
            }
            // Sums that do not begin with what lies there may be made twice, so the last columns take some before them with them.
            if columns >= V::LANES && !matches!(self.start, Start::Kept) {
                let column = columns - V::LANES;
                let from = self.right.as_ptr().add(column);
                if V::FEW {
                    self.strip::<V, FEW_ROWS, 1>(column, from, columns);
                } else {
                    self.strip::<V, ROWS, 1>(column, from, columns);
                }
            } else {
                let mut panel = Scratch::<T>::new(depth * V::LANES);
                let rows = self.right.chunks_exact(columns);
                for (to, from) in panel.numbers().chunks_exact_mut(V::LANES).zip(rows) {
                    let from = &from[column..];
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = *from;
                    }
                    for to in &mut to[from.len()..] {
                        *to = T::default();
                    }
                }
                let from = panel.numbers().as_ptr();
                if V::FEW {
                    self.strip::<V, FEW_ROWS, 1>(column, from, V::LANES);
                } else {
                    self.strip::<V, ROWS, 1>(column, from, V::LANES);
                }
            }
        }
    }
}

impl<T: Number> Product<'_, T> {
    /// All rows of `WIDE` registers side by side.
    ///
    /// # Safety
    /// `right` must be readable for those registers at every inner index, `step` numbers apart.
    #[inline(always)]
    unsafe fn strip<V: Vector<Number = T>, const TILE: usize, const WIDE: usize>(
        &self,
        column: usize,
        right: *const T,
        step: usize,
    ) {
        let rows = self.size[0];
        let mut row = 0;
        // SAFETY: no tile reaches beyond the last row.
        unsafe {
            while row + TILE <= rows {
                self.tile::<V, TILE, WIDE>(row, column, right, step);
                row += TILE;
            }
            while row + 2 <= rows {
                self.tile::<V, 2, WIDE>(row, column, right, step);
                row += 2;
            }
            if row < rows {
                self.tile::<V, 1, WIDE>(row, column, right, step);
            }
        }
    }

    /// # Safety
    /// As for [`Product::strip`], and `TILE` rows from `row` must be rows of the product.
    #[inline(always)]
    unsafe fn tile<V: Vector<Number = T>, const TILE: usize, const WIDE: usize>(
        &self,
        row: usize,
        column: usize,
        right: *const T,
        step: usize,
    ) {
        let [_, columns, depth] = self.size;
        let here = (WIDE * V::LANES).min(columns - column);
        // SAFETY: every address lies within the operands as the caller promises.
        unsafe {
            let mut sums = [[V::splat(T::default()); WIDE]; TILE];
            // Where the sums begin, and how far the next row's are from there.
            let begin = match self.start {
                Start::Zero => None,
                Start::Row(start) => Some((start.as_ptr().add(column), 0)),
                Start::Kept => Some((self.out.add(row * columns + column).cast_const(), columns)),
            };
            if let Some((begin, apart)) = begin {
                for (r, sums) in sums.iter_mut().enumerate() {
                    *sums = load(begin.add(r * apart), here);
                }
            }
            let (row_step, inner_step, mut b) = (self.left.row_step, self.left.inner_step, right);
            let mut a = self.left.values.as_ptr().wrapping_add(row * row_step);
            for _ in 0..depth {
                let lanes: [V; WIDE] =
                    std::array::from_fn(|place| V::load(b.add(place * V::LANES)));
                for (r, sums) in sums.iter_mut().enumerate() {
                    let factor = V::splat(*a.add(r * row_step));
                    for (sum, lane) in sums.iter_mut().zip(lanes) {
                        *sum = lane.mul_add(factor, *sum);
                    }
                }
                b = b.wrapping_add(step);
                a = a.wrapping_add(inner_step);
            }
            match self.end {
                End::Plain => {}
                End::Relu => {
                    for sums in &mut sums {
                        for sum in sums {
                            *sum = sum.gated(*sum);
                        }
                    }
                }
                End::Gate(deciders) => {
                    let begin = deciders.as_ptr().add(row * columns + column);
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let deciders: [V; WIDE] = load(begin.add(r * columns), here);
                        for (sum, decider) in sums.iter_mut().zip(deciders) {
                            *sum = sum.gated(decider);
                        }
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                let to = self.out.add((row + r) * columns + column);
                store(sums, to, here);
            }
        }
    }
}

/// Numbers of a register of any type, at most.
const MOST_LANES: usize = 16;

/// The first `here` numbers from an address on, zeros behind them.
///
/// # Safety
/// So many numbers, or as many as the registers hold, must be readable.
#[inline(always)]
unsafe fn load<V: Vector, const WIDE: usize>(from: *const V::Number, here: usize) -> [V; WIDE] {
    // SAFETY: as the caller promises; an edge holds the registers.
    unsafe {
        if here >= WIDE * V::LANES {
            return std::array::from_fn(|register| V::load(from.add(register * V::LANES)));
        }
        let mut edge = [[V::Number::default(); MOST_LANES]; WIDE];
        let edge = edge.as_mut_ptr().cast::<V::Number>();
        copy(from, edge, here);
        std::array::from_fn(|register| V::load(edge.add(register * V::LANES)))
    }
}

/// Writes the first `here` numbers of registers.
///
/// # Safety
/// So many numbers, or as many as the registers hold, must be writable.
#[inline(always)]
unsafe fn store<V: Vector, const WIDE: usize>(sums: &[V; WIDE], to: *mut V::Number, here: usize) {
    // SAFETY: as the caller promises; what fills no registers goes through memory of their size.
    unsafe {
        if here >= WIDE * V::LANES {
            for (register, sum) in sums.iter().enumerate() {
                sum.store(to.add(register * V::LANES));
            }
            return;
        }
        // Room of its own: sums that are copied from where they lie would have to lie somewhere.
        let mut edge = MaybeUninit::<[[V::Number; MOST_LANES]; WIDE]>::uninit();
        let edge = edge.as_mut_ptr().cast::<V::Number>();
        for (register, sum) in sums.iter().enumerate() {
            sum.store(edge.add(register * V::LANES));
        }
        copy(edge, to, here);
    }
}

/// Copies fewer numbers than two registers hold, by parts of fixed sizes: a call for any size takes longer.
///
/// # Safety
/// So many numbers must be readable and writable, and the two places apart.
#[inline(always)]
unsafe fn copy<T: Number>(from: *const T, to: *mut T, count: usize) {
    let mut done = 0;
    // SAFETY: as the caller promises, since parts of `count` add up to it.
    unsafe {
        while count - done >= 16 {
            to.add(done).copy_from_nonoverlapping(from.add(done), 16);
            done += 16;
        }
        if count & 8 != 0 {
            to.add(done).copy_from_nonoverlapping(from.add(done), 8);
            done += 8;
        }
        if count & 4 != 0 {
            to.add(done).copy_from_nonoverlapping(from.add(done), 4);
            done += 4;
        }
        if count & 2 != 0 {
            to.add(done).copy_from_nonoverlapping(from.add(done), 2);
            done += 2;
        }
        if count & 1 != 0 {
            *to.add(done) = *from.add(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed * 2 + 1;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            f64::from(u32::try_from(state >> 40).unwrap_or_default()) / f64::from(1u32 << 23) - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn products_of_any_size_and_start_are_those_of_the_definition() {
        for (place, [rows, columns, depth]) in [
            [1, 1, 1],
            [5, 2, 7],
            [13, 28, 3],
            [8, 16, 40],
            [27, 41, 9],
            [3, 5, 0],
            [7, 31, 2],
            [9, 8, 6],
            [6, 15, 4],
        ]
        .into_iter()
        .enumerate()
        {
            let (a, b) = (numbers(rows * depth, 1), numbers(depth * columns, 2));
            let mut turned = vec![0.0; a.len()];
            for row in 0..rows {
                for inner in 0..depth {
                    turned[inner * rows + row] = a[row * depth + inner];
                }
            }
            let begin = numbers(rows * columns, 3);
            for start in [Start::Zero, Start::Row(&begin[..columns]), Start::Kept] {
                let mut expected = begin.clone();
                for row in 0..rows {
                    for column in 0..columns {
                        let at = row * columns + column;
                        let mut sum = match start {
                            Start::Zero => 0.0,
                            Start::Row(start) => start[column],
                            Start::Kept => begin[at],
                        };
                        for inner in 0..depth {
                            sum += a[row * depth + inner] * b[inner * columns + column];
                        }
                        expected[at] = sum;
                    }
                }
                let deciders = numbers(rows * columns, 4);
                for left in [Left::plain(&a, depth), Left::transposed(&turned, rows)] {
                    for end in [End::Plain, End::Relu, End::Gate(&deciders)] {
                        let mut out = begin.clone();
                        multiply(left, &b, [rows, columns, depth], (start, end), &mut out);
                        if !matches!(start, Start::Kept) {
                            let new = multiplied(left, &b, [rows, columns, depth], (start, end));
                            assert_eq!(new, out, "case {place}");
                        }
                        for (at, (got, expected)) in out.iter().zip(&expected).enumerate() {
                            let is_open = match end {
                                End::Plain => true,
                                End::Relu => *expected > 0.0,
                                End::Gate(deciders) => deciders[at] > 0.0,
                            };
                            let expected = if is_open { *expected } else { 0.0 };
                            assert!((got - expected).abs() < 1e-12, "case {place}");
                        }
                    }
                }
            }
        }
    }
}
