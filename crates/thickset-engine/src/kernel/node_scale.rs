//! The three functions of a matrix a row, scaled from both sides: what normalises the adjacency of a graph, and its derivatives.
//!
//! With `L(M, G, r, s) = sum_ij r_i M_ij G_ij s_j`, a form that is linear in each of its four arguments: [`node_scale`] is dL/dG,
//! `r_i M_ij s_j`; [`node_row_dot`] is dL/dr, `sum_j M_ij G_ij s_j`; [`node_column_dot`] is dL/ds, `sum_i r_i M_ij G_ij`. They are
//! one another's derivatives. Matrices are `[rows, n * n]`, row by row, and vectors `[rows, n]`.

#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::adjoint::Trilinear;
use super::buffer::by_row;
use super::simd::{Number, Task, Vector};
use super::storage::{Numbers, numbers, size, tensor};
use super::{composed, on_flex};

/// `r_i M_ij s_j` of each row.
///
/// # Panics
/// If the matrix of a row is not as long as the vectors squared.
#[must_use]
pub fn node_scale(matrix: Tensor<2>, r: Tensor<2>, s: Tensor<2>) -> Tensor<2> {
    check(&matrix, &r, &s);
    if !on_flex(&matrix) {
        return composed::node_scale(matrix, r, s);
    }
    Tensor::from_dispatch(<Dispatch as NodeScaleBackend>::node_scale(
        matrix.into_dispatch(),
        r.into_dispatch(),
        s.into_dispatch(),
    ))
}

/// `sum_j A_ij B_ij s_j` of each row, `[rows, n]`.
///
/// # Panics
/// As [`node_scale`].
#[must_use]
pub fn node_row_dot(a: Tensor<2>, b: Tensor<2>, s: Tensor<2>) -> Tensor<2> {
    check(&a, &s, &s);
    assert_eq!(a.dims(), b.dims(), "two matrices of one size");
    if !on_flex(&a) {
        return composed::node_row_dot(a, b, s);
    }
    Tensor::from_dispatch(<Dispatch as NodeScaleBackend>::node_row_dot(
        a.into_dispatch(),
        b.into_dispatch(),
        s.into_dispatch(),
    ))
}

/// `sum_i r_i A_ij B_ij` of each row, `[rows, n]`.
///
/// # Panics
/// As [`node_scale`].
#[must_use]
pub fn node_column_dot(a: Tensor<2>, b: Tensor<2>, r: Tensor<2>) -> Tensor<2> {
    check(&a, &r, &r);
    assert_eq!(a.dims(), b.dims(), "two matrices of one size");
    if !on_flex(&a) {
        return composed::node_column_dot(a, b, r);
    }
    Tensor::from_dispatch(<Dispatch as NodeScaleBackend>::node_column_dot(
        a.into_dispatch(),
        b.into_dispatch(),
        r.into_dispatch(),
    ))
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

#[backend_extension(Flex, Autodiff)]
pub(crate) trait NodeScaleBackend: Backend {
    fn node_scale(
        matrix: FloatTensor<Self>,
        r: FloatTensor<Self>,
        s: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
    fn node_row_dot(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        s: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
    fn node_column_dot(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        r: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

/// Runs one call on three tensors of one type, and makes its result a tensor.
macro_rules! three {
    (|$a:ident, $b:ident, $c:ident| $result:expr, $size:expr) => {{
        let ($a, $b, $c) = ($a.to_contiguous(), $b.to_contiguous(), $c.to_contiguous());
        match (numbers(&$a), numbers(&$b), numbers(&$c)) {
            (Numbers::F32($a), Numbers::F32($b), Numbers::F32($c)) => tensor($result, $size),
            (Numbers::F64($a), Numbers::F64($b), Numbers::F64($c)) => tensor($result, $size),
            _ => panic!("a kernel's tensors must have one type"),
        }
    }};
}

impl NodeScaleBackend for Flex {
    fn node_scale(
        matrix: FloatTensor<Self>,
        r: FloatTensor<Self>,
        s: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let ([rows, places], [_, nodes]) = (size(&matrix), size(&r));
        three!(
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

    fn node_row_dot(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        s: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let ([rows, places], [_, nodes]) = (size(&a), size(&s));
        three!(
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

    fn node_column_dot(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        r: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let ([rows, places], [_, nodes]) = (size(&a), size(&r));
        three!(
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

impl<B: NodeScaleBackend, C: CheckpointStrategy> NodeScaleBackend for Autodiff<B, C> {
    fn node_scale(
        matrix: FloatTensor<Self>,
        r: FloatTensor<Self>,
        s: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        Trilinear::<B> {
            forward: B::node_scale,
            derivatives: [
                |gradient, r, s| B::node_scale(gradient, r, s),
                |gradient, matrix, s| B::node_row_dot(gradient, matrix, s),
                |gradient, matrix, r| B::node_column_dot(gradient, matrix, r),
            ],
        }
        .apply::<C>([matrix, r, s])
    }

    fn node_row_dot(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        s: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        Trilinear::<B> {
            forward: B::node_row_dot,
            derivatives: [
                |gradient, b, s| B::node_scale(b, gradient, s),
                |gradient, a, s| B::node_scale(a, gradient, s),
                |gradient, a, b| B::node_column_dot(a, b, gradient),
            ],
        }
        .apply::<C>([a, b, s])
    }

    fn node_column_dot(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        r: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        Trilinear::<B> {
            forward: B::node_column_dot,
            derivatives: [
                |gradient, b, r| B::node_scale(b, r, gradient),
                |gradient, a, r| B::node_scale(a, r, gradient),
                |gradient, a, b| B::node_row_dot(a, b, gradient),
            ],
        }
        .apply::<C>([a, b, r])
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        alone, bits, check_gradients, flex, on_threads, random, same_in_every_argument, values,
    };

    #[test]
    fn a_graph_of_two_nodes_by_hand() {
        let of = |values: Vec<f32>| {
            let width = values.len();
            Tensor::<2>::from_data(TensorData::new(values, [1, width]), &flex())
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
