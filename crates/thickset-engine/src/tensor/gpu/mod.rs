//! Arrays on the GPU, by Burn's wgpu device.
//!
//! Numbers are of single precision: few adapters compute in double. Whole numbers are `i32`, and truth values 0 or 1 of as many bits as
//! the device likes. What is computed here is asked for in order and done when somebody [downloads](download) a result.

mod arithmetic;
mod convolution;
mod create;
mod index;
mod layout;
mod reduce;
mod slope;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use burn_backend::ops::FloatTensorOps;
use burn_backend::{BackendTypes, BoolDType, DeviceOps, Scalar};
use burn_wgpu::graphics::AutoGraphicsApi;
use burn_wgpu::{RuntimeOptions, Wgpu, WgpuDevice, try_init_setup};

use super::array::{Array, Storage};
use super::device::Device;
use super::kind::DType;
use super::shape::Shape;

pub(crate) use arithmetic::{
    binary, compare, compare_scalar, mask_fill, mask_where, matrix_product, not, power, scalar,
    unary,
};
pub(crate) use convolution::{conv2d, conv2d_input, conv2d_weight};
pub(crate) use create::{cast, download, full, upload};
pub(crate) use index::{gather, scatter_add, select, select_add};
pub(crate) use layout::{concatenate, embed, expand, slice, swap_axes};
pub(crate) use reduce::{max_axis, sum, sum_axis};
pub(crate) use slope::unary_gradient;

/// Burn's tensor of whatever type.
type Tensor = <Wgpu as BackendTypes>::FloatTensorPrimitive;
type Adapter = <Wgpu as BackendTypes>::Device;

/// Numbers on the GPU.
#[derive(Clone, Debug)]
pub(crate) struct GpuNumbers {
    tensor: Tensor,
    dtype: DType,
}

impl GpuNumbers {
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }
}

/// Finds an adapter and makes it ready, once for the whole process.
///
/// # Errors
/// What the search came to, where there is no adapter that can be used.
pub(crate) fn open() -> Result<(), String> {
    static OPENED: OnceLock<Result<(), String>> = OnceLock::new();
    OPENED
        .get_or_init(|| {
            let options = RuntimeOptions::try_default().map_err(|error| error.to_string())?;
            try_init_setup::<AutoGraphicsApi>(&WgpuDevice::default(), options)
                .map(|_| ())
                .map_err(|error| error.to_string())
        })
        .clone()
}

/// The adapter that [`open`] has made ready.
fn adapter() -> Adapter {
    WgpuDevice::default().into()
}

/// How the adapter stores truth values.
fn truth() -> BoolDType {
    adapter().defaults().bool_dtype
}

/// The numbers of an array on the GPU, in its shape.
///
/// # Panics
/// If the array lies elsewhere.
fn tensor(array: &Array) -> Tensor {
    let Storage::Gpu(numbers) = &array.storage else {
        panic!("an array on the CPU meets one on the GPU")
    };
    Wgpu::float_reshape(numbers.tensor.clone(), shape_of(array.shape))
}

fn array(tensor: Tensor, shape: Shape, dtype: DType) -> Array {
    Array {
        shape,
        storage: Storage::Gpu(Box::new(GpuNumbers { tensor, dtype })),
    }
}

fn floats(tensor: Tensor, shape: Shape) -> Array {
    array(tensor, shape, DType::F32)
}

fn shape_of(shape: Shape) -> burn_backend::Shape {
    burn_backend::Shape::from(shape.as_slice().to_vec())
}

fn number(value: f64) -> Scalar {
    Scalar::Float(value)
}

/// An array of one value.
fn filled(shape: Shape, value: f64, dtype: DType) -> Array {
    full(shape, value, dtype, Device::Gpu)
}

/// Whether there is nothing to compute: kernels are not started for no numbers.
fn is_empty(shape: Shape) -> bool {
    shape.num_elements() == 0
}
