//! Calls of primitive operations where their operands lie.

use std::ops::Range;

use super::{Binary, Comparison, Unary};
use crate::kernel::Side;
use crate::tensor::array::Array;
use crate::tensor::data::TensorData;
use crate::tensor::device::Device;
use crate::tensor::gpu;
use crate::tensor::kind::DType;
use crate::tensor::shape::Shape;

/// Each operation calls its namesake for the device that stands after `at`.
macro_rules! by_device {
    ($(at $at:expr, $file:ident::$name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        pub(crate) fn $name($($argument: $type),*) -> $result {
            match $at {
                Device::Cpu => super::$file::$name($($argument),*),
                Device::Gpu => gpu::$name($($argument),*),
            }
        }
    )*};
}

by_device! {
    at device, create::full(shape: Shape, value: f64, dtype: DType, device: Device) -> Array;
    at device, create::upload(data: TensorData, device: Device) -> Array;
    at array.device(), create::download(array: Array) -> TensorData;
    at array.device(), create::cast(array: Array, dtype: DType) -> Array;
    at x.device(), unary::unary(function: Unary, x: Array) -> Array;
    at gradient.device(), unary::unary_gradient(function: Unary, kept: Option<Array>, gradient: Array) -> Array;
    at left.device(), binary::binary(function: Binary, left: Array, right: Array) -> Array;
    at x.device(), binary::scalar(function: Binary, x: Array, by: f64) -> Array;
    at x.device(), binary::power(x: Array, exponent: f64) -> Array;
    at left.device(), compare::compare(relation: Comparison, left: &Array, right: &Array) -> Array;
    at x.device(), compare::compare_scalar(relation: Comparison, x: &Array, than: f64) -> Array;
    at x.device(), compare::not(x: &Array) -> Array;
    at x.device(), compare::mask_fill(x: Array, mask: &Array, value: f64) -> Array;
    at x.device(), compare::mask_where(x: Array, mask: &Array, other: &Array) -> Array;
    at x.device(), reduce::sum(x: &Array) -> Array;
    at x.device(), reduce::sum_axis(x: &Array, axis: usize) -> Array;
    at x.device(), reduce::max_axis(x: &Array, axis: usize) -> (Array, Array);
    at x.device(), layout::expand(x: &Array, shape: Shape) -> Array;
    at x.device(), layout::swap_axes(x: &Array, first: usize, second: usize) -> Array;
    at x.device(), layout::slice(x: &Array, ranges: &[Range<usize>]) -> Array;
    at x.device(), layout::embed(x: &Array, shape: Shape, ranges: &[Range<usize>]) -> Array;
    at device_of(parts), layout::concatenate(parts: &[Array], axis: usize) -> Array;
    at x.device(), index::gather(x: &Array, axis: usize, places: &Array) -> Array;
    at x.device(), index::scatter_add(x: Array, axis: usize, places: &Array, values: &Array) -> Array;
    at x.device(), index::select(x: &Array, axis: usize, places: &Array) -> Array;
    at x.device(), index::select_add(x: Array, axis: usize, places: &Array, values: &Array) -> Array;
    at left.0.device(), product::matrix_product(left: (&Array, Side), right: (&Array, Side)) -> Array;
}

fn device_of(parts: &[Array]) -> Device {
    parts.first().map_or(Device::Cpu, Array::device)
}
