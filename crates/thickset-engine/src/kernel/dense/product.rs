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

use crate::kernel::buffer::{Scratch, filled};
use crate::kernel::simd::{Number, Task, Vector};

/// Rows of a tile up to three registers wide: 24 sums of 32 registers.
const ROWS: usize = 8;
/// Rows of a tile four registers wide.
const FOUR_WIDE_ROWS: usize = 6;
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
    /// The same numbers, one a column, times each row's factor.
    Scaled(&'a [T], &'a [T]),
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
    if let Start::Row(start) | Start::Scaled(start, _) = start {
        assert!(start.len() >= columns, "one start a column");
    }
    if let Start::Scaled(_, factors) = start {
        assert!(factors.len() >= rows, "one factor a row");
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
        // SAFETY: `write` has checked the sizes of all operands; strips end with the last column at the latest, and the panel has
        // the columns that fill no register.
        unsafe {
            while columns - column >= V::LANES {
                let left = columns - column;
                let from = self.right.as_ptr().add(column);
                let wide = if V::FEW { 1 } else { registers::<V>(left) };
                // The last register of a strip may share columns with the one before it, whose sums are the same.
                let last = (wide * V::LANES).min(left) - V::LANES;
                match wide {
                    4 => self.strip::<V, FOUR_WIDE_ROWS, 4>(column, from, last),
                    3 => self.strip::<V, ROWS, 3>(column, from, last),
                    2 => self.strip::<V, ROWS, 2>(column, from, last),
                    _ if V::FEW => self.strip::<V, FEW_ROWS, 1>(column, from, last),
                    _ => self.strip::<V, ROWS, 1>(column, from, last),
                }
                column += last + V::LANES;
            }
            if column == columns {
                return;
            }
            // Sums that do not begin with what lies there may be made twice, so the last columns take some before them with them.
            if columns >= V::LANES && !matches!(self.start, Start::Kept) {
                let column = columns - V::LANES;
                let from = self.right.as_ptr().add(column);
                self.strip::<V, FEW_ROWS, 1>(column, from, 0);
                return;
            }
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
                self.edge::<V, FEW_ROWS>(column, from);
            } else {
                self.edge::<V, ROWS>(column, from);
            }
        }
    }
}

/// How many registers the next strip takes of so many columns, at least one register's: four, or what makes the last strip end
/// with the last column.
#[inline(always)]
fn registers<V: Vector>(left: usize) -> usize {
    match left.div_ceil(V::LANES) {
        wide @ 1..=4 => wide,
        5 => 2,
        6 if !left.is_multiple_of(V::LANES) => 2,
        _ => 4,
    }
}

