//! Arrays of nothing, from data, to data, and of another type.

use crate::tensor::array::Array;
use crate::tensor::data::TensorData;
use crate::tensor::device::Device;
use crate::tensor::kind::DType;
use crate::tensor::numbers::Numbers;
use crate::tensor::shape::Shape;

/// An array of one value.
pub(crate) fn full(shape: Shape, value: f64, dtype: DType, device: Device) -> Array {
    debug_assert_eq!(device, Device::Cpu);
    Array::of(Numbers::filled(shape.num_elements(), value, dtype), shape)
}

/// Data as an array, in the data's type.
pub(crate) fn upload(data: TensorData, device: Device) -> Array {
    let shape = *data.shape();
    debug_assert_eq!(device, Device::Cpu);
    Array::of(data.numbers, shape)
}

/// An array's numbers as data.
pub(crate) fn download(array: Array) -> TensorData {
    let shape = array.shape;
    TensorData::of(array.into_numbers(), shape)
}

/// The same numbers in another type.
pub(crate) fn cast(array: Array, dtype: DType) -> Array {
    let shape = array.shape;
    Array::of(array.into_numbers().cast(dtype), shape)
}
