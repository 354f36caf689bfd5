//! Tensors and first-order automatic differentiation.
//!
//! A [`Tensor`] is numbers with a shape (`array`) and its place on the tape (`tape`), if something is recorded of it. Its
//! methods, one family a file, call primitive operations (`primitive`), which know devices and record nothing, and record how
//! gradients go back through them. [`Tensor::require_grad`] asks for gradients in a tensor; what is computed from it is
//! recorded; [`Tensor::backward`] finds the gradients.
//!
//! Tensors are handles: clones share their numbers, and an operation writes over a tensor that it is given and nobody else
//! holds. No operation changes what another handle reads.

pub mod activation;

mod arithmetic;
mod array;
mod comparison;
mod data;
mod device;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
mod gradient;
mod indexing;
mod kind;
mod layout;
mod numbers;
mod primitive;
mod product;
mod reduction;
mod shape;
mod tape;

#[cfg(test)]
mod tests;

pub use data::{TensorData, WrongType};
pub use device::{Device, TensorOptions};
pub use kind::{Bool, DType, Float, Int, Kind};
pub use numbers::Element;
pub use shape::Shape;
pub use tape::Gradients;

pub(crate) use array::Array;
pub(crate) use numbers::Numbers;
pub(crate) use primitive::{Binary, Unary, binary, scalar, unary};
pub(crate) use shape::MOST_AXES;
pub(crate) use tape::{Parents, Track};

use std::marker::PhantomData;

/// Numbers in `D` axes. Axes count from zero, the slowest first.
#[derive(Clone, Debug)]
pub struct Tensor<const D: usize, K: Kind = Float> {
    array: Array,
    track: Track,
    kind: PhantomData<K>,
}

impl<const D: usize, K: Kind> Tensor<D, K> {
    /// A tensor of data; of the kind's usual type if no type is asked for.
    ///
    /// # Panics
    /// If the data has another number of axes, or the type is not of this kind.
    #[must_use]
    pub fn from_data(data: impl Into<TensorData>, options: impl Into<TensorOptions>) -> Self {
        let options = options.into();
        let dtype = Self::dtype_of(options);
        let array = primitive::upload(data.into().convert_dtype(dtype), options.device);
        Self::constant(array)
    }

    /// Zeros.
    #[must_use]
    pub fn zeros(size: [usize; D], options: impl Into<TensorOptions>) -> Self {
        Self::full(size, 0.0, options)
    }

    /// Ones.
    #[must_use]
    pub fn ones(size: [usize; D], options: impl Into<TensorOptions>) -> Self {
        Self::full(size, 1.0, options)
    }

    /// One value everywhere.
    #[must_use]
    pub fn full(size: [usize; D], value: f64, options: impl Into<TensorOptions>) -> Self {
        let options = options.into();
        let dtype = Self::dtype_of(options);
        Self::constant(primitive::full(size.into(), value, dtype, options.device))
    }

    /// Zeros of this tensor's shape, type and device.
    #[must_use]
    pub fn zeros_like(&self) -> Self {
        Self::zeros(self.dims(), (&self.device(), self.dtype()))
    }

    /// Ones of this tensor's shape, type and device.
    #[must_use]
    pub fn ones_like(&self) -> Self {
        Self::ones(self.dims(), (&self.device(), self.dtype()))
    }

    /// The sizes of the axes.
    #[must_use]
    pub fn dims(&self) -> [usize; D] {
        self.array.shape.dims()
    }

    #[must_use]
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    #[must_use]
    pub fn device(&self) -> Device {
        self.array.device()
    }

    /// The same numbers as a constant on another device.
    #[must_use]
    pub fn to_device(self, device: &Device) -> Self {
        if self.device() == *device {
            return Self::constant(self.array);
        }
        let data = primitive::download(self.array);
        Self::constant(primitive::upload(data, *device))
    }

    /// The numbers, which this tensor and the data share until one of them is written to.
    #[must_use]
    pub fn to_data(&self) -> TensorData {
        primitive::download(self.array.clone())
    }

    /// The same, given away.
    #[must_use]
    pub fn into_data(self) -> TensorData {
        primitive::download(self.array)
    }

    fn dtype_of(options: TensorOptions) -> DType {
        let dtype = options.dtype.unwrap_or(K::DEFAULT);
        assert!(
            K::admits(dtype),
            "no tensor of this kind has type {dtype:?}"
        );
        dtype
    }

    /// A tensor that nothing is recorded of.
    ///
    /// # Panics
    /// If the array has another number of axes.
    pub(crate) fn constant(array: Array) -> Self {
        assert_eq!(
            array.shape.rank(),
            D,
            "axes of a tensor of shape {:?}",
            array.shape
        );
        Self {
            array,
            track: None,
            kind: PhantomData,
        }
    }

    pub(crate) fn array(&self) -> &Array {
        &self.array
    }
}

impl<const D: usize> Tensor<D> {
    /// The same numbers in another floating type. Gradients come back in this tensor's own.
    #[must_use]
    pub fn cast(self, dtype: DType) -> Self {
        let own = self.dtype();
        if own == dtype {
            return self;
        }
        self.linear(
            |x| primitive::cast(x, dtype),
            move |gradient| primitive::cast(gradient, own),
        )
    }
}