impl<T: Number> Product<'_, T> {
    /// All rows of `WIDE` registers side by side, the last of which begins `last` columns after the first.
    ///
    /// # Safety
    /// `right` must be readable for those registers at every inner index, as many numbers apart as there are columns.
    #[inline(always)]
    unsafe fn strip<V: Vector<Number = T>, const TILE: usize, const WIDE: usize>(
        &self,
        column: usize,
        right: *const T,
        last: usize,
    ) {
        let rows = self.size[0];
        let mut row = 0;
        // SAFETY: no tile reaches beyond the last row.
        unsafe {
            while row + TILE <= rows {
                self.tile::<V, TILE, WIDE>(row, column, right, last);
                row += TILE;
            }
            while row + 2 <= rows {
                self.tile::<V, 2, WIDE>(row, column, right, last);
                row += 2;
            }
            if row < rows {
                self.tile::<V, 1, WIDE>(row, column, right, last);
            }
        }
    }

    /// # Safety
    /// As for [`Product::strip`], and `TILE` rows from `row` must be rows of the product.
    #[expect(
        clippy::needless_range_loop,
        reason = "plain counters keep the sums in registers"
    )]
    #[inline(always)]
    unsafe fn tile<V: Vector<Number = T>, const TILE: usize, const WIDE: usize>(
        &self,
        row: usize,
        column: usize,
        right: *const T,
        last: usize,
    ) {
        let columns = self.size[1];
        let place = |register: usize| {
            if register + 1 == WIDE {
                last
            } else {
                register * V::LANES
            }
        };
        let at = |r: usize, register: usize| (row + r) * columns + column + place(register);
        let mut sums = [[V::splat(T::default()); WIDE]; TILE];
        // SAFETY: every address lies within the operands as the caller promises.
        unsafe {
            match self.start {
                Start::Zero => {}
                Start::Row(start) => {
                    for register in 0..WIDE {
                        let start = V::load(start.as_ptr().add(column + place(register)));
                        for r in 0..TILE {
                            sums[r][register] = start;
                        }
                    }
                }
                Start::Scaled(start, factors) => {
                    for register in 0..WIDE {
                        let start = V::load(start.as_ptr().add(column + place(register)));
                        for r in 0..TILE {
                            let factor = V::splat(*factors.get_unchecked(row + r));
                            sums[r][register] = start.mul(factor);
                        }
                    }
                }
                Start::Kept => {
                    for r in 0..TILE {
                        for register in 0..WIDE {
                            sums[r][register] = V::load(self.out.add(at(r, register)));
                        }
                    }
                }
            }
            let sums = self.summed::<V, TILE, WIDE>(sums, row, right, (columns, last));
            for r in 0..TILE {
                for register in 0..WIDE {
                    let sum = sums[r][register];
                    let sum = match self.end {
                        End::Plain => sum,
                        End::Relu => sum.gated(sum),
                        End::Gate(deciders) => {
                            sum.gated(V::load(deciders.as_ptr().add(at(r, register))))
                        }
                    };
                    sum.store(self.out.add(at(r, register)));
                }
            }
        }
    }

    /// The sums with all products added; `right` is walked in steps of so many numbers, and the last of its registers begins so many after
    /// the first.
    ///
    /// # Safety
    /// As for [`Product::tile`].
    #[expect(
        clippy::needless_range_loop,
        reason = "plain counters keep the sums in registers"
    )]
    #[inline(always)]
    unsafe fn summed<V: Vector<Number = T>, const TILE: usize, const WIDE: usize>(
        &self,
        mut sums: [[V; WIDE]; TILE],
        row: usize,
        mut right: *const T,
        (step, last): (usize, usize),
    ) -> [[V; WIDE]; TILE] {
        let (row_step, inner_step) = (self.left.row_step, self.left.inner_step);
        let mut left = self.left.values.as_ptr().wrapping_add(row * row_step);
        // SAFETY: every address lies within the operands as the caller promises; those past the last step are never read.
        unsafe {
            for _ in 0..self.size[2] {
                let mut lanes = [V::splat(T::default()); WIDE];
                for register in 0..WIDE - 1 {
                    lanes[register] = V::load(right.add(register * V::LANES));
                }
                lanes[WIDE - 1] = V::load(right.add(last));
                for r in 0..TILE {
                    let factor = V::splat(*left.add(r * row_step));
                    for register in 0..WIDE {
                        sums[r][register] = lanes[register].mul_add(factor, sums[r][register]);
                    }
                }
                right = right.wrapping_add(step);
                left = left.wrapping_add(inner_step);
            }
        }
        sums
    }

    /// All rows of the columns from one on, which fill no register. `panel` has them at every inner index, a register apart.
    ///
    /// # Safety
    /// The panel must be readable for a register at every inner index.
    #[inline(always)]
    unsafe fn edge<V: Vector<Number = T>, const TILE: usize>(
        &self,
        column: usize,
        panel: *const T,
    ) {
        let rows = self.size[0];
        let mut row = 0;
        // SAFETY: no tile reaches beyond the last row.
        unsafe {
            while row + TILE <= rows {
                self.edge_tile::<V, TILE>(row, column, panel);
                row += TILE;
            }
            while row < rows {
                self.edge_tile::<V, 1>(row, column, panel);
                row += 1;
            }
        }
    }

    /// # Safety
    /// As for [`Product::edge`], and `TILE` rows from `row` must be rows of the product.
    #[inline(always)]
    unsafe fn edge_tile<V: Vector<Number = T>, const TILE: usize>(
        &self,
        row: usize,
        column: usize,
        panel: *const T,
    ) {
        let columns = self.size[1];
        let here = columns - column;
        // Sums pass through memory at both ends: what fills no register is done number by number.
        let mut numbers = [[T::default(); MOST_LANES]; TILE];
        // SAFETY: as the caller promises; a row of `numbers` holds a register.
        unsafe {
            for (r, numbers) in numbers.iter_mut().enumerate() {
                for (place, number) in numbers[..here].iter_mut().enumerate() {
                    *number = match self.start {
                        Start::Zero => T::default(),
                        Start::Row(start) => start[column + place],
                        Start::Scaled(start, factors) => start[column + place] * factors[row + r],
                        Start::Kept => *self.out.add((row + r) * columns + column + place),
                    };
                }
            }
            let begin = std::array::from_fn(|r| [V::load(numbers[r].as_ptr())]);
            let sums = self.summed::<V, TILE, 1>(begin, row, panel, (V::LANES, 0));
            for (numbers, [sum]) in numbers.iter_mut().zip(sums) {
                sum.store(numbers.as_mut_ptr());
            }
            for (r, numbers) in numbers.iter().enumerate() {
                for (place, number) in numbers[..here].iter().enumerate() {
                    let at = (row + r) * columns + column + place;
                    let decider = match self.end {
                        End::Plain => T::default(),
                        End::Relu => *number,
                        End::Gate(deciders) => deciders[at],
                    };
                    let is_open = matches!(self.end, End::Plain) || decider > T::default();
                    *self.out.add(at) = if is_open { *number } else { T::default() };
                }
            }
        }
    }
}

/// Numbers of a register of any type, at most.
const MOST_LANES: usize = 16;

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
            [14, 66, 5],
            [11, 47, 3],
            [7, 34, 4],
            [15, 64, 3],
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
            let factors = numbers(rows, 5);
            let row = &begin[..columns];
            for start in [
                Start::Zero,
                Start::Row(row),
                Start::Scaled(row, &factors),
                Start::Kept,
            ] {
                let mut expected = begin.clone();
                for row in 0..rows {
                    for column in 0..columns {
                        let at = row * columns + column;
                        let mut sum = match start {
                            Start::Zero => 0.0,
                            Start::Row(start) => start[column],
                            Start::Scaled(start, factors) => start[column] * factors[row],
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
