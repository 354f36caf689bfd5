//! From Burn's `flex` tensors to slices and back.

use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Element, TensorData};

use super::real::Real;

/// A type of number that tensors hold.
pub(crate) trait Stored: Real {
    /// The numbers of a contiguous tensor of this type.
    fn numbers(tensor: &FlexTensor) -> &[Self];

    /// A tensor of `values`, row by row.
    fn tensor(values: Vec<Self>, size: [usize; 2]) -> FlexTensor;

    /// A tensor of one number, of rank one.
    fn number(value: Self) -> FlexTensor;
}

macro_rules! stored {
    ($number:ty) => {
        impl Stored for $number {
            fn numbers(tensor: &FlexTensor) -> &[Self] {
                tensor.storage()
            }

            fn tensor(values: Vec<Self>, size: [usize; 2]) -> FlexTensor {
                tensor(values, size)
            }

            fn number(value: Self) -> FlexTensor {
                FlexTensor::from_data(TensorData::new(vec![value], [1]))
            }
        }
    };
}

stored!(f32);
stored!(f64);

/// A contiguous tensor's numbers, by type.
pub(crate) enum Numbers<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

/// The numbers of a tensor that [`FlexTensor::to_contiguous`] has made contiguous.
///
/// # Panics
/// If the type is neither `f32` nor `f64`, in which the engine alone computes.
pub(crate) fn numbers(tensor: &FlexTensor) -> Numbers<'_> {
    match tensor.dtype() {
        DType::F32 => Numbers::F32(tensor.storage()),
        DType::F64 => Numbers::F64(tensor.storage()),
        other => panic!("kernels compute in f32 or f64, got {other:?}"),
    }
}

/// Rows and columns of a tensor of rank two.
pub(crate) fn size(tensor: &FlexTensor) -> [usize; 2] {
    tensor.layout().shape().dims()
}

/// A tensor of `values`, row by row.
pub(crate) fn tensor<T: Element>(values: Vec<T>, size: [usize; 2]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, size))
}

/// Runs one call for whichever type two tensors share, and makes its result a tensor.
macro_rules! by_type {
    (|$a:ident, $b:ident| $result:expr, $size:expr) => {{
        let ($a, $b) = ($a.to_contiguous(), $b.to_contiguous());
        match (
            $crate::kernel::storage::numbers(&$a),
            $crate::kernel::storage::numbers(&$b),
        ) {
            (
                $crate::kernel::storage::Numbers::F32($a),
                $crate::kernel::storage::Numbers::F32($b),
            ) => $crate::kernel::storage::tensor($result, $size),
            (
                $crate::kernel::storage::Numbers::F64($a),
                $crate::kernel::storage::Numbers::F64($b),
            ) => $crate::kernel::storage::tensor($result, $size),
            _ => panic!(
                "a kernel's tensors must have one type, got {:?} and {:?}",
                $a.dtype(),
                $b.dtype()
            ),
        }
    }};
    (|$a:ident| $result:expr, $size:expr) => {{
        let $a = $a.to_contiguous();
        match $crate::kernel::storage::numbers(&$a) {
            $crate::kernel::storage::Numbers::F32($a) => {
                $crate::kernel::storage::tensor($result, $size)
            }
            $crate::kernel::storage::Numbers::F64($a) => {
                $crate::kernel::storage::tensor($result, $size)
            }
        }
    }};
}
pub(crate) use by_type;
