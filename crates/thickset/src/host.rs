//! Reading the numbers of a tensor.

use thickset_engine::{DType, Tensor};

/// The values row by row, in double precision whatever the tensor's type.
///
/// # Panics
/// If the tensor holds neither f32 nor f64; no network computes in another type.
#[must_use]
pub fn read<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    let data = tensor.without_autodiff().into_data();
    if data.dtype() == DType::F64 {
        return data.try_into_vec().expect("a tensor of f64 holds f64");
    }
    let single: Vec<f32> = data.try_into_vec().expect("networks compute in f32 or f64");
    single.into_iter().map(f64::from).collect()
}
