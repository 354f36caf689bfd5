//! Rows side by side in registers: the arithmetic of a tile of few rows.
//!
//! In a tile, number `i` of row `r` lies at `i * TILE + r`. So a product with a matrix, or an activation, does the same to
//! whole registers, and a row never meets its neighbours. Each element of a product is one chain of multiply-adds in
//! ascending order, as in `gemm`: a row has the same bits in a tile as in any batch.

#![expect(unsafe_code, reason = "vector loads and stores through pointers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use super::real::Real;
use super::simd::{Number, Task, Vector};
use super::tile::{self, REGISTERS, Target, Walk};

/// Rows of a tile.
pub(crate) const fn tile_rows<T: Number>() -> usize {
    REGISTERS * T::LANES
}

/// Numbers of a tile with so many features; products write up to a multiple of four of them.
pub(crate) fn tile_numbers<T: Number>(features: usize) -> usize {
    features.next_multiple_of(4) * tile_rows::<T>()
}

/// A matrix in the order in which [`multiply`] reads it.
#[derive(Debug)]
pub(crate) struct Packed<T> {
    /// Panels of as many outputs as a tile of sums has columns; within one, by depth. Zeros stand for outputs beyond the last.
    numbers: Vec<T>,
    outputs: usize,
    depth: usize,
}

impl<T: Number> Packed<T> {
    /// The matrix whose element for an output and a depth is `at(output, depth)`.
    pub(crate) fn new(outputs: usize, depth: usize, at: impl Fn(usize, usize) -> T) -> Self {
        let mut numbers = Vec::with_capacity(outputs.next_multiple_of(4) * depth);
        let mut first = 0;
        while first < outputs {
            let columns = tile::columns(outputs - first);
            for depth in 0..depth {
                numbers.extend((first..first + columns).map(|output| {
                    if output < outputs {
                        at(output, depth)
                    } else {
                        T::default()
                    }
                }));
            }
            first += columns;
        }
        Self {
            numbers,
            outputs,
            depth,
        }
    }
}

/// `out = start + matrix x` for the first `rows` of a tile; without a start, from zero.
pub(crate) fn multiply<T: Number>(
    matrix: &Packed<T>,
    start: Option<&[T]>,
    x: &[T],
    rows: usize,
    out: &mut [T],
) {
    assert!(rows <= tile_rows::<T>(), "the rows of a tile");
    assert!(x.len() >= matrix.depth * tile_rows::<T>(), "a tile to read");
    assert!(
        out.len() >= tile_numbers::<T>(matrix.outputs),
        "a tile to write"
    );
    if let Some(start) = start {
        // The columns beyond the last are written too.
        let starts = start.iter().copied().chain(std::iter::repeat(T::default()));
        for (lanes, start) in out.chunks_exact_mut(tile_rows::<T>()).zip(starts) {
            lanes.fill(start);
        }
    }
    T::vectorised(Product {
        matrix,
        x,
        out,
        registers: rows.div_ceil(T::LANES),
        keep: start.is_some(),
    });
}

struct Product<'a, T> {
    matrix: &'a Packed<T>,
    x: &'a [T],
    out: &'a mut [T],
    registers: usize,
    keep: bool,
}

impl<T: Number> Task<T> for Product<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Packed {
            numbers,
            outputs,
            depth,
        } = self.matrix;
        let rows = tile_rows::<T>();
        let (mut first, mut narrow) = (0, numbers.as_ptr());
        while first < *outputs {
            let columns = tile::columns(outputs - first);
            let walk = Walk {
                blocks: 1,
                inner: *depth,
                wide_register: T::LANES,
                wide_step: rows,
                narrow_step: columns,
                narrow_block: 0,
            };
            // SAFETY: `x` holds `depth` rows of the tile, `out` as many as there are outputs up to a multiple of four, which
            // is where the last columns end; both were checked. The panel is `columns` by `depth`.
            unsafe {
                let target = Target {
                    to: self.out.as_mut_ptr().add(first * rows),
                    register: T::LANES,
                    column: rows,
                };
                tile::product::<V, 1>(
                    self.registers,
                    columns,
                    &walk,
                    self.x.as_ptr(),
                    narrow,
                    target,
                    self.keep,
                );
                narrow = narrow.add(columns * depth);
            }
            first += columns;
        }
    }
}

/// Puts rows into a tile, zeros beyond the last.
pub(crate) fn enter<T: Real>(rows: &[f64], features: usize, tile: &mut [T]) {
    let count = rows.len() / features.max(1);
    for (feature, lanes) in tile
        .chunks_exact_mut(tile_rows::<T>())
        .take(features)
        .enumerate()
    {
        let (here, beyond) = lanes.split_at_mut(count);
        let column = rows[feature..].iter().step_by(features);
        for (lane, &value) in here.iter_mut().zip(column) {
            *lane = T::from_f64(value);
        }
        beyond.fill(T::default());
    }
}

/// Takes rows out of a tile.
pub(crate) fn leave<T: Real>(tile: &[T], features: usize, rows: &mut [f64]) {
    for (row, values) in rows.chunks_exact_mut(features.max(1)).enumerate() {
        let lane = tile[row..].iter().step_by(tile_rows::<T>());
        for (value, &number) in values.iter_mut().zip(lane) {
            *value = number.to_f64();
        }
    }
}
