//! Matrix products whose bits depend on nothing but the operands.
//!
//! Each element of `C = A B` is one chain of multiply-adds over the inner index in ascending order,
//! starting from zero. Tiles, threads and the number of rows decide only *where* a chain is
//! computed, never its order, so a row gives the same bits alone, in any batch, on any thread.
//! General libraries choose other summation orders for thin matrices; that is why this file exists.

#![expect(unsafe_code, reason = "vector loads and stores through pointers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use super::buffer::{Scratch, Shared, filled};
use super::simd::{Number, Task, Vector};
use super::storage::{by_type, size};
use crate::tensor::Array;

/// Registers side by side in a tile.
const REGISTERS: usize = 2;
/// The most lanes of a register.
const MOST_LANES: usize = 16;
/// Rows of a tile: 16 accumulators with two registers each.
const TILE_ROWS: usize = 8;
/// Rows of a tile one register wide, where there are few registers and each takes two of the processor's: 12 of its 16.
const FEW_TILE_ROWS: usize = 6;
/// Rows that one thread takes at a time.
const THREAD_ROWS: usize = 32;
/// Inner indices per pass, so that a packed panel stays in the first-level cache.
const PASS_DEPTH: usize = 256;
/// Multiply-adds below which starting threads costs more than it saves.
const PARALLEL_WORK: usize = 1 << 21;
/// Numbers below which the same holds for packing.
const PARALLEL_PACK: usize = 1 << 14;

/// How a factor stands in the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// As it is stored.
    Plain,
    /// Rows as columns.
    Transposed,
}

/// The product of two rank-2 tensors, each as stored or transposed.
pub(super) fn multiply(a: &Array, a_side: Side, b: &Array, b_side: Side) -> Array {
    let ([rows, depth], [_, columns]) = sizes(a, a_side, b, b_side);
    let (a_stored, b_stored) = (size(a)[1], size(b)[1]);
    by_type!(
        |a, b| {
            let a = Strided::new(a, a_stored, a_side);
            let b = Strided::new(b, b_stored, b_side);
            product(a, b, [rows, columns, depth], None)
        },
        [rows, columns]
    )
}

/// The same, each row's chains starting from `start`, `[1, columns]`, in place of zero.
pub(super) fn multiply_onto(
    start: &Array,
    a: &Array,
    a_side: Side,
    b: &Array,
    b_side: Side,
) -> Array {
    let ([rows, depth], [_, columns]) = sizes(a, a_side, b, b_side);
    let (a_stored, b_stored) = (size(a)[1], size(b)[1]);
    assert_eq!(size(start), [1, columns], "one start a column");
    by_type!(
        |a, b| {
            let a = Strided::new(a, a_stored, a_side);
            let b = Strided::new(b, b_stored, b_side);
            product(a, b, [rows, columns, depth], Some(start.values()))
        },
        [rows, columns]
    )
}

fn sizes(a: &Array, a_side: Side, b: &Array, b_side: Side) -> ([usize; 2], [usize; 2]) {
    let turned = |tensor: &Array, side| {
        let [rows, columns] = size(tensor);
        match side {
            Side::Plain => [rows, columns],
            Side::Transposed => [columns, rows],
        }
    };
    let (a, b) = (turned(a, a_side), turned(b, b_side));
    assert_eq!(a[1], b[0], "inner sizes of a matrix product");
    (a, b)
}

/// A matrix over a slice, by its steps from row to row and from column to column.
#[derive(Clone, Copy)]
pub(super) struct Strided<'t, T> {
    values: &'t [T],
    row_step: usize,
    column_step: usize,
}

impl<'t, T> Strided<'t, T> {
    pub(super) fn new(values: &'t [T], stored_columns: usize, side: Side) -> Self {
        let (row_step, column_step) = match side {
            Side::Plain => (stored_columns, 1),
            Side::Transposed => (1, stored_columns),
        };
        Self {
            values,
            row_step,
            column_step,
        }
    }
}

/// The product of two matrices, each given by its numbers, its columns as stored, and its side. The size is rows, columns and
/// depth of the product.
pub(crate) fn product_of_slices<T: Number>(
    a: (&[T], usize, Side),
    b: (&[T], usize, Side),
    size: [usize; 3],
) -> Vec<T> {
    let (a, b) = (Strided::new(a.0, a.1, a.2), Strided::new(b.0, b.1, b.2));
    product(a, b, size, None)
}

fn product<T: Number>(
    a: Strided<'_, T>,
    b: Strided<'_, T>,
    [rows, columns, depth]: [usize; 3],
    start: Option<&[T]>,
) -> Vec<T> {
    if rows * columns == 0 || depth == 0 {
        return start.map_or_else(
            || vec![T::default(); rows * columns],
            |start| start.repeat(rows),
        );
    }
    // SAFETY: the product writes every number of the output.
    unsafe {
        filled(rows * columns, |out| {
            fill_product(a, b, [rows, columns, depth], start, out);
        })
    }
}

