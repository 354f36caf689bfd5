//! The three functions of a matrix a row, scaled from both sides: what normalises the adjacency of a graph, and its derivatives.
//!
//! With `L(M, G, r, s) = sum_ij r_i M_ij G_ij s_j`, a form that is linear in each of its four arguments: [`node_scale`] is dL/dG,
//! `r_i M_ij s_j`; [`node_row_dot`] is dL/dr, `sum_j M_ij G_ij s_j`; [`node_column_dot`] is dL/ds, `sum_i r_i M_ij G_ij`. They are
//! one another's derivatives. Matrices are `[rows, n * n]`, row by row, and vectors `[rows, n]`.

#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use super::adjoint::Trilinear;
use super::buffer::by_row;
use super::simd::{Number, Task, Vector};
use super::storage::{by_type, size};
use super::{composed, on_cpu};
use crate::tensor::{Array, Tensor};

/// `r_i M_ij s_j` of each row.
///
/// # Panics
/// If the matrix of a row is not as long as the vectors squared.
#[must_use]
pub fn node_scale(matrix: Tensor<2>, r: Tensor<2>, s: Tensor<2>) -> Tensor<2> {
    check(&matrix, &r, &s);
    if !on_cpu(&matrix) {
        return composed::node_scale(matrix, r, s);
    }
    Trilinear {
        forward: scaled,
        derivatives: [scaled, row_dots, column_dots],
    }
    .apply([matrix, r, s])
}

/// `sum_j A_ij B_ij s_j` of each row, `[rows, n]`.
///
/// # Panics
/// As [`node_scale`].
#[must_use]
pub fn node_row_dot(a: Tensor<2>, b: Tensor<2>, s: Tensor<2>) -> Tensor<2> {
    check(&a, &s, &s);
    assert_eq!(a.dims(), b.dims(), "two matrices of one size");
    if !on_cpu(&a) {
        return composed::node_row_dot(a, b, s);
    }
    Trilinear {
        forward: row_dots,
        derivatives: [
            |gradient, b, s| scaled(b, gradient, s),
            |gradient, a, s| scaled(a, gradient, s),
            |gradient, a, b| column_dots(a, b, gradient),
        ],
    }
    .apply([a, b, s])
}

/// `sum_i r_i A_ij B_ij` of each row, `[rows, n]`.
///
/// # Panics
/// As [`node_scale`].
#[must_use]
pub fn node_column_dot(a: Tensor<2>, b: Tensor<2>, r: Tensor<2>) -> Tensor<2> {
    check(&a, &r, &r);
    assert_eq!(a.dims(), b.dims(), "two matrices of one size");
    if !on_cpu(&a) {
        return composed::node_column_dot(a, b, r);
    }
    Trilinear {
        forward: column_dots,
        derivatives: [
            |gradient, b, r| scaled(b, r, gradient),
            |gradient, a, r| scaled(a, r, gradient),
            |gradient, a, b| row_dots(a, b, gradient),
        ],
    }
    .apply([a, b, r])
}

fn check(matrix: &Tensor<2>, r: &Tensor<2>, s: &Tensor<2>) {
    let [rows, nodes] = r.dims();
    assert_eq!(s.dims(), [rows, nodes], "two vectors of one size");
    assert_eq!(
        matrix.dims(),
        [rows, nodes * nodes],
        "a square matrix as large as the vectors"
    );
}

fn scaled(matrix: &Array, r: &Array, s: &Array) -> Array {
    let ([rows, places], [_, nodes]) = (size(matrix), size(r));
    by_type!(
        |matrix, r, s| by_row(rows, places, |row, out| {
            let vector = row * nodes..(row + 1) * nodes;
            run(Scale {
                matrix: &matrix[row * places..(row + 1) * places],
                r: &r[vector.clone()],
                s: &s[vector],
                out,
            });
        }),
        [rows, places]
    )
}

fn row_dots(a: &Array, b: &Array, s: &Array) -> Array {
    let ([rows, places], [_, nodes]) = (size(a), size(s));
    by_type!(
        |a, b, s| by_row(rows, nodes, |row, out| {
            let matrix = row * places..(row + 1) * places;
            run(RowDot {
                a: &a[matrix.clone()],
                b: &b[matrix],
                s: &s[row * nodes..(row + 1) * nodes],
                out,
            });
        }),
        [rows, nodes]
    )
}

fn column_dots(a: &Array, b: &Array, r: &Array) -> Array {
    let ([rows, places], [_, nodes]) = (size(a), size(r));
    by_type!(
        |a, b, r| by_row(rows, nodes, |row, out| {
            let matrix = row * places..(row + 1) * places;
            run(ColumnDot {
                a: &a[matrix.clone()],
                b: &b[matrix],
                r: &r[row * nodes..(row + 1) * nodes],
                out,
            });
        }),
        [rows, nodes]
    )
}

fn run<T: Number>(task: impl Task<T>) {
    T::vectorised(task);
}

/// `out` is zero and as long as the matrix.
struct Scale<'a, T> {
    matrix: &'a [T],
    r: &'a [T],
    s: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> Task<T> for Scale<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let nodes = self.s.len().max(1);
        let lines = self.matrix.chunks_exact(nodes);
        for ((matrix, out), &r) in lines.zip(self.out.chunks_exact_mut(nodes)).zip(self.r) {
            for ((out, &value), &s) in out.iter_mut().zip(matrix).zip(self.s) {
                *out = r * value * s;
            }
        }
    }
}

/// Products that are summed side by side.
const LANES: usize = 8;

