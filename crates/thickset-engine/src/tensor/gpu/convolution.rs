//! Convolutions: the image's, and its two adjoints. They are closed under differentiation as those of the CPU are.

use burn_backend::FloatDType;
use burn_backend::ops::{ConvOptions, FloatTensorOps, ModuleOps};
use burn_wgpu::Wgpu;

use super::layout::{embed, slice};
use super::{Array, DType, Shape, Tensor, adapter, filled, floats, is_empty, shape_of, tensor};
use crate::kernel::ConvShape;

/// Images `[rows, in_features]` with kernels `[out_channels, taps]`.
pub(crate) fn conv2d(x: &Array, w: &Array, shape: &ConvShape) -> Array {
    let size: Shape = [x.shape.size(0), shape.out_features()].into();
    if is_empty(size) {
        return filled(size, 0.0, DType::F32);
    }
    let images = tensor(&padded(x, shape));
    let kernels = tensor(&w.clone().reshaped(kernel_size(shape)));
    floats(Wgpu::conv2d(images, kernels, None, options(shape)), size)
}

/// The adjoint in the images: gradients `[rows, out_features]` to gradients `[rows, in_features]`.
pub(crate) fn conv2d_input(g: &Array, w: &Array, shape: &ConvShape) -> Array {
    let rows = g.shape.size(0);
    let size: Shape = [rows, shape.in_features()].into();
    if is_empty(size) {
        return filled(size, 0.0, DType::F32);
    }
    let kernels = tensor(&w.clone().reshaped(kernel_size(shape)));
    let like = like(padded_size(rows, shape));
    let found = Wgpu::conv2d_x_backward(like, kernels, outputs(g, shape), options(shape));
    let found = floats(found, padded_size(rows, shape));
    slice(&found, &inner(rows, shape)).reshaped(size)
}

/// The adjoint in the kernels: images and gradients of the outputs to gradients `[out_channels, taps]`.
pub(crate) fn conv2d_weight(x: &Array, g: &Array, shape: &ConvShape) -> Array {
    let kernels = kernel_size(shape);
    let size: Shape = [kernels.size(0), kernels.num_elements() / kernels.size(0)].into();
    if is_empty(x.shape) {
        return filled(size, 0.0, DType::F32);
    }
    let images = tensor(&padded(x, shape));
    let found =
        Wgpu::conv2d_weight_backward(images, like(kernels), outputs(g, shape), options(shape));
    floats(found, size)
}

/// The padding is that of the images themselves, since it may differ from side to side.
fn options(shape: &ConvShape) -> ConvOptions<2> {
    ConvOptions::new(shape.stride, [0; 2], shape.dilation, shape.groups)
}

/// A tensor that is asked for nothing but its size.
fn like(size: Shape) -> Tensor {
    Wgpu::float_empty(shape_of(size), &adapter(), FloatDType::F32)
}

fn kernel_size(shape: &ConvShape) -> Shape {
    let [height, width] = shape.kernel;
    let per_group = shape.in_channels / shape.groups;
    [shape.out_channels, per_group, height, width].into()
}

fn padded_size(rows: usize, shape: &ConvShape) -> Shape {
    let [height, width] = shape.padded();
    [rows, shape.in_channels, height, width].into()
}

/// Where the image lies in its padding.
fn inner(rows: usize, shape: &ConvShape) -> [std::ops::Range<usize>; 4] {
    let [[top, _], [left, _]] = shape.padding;
    [
        0..rows,
        0..shape.in_channels,
        top..top + shape.in_height,
        left..left + shape.in_width,
    ]
}

fn padded(x: &Array, shape: &ConvShape) -> Array {
    let rows = x.shape.size(0);
    let image = [rows, shape.in_channels, shape.in_height, shape.in_width];
    let image = x.clone().reshaped(image);
    if shape.padding == [[0; 2]; 2] {
        return image;
    }
    embed(&image, padded_size(rows, shape), &inner(rows, shape))
}

fn outputs(g: &Array, shape: &ConvShape) -> Tensor {
    let size = [
        g.shape.size(0),
        shape.out_channels,
        shape.out_height(),
        shape.out_width(),
    ];
    tensor(&g.clone().reshaped(size))
}
