//! Sums and maxima.

use burn_backend::IntDType;
use burn_backend::ops::FloatTensorOps;
use burn_wgpu::Wgpu;

use super::{Array, DType, array, filled, floats, is_empty, tensor};

/// The sum of all numbers, of shape `[1]`.
pub(crate) fn sum(from: &Array) -> Array {
    if is_empty(from.shape) {
        return filled([1].into(), 0.0, DType::F32);
    }
    floats(Wgpu::float_sum(tensor(from)), [1].into())
}

/// The sums over one axis, which then has size 1.
pub(crate) fn sum_axis(from: &Array, axis: usize) -> Array {
    let shape = from.shape.with_size(axis, 1);
    if is_empty(from.shape) {
        return filled(shape, 0.0, DType::F32);
    }
    floats(Wgpu::float_sum_dim(tensor(from), axis), shape)
}

/// The maxima over one axis, which then has size 1, and their places on it.
pub(crate) fn max_axis(from: &Array, axis: usize) -> (Array, Array) {
    let shape = from.shape.with_size(axis, 1);
    let (most, places) = Wgpu::float_max_dim_with_indices(tensor(from), axis, IntDType::I32);
    (floats(most, shape), array(places, shape, DType::I32))
}