struct RowDot<'a, T> {
    a: &'a [T],
    b: &'a [T],
    s: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> Task<T> for RowDot<'_, T> {
    /// Eight sums side by side, each in ascending order, then those, then what fills no eight.
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let nodes = self.s.len().max(1);
        let (s, s_rest) = self.s.as_chunks::<LANES>();
        let lines = self.a.chunks_exact(nodes).zip(self.b.chunks_exact(nodes));
        for ((a, b), out) in lines.zip(self.out) {
            let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
            let mut sums = [T::default(); LANES];
            for ((a, b), s) in a.iter().zip(b).zip(s) {
                for lane in 0..LANES {
                    sums[lane] += a[lane] * b[lane] * s[lane];
                }
            }
            let mut total = T::default();
            for sum in sums {
                total += sum;
            }
            for ((&a, &b), &s) in a_rest.iter().zip(b_rest).zip(s_rest) {
                total += a * b * s;
            }
            *out = total;
        }
    }
}

/// `out` is zero.
struct ColumnDot<'a, T> {
    a: &'a [T],
    b: &'a [T],
    r: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> Task<T> for ColumnDot<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let nodes = self.r.len().max(1);
        let lines = self.a.chunks_exact(nodes).zip(self.b.chunks_exact(nodes));
        for ((a, b), &r) in lines.zip(self.r) {
            for ((out, &a), &b) in self.out.iter_mut().zip(a).zip(b) {
                *out += r * a * b;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        alone, bits, check_gradients, cpu, on_threads, random, same_in_every_argument, values,
    };

    #[test]
    fn a_graph_of_two_nodes_by_hand() {
        let of = |values: Vec<f32>| {
            let width = values.len();
            Tensor::<2>::from_data(TensorData::new(values, [1, width]), &cpu())
        };
        let (m, g) = (of(vec![1.0, 2.0, 3.0, 4.0]), of(vec![1.0, 1.0, 2.0, 0.0]));
        let (r, s) = (of(vec![10.0, 100.0]), of(vec![1.0, 5.0]));
        let scaled = node_scale(m.clone(), r.clone(), s.clone());
        assert_eq!(values(&scaled), [10.0, 100.0, 300.0, 2000.0]);
        assert_eq!(values(&node_row_dot(m.clone(), g.clone(), s)), [11.0, 6.0]);
        assert_eq!(values(&node_column_dot(m, g, r)), [610.0, 20.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        #[test]
        fn kernels_equal_the_composed_operations_in_value_and_every_gradient(
            rows in 1..4usize, nodes in 1..25usize, seed: u64,
        ) {
            let matrix = |more| random([rows, nodes * nodes], seed ^ more, DType::F64) + 1.5;
            let vector = |more| random([rows, nodes], seed ^ more, DType::F64) + 1.5;
            same_in_every_argument(
                &[matrix(1), vector(2), vector(3)],
                |t| node_scale(t[0].clone(), t[1].clone(), t[2].clone()),
                |t| composed::node_scale(t[0].clone(), t[1].clone(), t[2].clone()),
                1e-12,
            );
            same_in_every_argument(
                &[matrix(1), matrix(2), vector(3)],
                |t| node_row_dot(t[0].clone(), t[1].clone(), t[2].clone()),
                |t| composed::node_row_dot(t[0].clone(), t[1].clone(), t[2].clone()),
                1e-12,
            );
            same_in_every_argument(
                &[matrix(1), matrix(2), vector(3)],
                |t| node_column_dot(t[0].clone(), t[1].clone(), t[2].clone()),
                |t| composed::node_column_dot(t[0].clone(), t[1].clone(), t[2].clone()),
                1e-12,
            );
        }

        #[test]
        fn gradients_equal_central_differences(rows in 1..3usize, nodes in 1..4usize, seed: u64) {
            let matrix = |more| random([rows, nodes * nodes], seed ^ more, DType::F64);
            let vector = |more| random([rows, nodes], seed ^ more, DType::F64);
            check_gradients(&[matrix(1), vector(2), vector(3)], |t| {
                node_scale(t[0].clone(), t[1].clone(), t[2].clone())
            });
            check_gradients(&[matrix(1), matrix(2), vector(3)], |t| {
                node_row_dot(t[0].clone(), t[1].clone(), t[2].clone())
            });
            check_gradients(&[matrix(1), matrix(2), vector(3)], |t| {
                node_column_dot(t[0].clone(), t[1].clone(), t[2].clone())
            });
        }

        #[test]
        fn a_row_has_the_same_bits_alone_and_for_any_number_of_threads(
            rows in 1..9usize, nodes in 1..40usize, seed: u64,
        ) {
            let a = random([rows, nodes * nodes], seed, DType::F32);
            let b = random([rows, nodes * nodes], seed ^ 1, DType::F32);
            let s = random([rows, nodes], seed ^ 2, DType::F32);
            let work = || {
                [
                    node_scale(a.clone(), s.clone(), s.clone()),
                    node_row_dot(a.clone(), b.clone(), s.clone()),
                    node_column_dot(a.clone(), b.clone(), s.clone()),
                ]
                .map(|part| bits(&part))
            };
            prop_assert_eq!(on_threads(1, work), on_threads(3, work));
            let row = rows / 2;
            let all = node_row_dot(a.clone(), b.clone(), s.clone());
            let one = node_row_dot(alone(&a, row), alone(&b, row), alone(&s, row));
            prop_assert_eq!(bits(&one), bits(&alone(&all, row)));
        }
    }
}
