//! Numbers out of tensors, for what is a constant of the gradient: rankings, signs and predicted classes.

use thickset_engine::{Network, Output, Tensor, one_hot};

use crate::check::as_f64;
use crate::metric::ranking::largest;
use crate::{Error, Result};

/// A tensor's values, row by row.
#[must_use]
pub fn values<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    let data = tensor.clone().without_autodiff().into_data();
    // The usual type by its slice, several times as fast as an iterator over any type.
    match data.as_slice::<f32>() {
        Ok(values) => values.iter().copied().map(f64::from).collect(),
        Err(_) => data.iter::<f64>().collect(),
    }
}

/// The value of a tensor of one number.
#[must_use]
pub fn value(tensor: &Tensor<1>) -> f64 {
    values(tensor).first().copied().unwrap_or(0.0)
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
    values(logits).chunks(classes).map(largest).collect()
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

/// The gradient of the predicted class's probability, which is the explanation that training looks at.
///
/// # Errors
/// If a logit or a gradient is not finite.
pub fn explanation(network: &Network, x: Tensor<2>) -> Result<Vec<f64>> {
    let pass = network.pass(x);
    let classes = predicted_one_hot(network, &pass.logits())?;
    let gradient = values(&pass.input_gradient(Output::Probability, classes).value());
    check_gradient(&gradient)?;
    Ok(gradient)
}

/// Refuses an input gradient that is not finite: the model has diverged.
///
/// # Errors
/// [`Error::NotFinite`].
pub fn check_gradient(gradient: &[f64]) -> Result<()> {
    match gradient.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite {
            what: "the input gradient",
            index,
            value: gradient[index],
        }),
    }
}

/// The sum of all numbers, divided by `rows`. A product with the reciprocal: Burn's backward of a division by a scalar
/// rounds it to `f32`.
#[must_use]
pub fn mean_over_rows(tensor: Tensor<2>) -> Tensor<1> {
    let rows = tensor.dims()[0];
    tensor.sum() * (1.0 / as_f64(rows.max(1)))
}
