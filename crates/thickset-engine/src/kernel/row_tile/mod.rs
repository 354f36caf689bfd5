//! Rows side by side in registers: the arithmetic of a tile of few rows.
//!
//! In a tile, number `i` of row `r` lies at `i * TILE + r`. So a product with a matrix, or an activation, does the same to
//! whole registers, and a row never meets its neighbours. Each element of a product is one chain of multiply-adds in
//! ascending order, as in `matrix_product`: a row has the same bits in a tile as in any batch.

#![expect(unsafe_code, reason = "vector loads and stores through pointers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use crate::kernel::real::Real;
use crate::kernel::register_tile::{self, REGISTERS, Target, Walk};
use crate::kernel::simd::{Number, Task, Vector};

mod activation;

pub(crate) use activation::{Activation, ActivationState};

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
pub(crate) struct PackedMatrix<T> {
    /// Panels of as many outputs as a tile of sums has columns; within one, by depth. Zeros stand for outputs beyond the last.
    numbers: Vec<T>,
    outputs: usize,
    depth: usize,
}

impl<T: Number> PackedMatrix<T> {
    /// The matrix whose element for an output and a depth is `at(output, depth)`.
    pub(crate) fn new(outputs: usize, depth: usize, at: impl Fn(usize, usize) -> T) -> Self {
        let mut numbers = Vec::with_capacity(outputs.next_multiple_of(4) * depth);
        let mut first = 0;
        while first < outputs {
            let columns = register_tile::columns(outputs - first);
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
    matrix: &PackedMatrix<T>,
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
    T::vectorised(Product {
        matrix,
        start,
        x,
        out,
        registers: rows.div_ceil(T::LANES),
    });
}

struct Product<'a, T> {
    matrix: &'a PackedMatrix<T>,
    start: Option<&'a [T]>,
    x: &'a [T],
    out: &'a mut [T],
    registers: usize,
}

impl<T: Number> Task<T> for Product<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let PackedMatrix {
            numbers,
            outputs,
            depth,
        } = self.matrix;
        let rows = tile_rows::<T>();
        if let Some(start) = self.start {
            // The columns beyond the last are written too.
            let starts = start.iter().copied().chain(std::iter::repeat(T::default()));
            for (lanes, start) in self.out.chunks_exact_mut(rows).zip(starts) {
                lanes.fill(start);
            }
        }
        let (mut first, mut narrow) = (0, numbers.as_ptr());
        while first < *outputs {
            let columns = register_tile::columns(outputs - first);
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
                register_tile::product::<V, 1>(
                    self.registers,
                    columns,
                    &walk,
                    self.x.as_ptr(),
                    narrow,
                    target,
                    self.start.is_some(),
                );
                narrow = narrow.add(columns * depth);
            }
            first += columns;
        }
    }
}

/// Puts rows into a tile, zeros beyond the last. `room` is as large as the tile.
pub(crate) fn pack_rows<T: Real>(rows: &[f64], features: usize, room: &mut [T], tile: &mut [T]) {
    T::vectorised(PackRows {
        rows,
        features,
        room,
        tile,
    });
}

/// Takes rows out of a tile. `room` is as large as the tile.
pub(crate) fn unpack_rows<T: Real>(tile: &[T], features: usize, room: &mut [T], rows: &mut [f64]) {
    T::vectorised(UnpackRows {
        tile,
        features,
        room,
        rows,
    });
}

/// Numbers of a tile that rows of so many features enter or leave: whole squares of registers.
pub(crate) fn boundary_numbers<T: Real>(features: usize) -> usize {
    features.next_multiple_of(T::LANES) * tile_rows::<T>()
}

struct PackRows<'a, T> {
    rows: &'a [f64],
    features: usize,
    room: &'a mut [T],
    tile: &'a mut [T],
}

impl<T: Real> Task<T> for PackRows<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let width = self.features.next_multiple_of(T::LANES);
        let mut rows = self.rows.chunks_exact(self.features.max(1));
        for room in self.room.chunks_exact_mut(width).take(tile_rows::<T>()) {
            let row = rows.next().unwrap_or_default();
            for (to, from) in room.iter_mut().zip(row) {
                *to = T::from_f64(*from);
            }
            for to in &mut room[row.len()..] {
                *to = T::default();
            }
        }
        let size = [tile_rows::<T>(), width];
        squares::<V>(self.room, size, size, self.tile);
    }
}

struct UnpackRows<'a, T> {
    tile: &'a [T],
    features: usize,
    room: &'a mut [T],
    rows: &'a mut [f64],
}

impl<T: Real> Task<T> for UnpackRows<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let width = self.features.next_multiple_of(T::LANES);
        let size = [width, tile_rows::<T>()];
        squares::<V>(self.tile, size, size, self.room);
        let rows = self.rows.chunks_exact_mut(self.features.max(1));
        for (row, room) in rows.zip(self.room.chunks_exact(width)) {
            for (to, from) in row.iter_mut().zip(room) {
                *to = from.to_f64();
            }
        }
    }
}

/// Transposes the first `whole` rows and columns, multiples of a register, of a matrix of this size.
#[inline(always)]
pub(crate) fn squares<V: Vector>(
    from: &[V::Number],
    [rows, columns]: [usize; 2],
    whole: [usize; 2],
    to: &mut [V::Number],
) {
    assert!(whole[0] <= rows && whole[1] <= columns);
    assert!(whole.iter().all(|side| side.is_multiple_of(V::LANES)));
    assert!(from.len() >= rows * columns && to.len() >= rows * columns);
    let (mut from_rows, mut to_rows) = ([0; 16], [0; 16]);
    for lane in 0..V::LANES {
        (from_rows[lane], to_rows[lane]) = (lane * columns, lane * rows);
    }
    let tables = (&from_rows[..V::LANES], &to_rows[..V::LANES]);
    for row in (0..whole[0]).step_by(V::LANES) {
        for column in (0..whole[1]).step_by(V::LANES) {
            // SAFETY: a square of registers within both matrices.
            unsafe {
                V::transpose(
                    from.as_ptr().add(row * columns + column),
                    tables.0,
                    to.as_mut_ptr().add(column * rows + row),
                    tables.1,
                );
            }
        }
    }
}
