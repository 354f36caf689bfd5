//! Numbers out of tensors, for what is a constant of the gradient: single values and predicted classes.

use thickset_engine::{Network, Tensor, one_hot};

use crate::Result;
use crate::check::as_f64;
use crate::explain;
use crate::host::read;

/// The value of a tensor of one number.
#[must_use]
pub fn value(tensor: &Tensor<1>) -> f64 {
    read(tensor.clone()).first().copied().unwrap_or(0.0)
}

/// A constant with the values of the tensor.
#[must_use]
pub fn constant<const D: usize>(tensor: &Tensor<D>) -> Tensor<D> {
    tensor.clone().without_autodiff()
}

/// The predicted class of each row; the lower one of equals.
///
/// # Errors
/// If a logit is not finite.
pub fn predicted(logits: &Tensor<2>) -> Result<Vec<usize>> {
    let classes = logits.dims()[1];
    explain::predicted(&read(logits.clone()), classes)
}

/// The predicted classes of these logits, one-hot, as a constant.
///
/// # Errors
/// If a logit is not finite.
pub fn predicted_one_hot(network: &Network, logits: &Tensor<2>) -> Result<Tensor<2>> {
    let device = logits.device().without_autodiff();
    let classes = predicted(logits)?;
    Ok(one_hot(
        &classes,
        network.classes(),
        network.dtype(),
        &device,
    ))
}

/// The sum of all numbers, divided by `rows`.
#[must_use]
pub fn mean_over_rows(tensor: Tensor<2>) -> Tensor<1> {
    let rows = tensor.dims()[0];
    tensor.sum() * (1.0 / as_f64(rows.max(1)))
}
