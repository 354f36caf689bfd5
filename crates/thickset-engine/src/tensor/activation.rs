//! Functions that networks end with or are made of.

use super::Tensor;
use super::primitive::Unary;

/// `1 / (1 + exp(-x))`.
#[must_use]
pub fn sigmoid<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    x.unary(Unary::Sigmoid)
}

/// `exp(x) / sum of exp(x)` along an axis.
#[must_use]
pub fn softmax<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    let e = shifted(x, axis).exp();
    e.clone() * e.sum_dim(axis).recip()
}

/// The logarithm of [`softmax`].
#[must_use]
pub fn log_softmax<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    let x = shifted(x, axis);
    x.clone() - x.exp().sum_dim(axis).log()
}

/// `x` less its maximum, so that no exponential overflows. What is subtracted drops out of the functions above and needs no
/// gradient.
fn shifted<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    let most = x.clone().without_autodiff().max_dim(axis);
    x - most
}
