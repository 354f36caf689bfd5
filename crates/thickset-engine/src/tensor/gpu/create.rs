//! Arrays of one value, from data, to data, and of another type.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_backend::{FloatDType, IntDType, Scalar, TensorData as BurnData, read_sync};
use burn_wgpu::Wgpu;

use super::{Array, DType, Shape, adapter, array, number, shape_of, tensor, truth};
use crate::tensor::data::TensorData;
use crate::tensor::device::Device;
use crate::tensor::numbers::Numbers;

/// What a type that the GPU does not have is answered with; networks of such a type are refused before.
fn no_double() -> ! {
    panic!("the GPU computes in single precision")
}

/// An array of one value.
pub(crate) fn full(shape: Shape, value: f64, dtype: DType, _: Device) -> Array {
    let (size, adapter) = (shape_of(shape), adapter());
    let filled = match dtype {
        DType::F32 => Wgpu::float_full(size, number(value), &adapter, FloatDType::F32),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest whole number is asked for"
        )]
        DType::I32 => Wgpu::int_full(size, Scalar::Int(value as i64), &adapter, IntDType::I32),
        DType::Bool if value == 0.0 => Wgpu::bool_zeros(size, &adapter, truth()),
        DType::Bool => Wgpu::bool_ones(size, &adapter, truth()),
        DType::F64 => no_double(),
    };
    array(filled, shape, dtype)
}

/// Data as an array, in the data's type.
pub(crate) fn upload(data: TensorData, _: Device) -> Array {
    let (shape, adapter) = (*data.shape(), adapter());
    let size = shape_of(shape);
    let (uploaded, dtype) = match &data.numbers {
        Numbers::F32(values) => {
            let data = BurnData::new(values.to_vec(), size);
            (Wgpu::float_from_data(data, &adapter), DType::F32)
        }
        Numbers::I32(values) => {
            let data = BurnData::new(values.to_vec(), size);
            (Wgpu::int_from_data(data, &adapter), DType::I32)
        }
        Numbers::Bool(values) => {
            let data = BurnData::new(values.to_vec(), size).convert_dtype(truth().into());
            (Wgpu::bool_from_data(data, &adapter), DType::Bool)
        }
        Numbers::F64(_) => no_double(),
    };
    array(uploaded, shape, dtype)
}

/// An array's numbers as data; waits for them.
///
/// # Panics
/// If the adapter failed on the way, such as for want of memory.
pub(crate) fn download(from: Array) -> TensorData {
    let (values, dtype) = (tensor(&from), from.dtype());
    let read = match dtype {
        DType::I32 => read_sync(Wgpu::int_into_data(values)),
        DType::Bool => read_sync(Wgpu::bool_into_data(values)),
        DType::F32 | DType::F64 => read_sync(Wgpu::float_into_data(values)),
    };
    let read = read.unwrap_or_else(|error| panic!("the GPU failed: {error}"));
    match dtype {
        DType::I32 => TensorData::new(list::<i32>(&read), from.shape),
        DType::Bool => TensorData::new(read.iter::<bool>().collect(), from.shape),
        DType::F32 | DType::F64 => TensorData::new(list::<f32>(&read), from.shape),
    }
}

fn list<E: burn_backend::Element>(data: &BurnData) -> Vec<E> {
    let list = data.try_to_vec();
    list.unwrap_or_else(|error| panic!("the GPU gave numbers of another type: {error}"))
}

/// The same numbers in another type.
pub(crate) fn cast(from: Array, dtype: DType) -> Array {
    let values = tensor(&from);
    let cast = match (from.dtype(), dtype) {
        (_, DType::F64) => no_double(),
        (from, to) if from == to => values,
        (DType::F32 | DType::F64, DType::I32) => Wgpu::float_into_int(values, IntDType::I32),
        (DType::F32 | DType::F64, DType::Bool) => {
            Wgpu::float_not_equal_elem(values, number(0.0), truth())
        }
        (DType::I32, DType::Bool) => Wgpu::int_not_equal_elem(values, Scalar::Int(0), truth()),
        (DType::I32, _) => Wgpu::int_into_float(values, FloatDType::F32),
        (DType::Bool, DType::I32) => Wgpu::bool_into_int(values, IntDType::I32),
        (_, _) => Wgpu::bool_into_float(values, FloatDType::F32),
    };
    array(cast, from.shape, dtype)
}
