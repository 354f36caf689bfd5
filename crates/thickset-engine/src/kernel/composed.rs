//! The kernels' operations composed of tensor operations: for devices without kernels, and what the kernels are tested against.

use super::{Factor, PoolShape};
use crate::layer::{Layer as _, Softmax};
use crate::tensor::activation::{log_softmax, sigmoid};
use crate::tensor::{Device, Int, Tensor, TensorData};

/// See [`super::linear`].
pub(crate) fn linear(x: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    x.matmul(w.transpose())
}

/// See [`super::affine`].
pub(crate) fn affine(x: Tensor<2>, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    linear(x, w) + b
}

/// See [`super::linear_input`].
pub(crate) fn linear_input(g: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    g.matmul(w)
}

/// See [`super::linear_weight`].
pub(crate) fn linear_weight(x: Tensor<2>, g: Tensor<2>) -> Tensor<2> {
    g.transpose().matmul(x)
}

/// See [`super::batch_product`].
pub(crate) fn batch_product(left: Tensor<2>, right: Tensor<2>, shape: [Factor; 2]) -> Tensor<2> {
    let matrices = |values: Tensor<2>, factor: Factor| {
        let [rows, columns] = factor.stored();
        let matrices = values.clone().reshape([values.dims()[0], rows, columns]);
        if factor.is_transposed() {
            matrices.transpose()
        } else {
            matrices
        }
    };
    matrices(left, shape[0])
        .matmul(matrices(right, shape[1]))
        .flatten(1, 2)
}

fn squares(matrix: Tensor<2>, nodes: usize) -> Tensor<3> {
    let [rows, _] = matrix.dims();
    matrix.reshape([rows, nodes, nodes])
}

/// See [`super::node_scale`].
pub(crate) fn node_scale(matrix: Tensor<2>, r: Tensor<2>, s: Tensor<2>) -> Tensor<2> {
    let [rows, nodes] = r.dims();
    let scaled = r.reshape([rows, nodes, 1]) * squares(matrix, nodes);
    (scaled * s.reshape([rows, 1, nodes])).flatten(1, 2)
}

/// See [`super::node_row_dot`].
pub(crate) fn node_row_dot(a: Tensor<2>, b: Tensor<2>, s: Tensor<2>) -> Tensor<2> {
    let [rows, nodes] = s.dims();
    let products = squares(a * b, nodes) * s.reshape([rows, 1, nodes]);
    products.sum_dim(2).reshape([rows, nodes])
}

/// See [`super::node_column_dot`].
pub(crate) fn node_column_dot(a: Tensor<2>, b: Tensor<2>, r: Tensor<2>) -> Tensor<2> {
    let [rows, nodes] = r.dims();
    let products = squares(a * b, nodes) * r.reshape([rows, nodes, 1]);
    products.sum_dim(1).reshape([rows, nodes])
}

/// The places of the edges above the diagonal and below it.
fn places(nodes: usize, like: &Tensor<2>) -> [Tensor<1, Int>; 2] {
    let place = |i: usize, j: usize| whole(i * nodes + j);
    let pairs = (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j)));
    let (upper, lower): (Vec<i64>, Vec<i64>) =
        pairs.map(|(i, j)| (place(i, j), place(j, i))).unzip();
    [upper, lower].map(|places| indices(places, like.device()))
}

/// See [`super::triangle_to_matrix`].
pub(crate) fn triangle_to_matrix(edges: Tensor<2>, nodes: usize) -> Tensor<2> {
    let [rows, _] = edges.dims();
    let [upper, lower] = places(nodes, &edges);
    let empty = Tensor::zeros([rows, nodes * nodes], (&edges.device(), edges.dtype()));
    let upper = empty.select_add(1, upper, edges.clone());
    upper.select_add(1, lower, edges)
}

/// See [`super::matrix_to_triangle`].
pub(crate) fn matrix_to_triangle(matrix: Tensor<2>, nodes: usize) -> Tensor<2> {
    let [upper, lower] = places(nodes, &matrix);
    matrix.clone().select(1, upper) + matrix.select(1, lower)
}

/// See [`super::gate`].
pub(crate) fn gate(value: Tensor<2>, decider: Tensor<2>) -> Tensor<2> {
    // Not `lower_equal`: what is no number does not open the gate either.
    value.mask_fill(decider.greater_elem(0.0).bool_not(), 0.0)
}

/// See [`super::softplus`].
pub(crate) fn softplus(x: Tensor<2>, beta: f64) -> Tensor<2> {
    let tail = (x.clone().abs() * -beta).exp().log1p() * (1.0 / beta);
    gate(x.clone(), x) + tail
}

/// See [`super::softplus_slope`].
pub(crate) fn softplus_slope(x: Tensor<2>, beta: f64) -> Tensor<2> {
    sigmoid(x * beta)
}

/// See [`super::cross_entropy`].
pub(crate) fn cross_entropy(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<1> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "batches are far below 2^53 rows"
    )]
    let share = -1.0 / logits.dims()[0] as f64;
    (log_softmax(logits, 1) * classes).sum() * share
}