/// Writes a product of at least one row, column and inner index.
///
/// # Safety
/// `out` must be valid for all numbers of the product and used by nobody else; every one of them is written.
pub(super) unsafe fn fill_product<T: Number>(
    a: Strided<'_, T>,
    b: Strided<'_, T>,
    [rows, columns, depth]: [usize; 3],
    start: Option<&[T]>,
    out: Shared<T>,
) {
    let width = REGISTERS * T::LANES;
    let panels = columns.div_ceil(width);
    let mut scratch = Scratch::<T>::new(panels * width * PASS_DEPTH.min(depth));
    for first in (0..depth).step_by(PASS_DEPTH) {
        let taken = PASS_DEPTH.min(depth - first);
        let packed = &mut scratch.numbers()[..panels * width * taken];
        pack(b, [first, taken, columns], packed);
        let packed = &*packed;
        let task = |top: usize| {
            let count = THREAD_ROWS.min(rows - top);
            if let (0, Some(start)) = (first, start) {
                for row in top..top + count {
                    let to = out.at(row * columns);
                    // SAFETY: the row lies within the output, and `start` has its length.
                    unsafe { std::ptr::copy_nonoverlapping(start.as_ptr(), to, columns) };
                }
            }
            let from = &a.values[top * a.row_step + first * a.column_step..];
            // SAFETY: `count` rows from `top` lie within both matrices, no other task has them, and they hold
            // the start or the sums of the passes before where those are kept.
            let rows = unsafe {
                Rows::new(
                    from.as_ptr(),
                    [a.row_step, a.column_step],
                    packed,
                    out.at(top * columns),
                    [count, columns, taken],
                    first > 0 || start.is_some(),
                )
            };
            T::vectorised(rows);
        };
        if rows * columns * depth >= PARALLEL_WORK {
            (0..rows.div_ceil(THREAD_ROWS))
                .into_par_iter()
                .for_each(|job| task(job * THREAD_ROWS));
        } else {
            (0..rows).step_by(THREAD_ROWS).for_each(task);
        }
    }
}

/// Copies `taken` rows of `B` into panels as wide as a tile, zeros beyond the last column.
fn pack<T: Number>(b: Strided<'_, T>, [first, taken, columns]: [usize; 3], packed: &mut [T]) {
    let width = REGISTERS * T::LANES;
    let pack = |(panel, values): (usize, &mut [T])| {
        let left = panel * width;
        T::vectorised(Pack {
            b: Strided {
                values: &b.values[first * b.row_step + left * b.column_step..],
                ..b
            },
            here: width.min(columns - left),
            values,
        });
    };
    if taken * columns >= PARALLEL_PACK {
        packed
            .par_chunks_exact_mut(taken * width)
            .enumerate()
            .for_each(pack);
    } else {
        packed
            .chunks_exact_mut(taken * width)
            .enumerate()
            .for_each(pack);
    }
}

/// Packs one panel, `here` columns of which there are.
struct Pack<'a, T> {
    b: Strided<'a, T>,
    here: usize,
    values: &'a mut [T],
}

impl<T: Number> Task<T> for Pack<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self { b, here, values } = self;
        let width = REGISTERS * V::LANES;
        let taken = values.len() / width;
        let mut packed = 0;
        if b.row_step == 1 && here == width {
            packed = taken / V::LANES * V::LANES;
            let (mut columns, mut rows) = ([0; MOST_LANES], [0; MOST_LANES]);
            for lane in 0..V::LANES {
                columns[lane] = lane * b.column_step;
                rows[lane] = lane * width;
            }
            assert!(packed == 0 || (width - 1) * b.column_step + packed <= b.values.len());
            for depth in (0..packed).step_by(V::LANES) {
                for column in (0..width).step_by(V::LANES) {
                    // SAFETY: the last number of the last column has been checked, and there is room for every row.
                    unsafe {
                        let from = b.values.as_ptr().add(column * b.column_step + depth);
                        let to = values.as_mut_ptr().add(depth * width + column);
                        V::transpose(from, &columns, to, &rows);
                    }
                }
            }
        }
        for (depth, row) in values.chunks_exact_mut(width).enumerate().skip(packed) {
            let start = depth * b.row_step;
            if b.column_step == 1 {
                row[..here].copy_from_slice(&b.values[start..start + here]);
            } else {
                let column = b.values[start..].iter().step_by(b.column_step);
                for (value, &number) in row[..here].iter_mut().zip(column) {
                    *value = number;
                }
            }
            row[here..].fill(T::default());
        }
    }
}

