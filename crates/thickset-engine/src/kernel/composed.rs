//! The kernels' operations composed of Burn's own: for devices without kernels, and what the kernels are tested against.

use burn::tensor::module;
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, MaxPoolOptions};
use burn::tensor::{Int, Tensor, activation::log_softmax};

use super::{ConvShape, PoolShape};
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

/// See [`super::gate`].
pub(crate) fn gate(value: Tensor<2>, decider: Tensor<2>) -> Tensor<2> {
    // Not `lower_equal`: what is no number does not open the gate either.
    value.mask_fill(decider.greater_elem(0.0).bool_not(), 0.0)
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
    let options = ConvOptions::new([shape.stride; 2], [shape.padding; 2], [1; 2], 1);
    module::conv2d(images(x, &shape), kernels(w, &shape), None, options)
        .reshape([rows, shape.out_features()])
}

/// See [`super::conv2d_input`].
pub(crate) fn conv2d_input(g: Tensor<2>, w: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    let [rows, _] = g.dims();
    // Rows and columns of the image that no window reaches have no gradient.
    let beyond = |size: usize| (size + 2 * shape.padding - shape.kernel) % shape.stride;
    let options = ConvTransposeOptions::new(
        [shape.stride; 2],
        [shape.padding; 2],
        [beyond(shape.in_height), beyond(shape.in_width)],
        [1; 2],
        1,
    );
    module::conv_transpose2d(outputs(g, &shape), kernels(w, &shape), None, options)
        .reshape([rows, shape.in_features()])
}

/// See [`super::conv2d_weight`].
pub(crate) fn conv2d_weight(x: Tensor<2>, g: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    // Channels take the place of rows: each input channel is convolved with each output channel's gradient, whose pixels
    // lie a stride apart.
    let options = ConvOptions::new([1; 2], [shape.padding; 2], [shape.stride; 2], 1);
    let x = images(x, &shape).swap_dims(0, 1);
    let g = outputs(g, &shape).swap_dims(0, 1);
    let taps = 0..shape.kernel;
    module::conv2d(x, g, None, options)
        .slice([
            0..shape.in_channels,
            0..shape.out_channels,
            taps.clone(),
            taps,
        ])
        .swap_dims(0, 1)
        .reshape([shape.out_channels, shape.fan_in()])
}

fn images(x: Tensor<2>, shape: &ConvShape) -> Tensor<4> {
    let [rows, _] = x.dims();
    x.reshape([rows, shape.in_channels, shape.in_height, shape.in_width])
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
        shape.in_channels,
        shape.kernel,
        shape.kernel,
    ])
}

/// See [`super::max_pool_indices`].
pub(crate) fn max_pool_indices(x: &Tensor<2>, shape: PoolShape) -> Tensor<2, Int> {
    let [rows, _] = x.dims();
    let images = x
        .clone()
        .reshape([rows, shape.channels, shape.height, shape.width]);
    let options = MaxPoolOptions::new([shape.window; 2]).with_stride([shape.stride; 2]);
    let (_, within) = module::max_pool2d_with_indices(images, options);
    let plane = i64::try_from(shape.height * shape.width).unwrap_or(i64::MAX);
    let channels = i64::try_from(shape.channels).unwrap_or(i64::MAX);
    let first = Tensor::<1, Int>::arange(0..channels, &within.device()).mul_scalar(plane);
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
    zeros.scatter(1, indices, g, burn::tensor::IndexingUpdateOp::Add)
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
