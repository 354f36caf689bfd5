//! The kernels' operations composed of Burn's own: for devices without kernels, and what the kernels are tested against.

use crate::tensor::activation::{log_softmax, sigmoid};
use crate::tensor::module;
use crate::tensor::ops::{ConvOptions, ConvTransposeOptions, MaxPoolOptions, PadMode};
use crate::tensor::{IndexingUpdateOp, Int, Tensor, TensorData};

use super::{ConvShape, Factor, PoolShape};
use crate::layer::{Layer as _, Softmax};

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
    let place = |i: usize, j: usize| i64::try_from(i * nodes + j).unwrap_or(i64::MAX);
    let pairs = (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j)));
    let (upper, lower): (Vec<i64>, Vec<i64>) =
        pairs.map(|(i, j)| (place(i, j), place(j, i))).unzip();
    [upper, lower].map(|places| {
        let count = places.len();
        Tensor::from_data(TensorData::new(places, [count]), &like.device())
    })
}

/// See [`super::triangle_to_matrix`].
pub(crate) fn triangle_to_matrix(edges: Tensor<2>, nodes: usize) -> Tensor<2> {
    let [rows, _] = edges.dims();
    let [upper, lower] = places(nodes, &edges);
    let empty = Tensor::zeros([rows, nodes * nodes], (&edges.device(), edges.dtype()));
    let upper = empty.select_assign(1, upper, edges.clone(), IndexingUpdateOp::Add);
    upper.select_assign(1, lower, edges, IndexingUpdateOp::Add)
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
    // A product, not a quotient: Burn's backward of a division by a scalar rounds it to `f32`.
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
    logits
        .zeros_like()
        .scatter(1, top, one, crate::tensor::IndexingUpdateOp::Add)
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

/// See [`super::conv2d`].
pub(crate) fn conv2d(x: Tensor<2>, w: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    let [rows, _] = x.dims();
    let options = ConvOptions::new(shape.stride, [0; 2], shape.dilation, shape.groups);
    module::conv2d(images(x, &shape), kernels(w, &shape), None, options)
        .reshape([rows, shape.out_features()])
}

/// See [`super::conv2d_input`].
pub(crate) fn conv2d_input(g: Tensor<2>, w: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    let [rows, _] = g.dims();
    // Rows and columns of the image that no window reaches have no gradient.
    let beyond =
        [0, 1].map(|axis| (shape.padded()[axis] - shape.window()[axis]) % shape.stride[axis]);
    let options =
        ConvTransposeOptions::new(shape.stride, [0; 2], beyond, shape.dilation, shape.groups);
    let [[top, _], [left, _]] = shape.padding;
    module::conv_transpose2d(outputs(g, &shape), kernels(w, &shape), None, options)
        .slice([
            0..rows,
            0..shape.in_channels,
            top..top + shape.in_height,
            left..left + shape.in_width,
        ])
        .reshape([rows, shape.in_features()])
}

/// See [`super::conv2d_weight`].
pub(crate) fn conv2d_weight(x: Tensor<2>, g: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    // Channels take the place of rows: each input channel is convolved with each output channel's gradient, whose pixels
    // lie a stride apart, at places that lie a dilation apart.
    let group = shape.of_group();
    let (x, g) = (images(x, &shape), outputs(g, &shape));
    let weights = (0..shape.groups)
        .map(|place| {
            let of_group = |channels: usize| place * channels..(place + 1) * channels;
            let x = x.clone().slice_dim(1, of_group(group.in_channels));
            let g = g.clone().slice_dim(1, of_group(group.out_channels));
            let options = ConvOptions::new(shape.dilation, [0; 2], shape.stride, 1);
            module::conv2d(x.swap_dims(0, 1), g.swap_dims(0, 1), None, options)
                .slice([
                    0..group.in_channels,
                    0..group.out_channels,
                    0..shape.kernel[0],
                    0..shape.kernel[1],
                ])
                .swap_dims(0, 1)
                .reshape([group.out_channels, group.fan_in()])
        })
        .collect();
    Tensor::cat(weights, 0)
}

/// Images with their padding.
fn images(x: Tensor<2>, shape: &ConvShape) -> Tensor<4> {
    let [rows, _] = x.dims();
    let images = x.reshape([rows, shape.in_channels, shape.in_height, shape.in_width]);
    padded(images, shape.padding, 0.0)
}

fn padded(images: Tensor<4>, padding: [[usize; 2]; 2], value: f32) -> Tensor<4> {
    if padding == [[0; 2]; 2] {
        return images;
    }
    let [rows, columns] = padding;
    let pairs = [(rows[0], rows[1]), (columns[0], columns[1])];
    images.pad(pairs, PadMode::Constant(value))
}

fn outputs(g: Tensor<2>, shape: &ConvShape) -> Tensor<4> {
    let [rows, _] = g.dims();
    g.reshape([
        rows,
        shape.out_channels,
        shape.out_height(),
        shape.out_width(),
    ])
}

fn kernels(w: Tensor<2>, shape: &ConvShape) -> Tensor<4> {
    w.reshape([
        shape.out_channels,
        shape.in_channels / shape.groups,
        shape.kernel[0],
        shape.kernel[1],
    ])
}

/// See [`super::max_pool_indices`].
pub(crate) fn max_pool_indices(x: &Tensor<2>, shape: PoolShape) -> Tensor<2, Int> {
    let [rows, _] = x.dims();
    let images = x
        .clone()
        .reshape([rows, shape.channels, shape.height, shape.width]);
    let images = padded(images, shape.padding, f32::NEG_INFINITY);
    let options = MaxPoolOptions::new(shape.window).with_stride(shape.stride);
    let (_, within) = module::max_pool2d_with_indices(images, options);
    // From places in a padded channel to places in a row.
    let whole = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
    let [[top, _], [left, _]] = shape.padding;
    let across = whole(shape.padded()[1]);
    let y = within.clone().div_scalar(across).sub_scalar(whole(top));
    let x = within.remainder_scalar(across).sub_scalar(whole(left));
    let first = Tensor::<1, Int>::arange(0..whole(shape.channels), &y.device())
        .mul_scalar(whole(shape.height * shape.width));
    let within = y.mul_scalar(whole(shape.width)) + x;
    (within + first.reshape([1, shape.channels, 1, 1])).reshape([rows, shape.out_features()])
}

/// See [`super::pool_gather`].
pub(crate) fn pool_gather(x: Tensor<2>, indices: Tensor<2, Int>) -> Tensor<2> {
    x.gather(1, indices)
}

/// See [`super::pool_scatter`].
pub(crate) fn pool_scatter(g: Tensor<2>, indices: Tensor<2, Int>, shape: PoolShape) -> Tensor<2> {
    let [rows, _] = g.dims();
    let zeros = Tensor::zeros([rows, shape.in_features()], (&g.device(), g.dtype()));
    zeros.scatter(1, indices, g, crate::tensor::IndexingUpdateOp::Add)
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