/// Some rows of the product, over one pass of the inner index.
struct Rows<'a, T> {
    a: *const T,
    row_step: usize,
    column_step: usize,
    packed: &'a [T],
    out: *mut T,
    /// Rows, columns of the whole product, inner indices.
    size: [usize; 3],
    keep: bool,
}

impl<T: Number> Task<T> for Rows<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let [_, columns, depth] = self.size;
        let width = REGISTERS * V::LANES;
        for (panel, values) in self.packed.chunks_exact(depth * width).enumerate() {
            let left = panel * width;
            // SAFETY: the rows lie within both matrices, and the panel holds `depth` of width.
            unsafe {
                if V::FEW {
                    for part in (0..width.min(columns - left)).step_by(V::LANES) {
                        self.strip::<V, FEW_TILE_ROWS, 1>(left + part, &values[part..]);
                    }
                } else {
                    self.strip::<V, TILE_ROWS, REGISTERS>(left, values);
                }
            }
        }
        debug_assert!(columns <= self.packed.len() / depth);
    }
}

impl<'a, T: Number> Rows<'a, T> {
    /// Rows of `A` at the given steps from row to row and from column to column, by the packed panels of `B`; added to what
    /// is there if `keep`. `size` is rows, columns of the whole product, inner indices.
    ///
    /// # Safety
    /// Until the task has run, `a` must be readable for its rows and inner indices, `out` must be valid for its rows of all
    /// columns and used by nobody else, and initialised if `keep`. The panels must hold every column and inner index.
    unsafe fn new(
        a: *const T,
        [row_step, column_step]: [usize; 2],
        packed: &'a [T],
        out: *mut T,
        size: [usize; 3],
        keep: bool,
    ) -> Self {
        Self {
            a,
            row_step,
            column_step,
            packed,
            out,
            size,
            keep,
        }
    }

    /// All rows of `WIDE` registers side by side.
    ///
    /// # Safety
    /// `panel` must begin with those registers' numbers, and go on every two registers for each inner index.
    #[inline(always)]
    unsafe fn strip<V: Vector<Number = T>, const ROWS: usize, const WIDE: usize>(
        &self,
        left: usize,
        panel: &[T],
    ) {
        let rows = self.size[0];
        let mut row = 0;
        // SAFETY: no tile reaches beyond the last row.
        unsafe {
            while row + ROWS <= rows {
                self.tile::<V, ROWS, WIDE>(row, left, panel);
                row += ROWS;
            }
            while row + 2 <= rows {
                self.tile::<V, 2, WIDE>(row, left, panel);
                row += 2;
            }
            if row < rows {
                self.tile::<V, 1, WIDE>(row, left, panel);
            }
        }
    }

    /// # Safety
    /// As for [`Rows::strip`], and `ROWS` rows from `row` must lie within the task's rows.
    #[inline(always)]
    unsafe fn tile<V: Vector<Number = T>, const ROWS: usize, const WIDE: usize>(
        &self,
        row: usize,
        left: usize,
        panel: &[T],
    ) {
        let [_, columns, depth] = self.size;
        let width = WIDE * V::LANES;
        let here = width.min(columns - left);
        let mut edge = [T::default(); 64];
        // SAFETY: every address lies within the operands as the caller promises; a tile narrower
        // than its registers goes through `edge`, which holds two registers of any type.
        unsafe {
            let mut sums = [[V::splat(T::default()); WIDE]; ROWS];
            if self.keep {
                for (r, sums) in sums.iter_mut().enumerate() {
                    let mut from = self.out.add((row + r) * columns + left).cast_const();
                    if here < width {
                        std::ptr::copy_nonoverlapping(from, edge.as_mut_ptr(), here);
                        from = edge.as_ptr();
                    }
                    for (register, sum) in sums.iter_mut().enumerate() {
                        *sum = V::load(from.add(register * V::LANES));
                    }
                }
            }
            let mut b = panel.as_ptr();
            let mut a = self.a.add(row * self.row_step);
            for _ in 0..depth {
                let lanes: [V; WIDE] =
                    std::array::from_fn(|place| V::load(b.add(place * V::LANES)));
                for (r, sums) in sums.iter_mut().enumerate() {
                    let factor = V::splat(*a.add(r * self.row_step));
                    for (sum, lane) in sums.iter_mut().zip(lanes) {
                        *sum = lane.mul_add(factor, *sum);
                    }
                }
                b = b.wrapping_add(REGISTERS * V::LANES);
                a = a.wrapping_add(self.column_step);
            }
            for (r, sums) in sums.iter().enumerate() {
                let to = self.out.add((row + r) * columns + left);
                let target = if here < width { edge.as_mut_ptr() } else { to };
                for (register, sum) in sums.iter().enumerate() {
                    sum.store(target.add(register * V::LANES));
                }
                if here < width {
                    std::ptr::copy_nonoverlapping(edge.as_ptr(), to, here);
                }
            }
        }
    }
}