/// See [`super::loss_seed`].
pub(crate) fn loss_seed(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    let p = Softmax.forward(std::slice::from_ref(&logits));
    let top = most_probable(&logits);
    // At the top `(1 - c) - sum of the others` in place of `p - c`, which would cancel.
    let others = p * (-top.clone() + 1.0);
    others.clone() - (classes - top.clone()) - top * others.sum_dim(1)
}

/// 1 at each row's largest number, the first of equals, else 0; a constant.
pub(crate) fn most_probable(logits: &Tensor<2>) -> Tensor<2> {
    let logits = logits.clone().without_autodiff();
    let top = logits.clone().argmax(1);
    let one = Tensor::ones([logits.dims()[0], 1], (&logits.device(), logits.dtype()));
    logits.zeros_like().scatter_add(1, top, one)
}

/// See [`super::probability_seed`].
pub(crate) fn probability_seed(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    Softmax.linearise(&[logits]).1.tangent(&[classes])
}

/// See [`super::probability_seed_tangent`].
pub(crate) fn probability_seed_tangent(
    logits: Tensor<2>,
    v: Tensor<2>,
    classes: Tensor<2>,
) -> Tensor<2> {
    let still = classes.zeros_like();
    let at = Softmax.linearise(&[logits]).1;
    at.pullback_tangent(&[v], &classes, still).swap_remove(0)
}

/// The numbers of each row, and one more that stands for all beyond the image.
pub(super) fn with_beyond(x: Tensor<2>, value: f64) -> Tensor<2> {
    let [rows, _] = x.dims();
    let beyond = Tensor::full([rows, 1], value, (&x.device(), x.dtype()));
    Tensor::cat(vec![x, beyond], 1)
}

/// Places as a tensor.
pub(super) fn indices(places: Vec<i64>, device: Device) -> Tensor<1, Int> {
    let count = places.len();
    Tensor::from_data(TensorData::new(places, [count]), &device)
}

pub(super) fn whole(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// See [`super::max_pool_indices`].
pub(crate) fn max_pool_indices(x: &Tensor<2>, shape: PoolShape) -> Tensor<2, Int> {
    let [rows, features] = x.dims();
    let size = shape.window[0] * shape.window[1];
    let mut places = Vec::new();
    for line in 0..shape.channels * shape.out_height() {
        let (channel, y) = (line / shape.out_height(), line % shape.out_height());
        for x in 0..shape.out_width() {
            let (lines, columns) = (shape.covered(0, y), shape.covered(1, x));
            let line = |y: usize| (channel * shape.height + y) * shape.width;
            let start = places.len();
            for y in lines {
                places.extend(columns.clone().map(|x| whole(line(y) + x)));
            }
            // What a window covers beyond the image is never a maximum.
            places.resize(start + size, whole(features));
        }
    }
    let windows = shape.out_features();
    let places = indices(places, x.device());
    let best = with_beyond(x.clone().without_autodiff(), f64::NEG_INFINITY)
        .select(1, places.clone())
        .reshape([rows * windows, size])
        .argmax(1);
    let again = (0..rows).flat_map(|_| (0..windows).map(whole)).collect();
    places
        .reshape([windows, size])
        .select(0, indices(again, x.device()))
        .gather(1, best)
        .reshape([rows, windows])
}

/// See [`super::pool_gather`].
pub(crate) fn pool_gather(x: Tensor<2>, indices: Tensor<2, Int>) -> Tensor<2> {
    x.gather(1, indices)
}

/// See [`super::pool_scatter`].
pub(crate) fn pool_scatter(g: Tensor<2>, indices: Tensor<2, Int>, shape: PoolShape) -> Tensor<2> {
    let [rows, _] = g.dims();
    let zeros = Tensor::zeros([rows, shape.in_features()], (&g.device(), g.dtype()));
    zeros.scatter_add(1, indices, g)
}

/// See [`super::channel_scale`].
pub(crate) fn channel_scale(x: Tensor<2>, s: Tensor<2>, channels: usize) -> Tensor<2> {
    let size = x.dims();
    (planes(x, channels) * s.reshape([1, channels, 1])).reshape(size)
}

/// See [`super::channel_dot`].
pub(crate) fn channel_dot(x: Tensor<2>, g: Tensor<2>, channels: usize) -> Tensor<2> {
    (planes(x, channels) * planes(g, channels))
        .sum_dim(2)
        .sum_dim(0)
        .reshape([1, channels])
}

/// See [`super::channel_shift`].
pub(crate) fn channel_shift(x: Tensor<2>, b: Tensor<2>, channels: usize) -> Tensor<2> {
    let size = x.dims();
    (planes(x, channels) + b.reshape([1, channels, 1])).reshape(size)
}

/// See [`super::channel_sum`].
pub(crate) fn channel_sum(x: Tensor<2>, channels: usize) -> Tensor<2> {
    planes(x, channels)
        .sum_dim(2)
        .sum_dim(0)
        .reshape([1, channels])
}

/// See [`super::channel_broadcast`].
pub(crate) fn channel_broadcast(b: Tensor<2>, rows: usize, features: usize) -> Tensor<2> {
    let [_, channels] = b.dims();
    b.reshape([1, channels, 1])
        .expand([rows, channels, features / channels])
        .reshape([rows, features])
}

fn planes(x: Tensor<2>, channels: usize) -> Tensor<3> {
    let [rows, features] = x.dims();
    x.reshape([rows, channels, features / channels])
}
