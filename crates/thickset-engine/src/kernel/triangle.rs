//! Between the edges of a graph, the upper triangle row by row, and its symmetric matrix.
//!
//! [`triangle_to_matrix`] puts each edge at both of its places and zero on the diagonal; [`matrix_to_triangle`] adds both places of
//! each edge. They are each other's adjoints.

use super::buffer::by_row;
use super::simd::Number;
use super::storage::{by_type, size};
use super::{composed, on_cpu};
use crate::tensor::{Array, Tensor};

/// The edges of a complete graph.
const fn edges_of(nodes: usize) -> usize {
    nodes * nodes.saturating_sub(1) / 2
}

/// `[rows, n * n]` from `[rows, n (n - 1) / 2]`, zero on the diagonal.
///
/// # Panics
/// If a row has another number of edges.
#[must_use]
pub fn triangle_to_matrix(edges: Tensor<2>, nodes: usize) -> Tensor<2> {
    assert_eq!(edges.dims()[1], edges_of(nodes), "edges of a row");
    if !on_cpu(&edges) {
        return composed::triangle_to_matrix(edges, nodes);
    }
    edges.linear(
        |edges| to_matrix(&edges, nodes),
        move |gradient| to_triangle(&gradient, nodes),
    )
}

/// `M_ij + M_ji` for each edge, `[rows, n (n - 1) / 2]` from `[rows, n * n]`.
///
/// # Panics
/// If the matrix of a row has another size.
#[must_use]
pub fn matrix_to_triangle(matrix: Tensor<2>, nodes: usize) -> Tensor<2> {
    assert_eq!(matrix.dims()[1], nodes * nodes, "places of a matrix");
    if !on_cpu(&matrix) {
        return composed::matrix_to_triangle(matrix, nodes);
    }
    matrix.linear(
        |matrix| to_triangle(&matrix, nodes),
        move |gradient| to_matrix(&gradient, nodes),
    )
}

fn to_matrix(edges: &Array, nodes: usize) -> Array {
    let [rows, width] = size(edges);
    by_type!(
        |edges| by_row(rows, nodes * nodes, |row, out| {
            spread(&edges[row * width..(row + 1) * width], nodes, out);
        }),
        [rows, nodes * nodes]
    )
}

fn to_triangle(matrix: &Array, nodes: usize) -> Array {
    let [rows, width] = size(matrix);
    by_type!(
        |matrix| by_row(rows, edges_of(nodes), |row, out| {
            gather(&matrix[row * width..(row + 1) * width], nodes, out);
        }),
        [rows, edges_of(nodes)]
    )
}

fn spread<T: Number>(edges: &[T], nodes: usize, matrix: &mut [T]) {
    let mut rest = edges;
    for i in 0..nodes {
        let (here, next) = rest.split_at(nodes - i - 1);
        rest = next;
        matrix[i * nodes + i + 1..(i + 1) * nodes].copy_from_slice(here);
        let below = matrix[(i + 1) * nodes..].iter_mut().skip(i).step_by(nodes);
        for (place, &edge) in below.zip(here) {
            *place = edge;
        }
    }
}

fn gather<T: Number>(matrix: &[T], nodes: usize, edges: &mut [T]) {
    let mut rest = edges;
    for i in 0..nodes {
        let (here, next) = rest.split_at_mut(nodes - i - 1);
        rest = next;
        let right = &matrix[i * nodes + i + 1..(i + 1) * nodes];
        let below = matrix[(i + 1) * nodes..].iter().skip(i).step_by(nodes);
        for ((edge, &right), &below) in here.iter_mut().zip(right).zip(below) {
            *edge = right + below;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{cpu, random, same_in_every_argument, values};

    #[test]
    fn three_nodes_by_hand() {
        let edges = TensorData::new(vec![1.0_f32, 2.0, 3.0], [1, 3]);
        let edges = Tensor::<2>::from_data(edges, &cpu());
        let matrix = triangle_to_matrix(edges, 3);
        assert_eq!(
            values(&matrix),
            [0.0, 1.0, 2.0, 1.0, 0.0, 3.0, 2.0, 3.0, 0.0]
        );
        assert_eq!(values(&matrix_to_triangle(matrix, 3)), [2.0, 4.0, 6.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn kernels_equal_the_composed_operations_in_value_and_gradient(
            rows in 1..4usize, nodes in 2..12usize, seed: u64,
        ) {
            let edges = random([rows, edges_of(nodes)], seed, DType::F64);
            let matrix = random([rows, nodes * nodes], seed ^ 1, DType::F64);
            same_in_every_argument(
                &[edges],
                |t| triangle_to_matrix(t[0].clone(), nodes),
                |t| composed::triangle_to_matrix(t[0].clone(), nodes),
                1e-15,
            );
            same_in_every_argument(
                &[matrix],
                |t| matrix_to_triangle(t[0].clone(), nodes),
                |t| composed::matrix_to_triangle(t[0].clone(), nodes),
                1e-15,
            );
        }
    }
}
