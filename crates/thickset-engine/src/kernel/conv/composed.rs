//! Convolutions composed of tensor operations: what the kernels, here and on the GPU, are tested against.

use super::ConvShape;
use crate::kernel::composed::{indices, whole, with_beyond};
use crate::tensor::{Device, Int, Tensor};

/// See [`super::conv2d`].
pub(super) fn conv2d(x: Tensor<2>, w: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    let [rows, _] = x.dims();
    kernels(w, &shape)
        .matmul(patches(x, &shape))
        .reshape([rows, shape.out_features()])
}

/// See [`super::conv2d_input`].
pub(super) fn conv2d_input(g: Tensor<2>, w: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    let ([rows, _], inputs) = (g.dims(), shape.in_features());
    let patches = kernels(w, &shape).transpose().matmul(outputs(g, &shape));
    let taps = taps(&shape, patches.device());
    let flat = patches.reshape([rows, taps.dims()[0]]);
    let zeros = Tensor::zeros([rows, inputs + 1], (&flat.device(), flat.dtype()));
    zeros.select_add(1, taps, flat).narrow(1, 0, inputs)
}

/// See [`super::conv2d_weight`].
pub(super) fn conv2d_weight(x: Tensor<2>, g: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    outputs(g, &shape)
        .matmul(patches(x, &shape).transpose())
        .sum_dim(0)
        .reshape([shape.out_channels, shape.fan_in()])
}

/// For each row and group, what each number of a kernel meets at each place of the output: `[rows, groups, fan in, pixels]`.
fn patches(x: Tensor<2>, shape: &ConvShape) -> Tensor<4> {
    let [rows, _] = x.dims();
    let pixels = shape.out_height() * shape.out_width();
    let taps = taps(shape, x.device());
    with_beyond(x, 0.0)
        .select(1, taps)
        .reshape([rows, shape.groups, shape.fan_in(), pixels])
}

/// Where in a row each number of a patch lies, by group, input channel, place in the kernel and place in the output; beyond the
/// image, one after the last.
fn taps(shape: &ConvShape, device: Device) -> Tensor<1, Int> {
    let [[top, _], [left, _]] = shape.padding;
    let within = |at: usize, before: usize, size: usize| {
        at.checked_sub(before).filter(|&place| place < size)
    };
    let mut taps = Vec::new();
    for channel in 0..shape.in_channels {
        for tap in 0..shape.kernel[0] * shape.kernel[1] {
            let tap = [tap / shape.kernel[1], tap % shape.kernel[1]];
            for pixel in 0..shape.out_height() * shape.out_width() {
                let pixel = [pixel / shape.out_width(), pixel % shape.out_width()];
                let [y, x] = [0, 1].map(|axis| {
                    pixel[axis] * shape.stride[axis] + tap[axis] * shape.dilation[axis]
                });
                let y = within(y, top, shape.in_height);
                let place = y
                    .zip(within(x, left, shape.in_width))
                    .map(|(y, x)| (channel * shape.in_height + y) * shape.in_width + x);
                taps.push(whole(place.unwrap_or_else(|| shape.in_features())));
            }
        }
    }
    indices(taps, device)
}

fn outputs(g: Tensor<2>, shape: &ConvShape) -> Tensor<4> {
    let [rows, _] = g.dims();
    let pixels = shape.out_height() * shape.out_width();
    g.reshape([
        rows,
        shape.groups,
        shape.out_channels / shape.groups,
        pixels,
    ])
}

fn kernels(w: Tensor<2>, shape: &ConvShape) -> Tensor<4> {
    w.reshape([
        1,
        shape.groups,
        shape.out_channels / shape.groups,
        shape.fan_in(),
    ])
}
