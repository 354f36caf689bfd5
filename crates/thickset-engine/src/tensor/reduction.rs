//! Sums, means and maxima.

use super::primitive::{Binary, expand, full, max_axis, scalar, scatter_add, sum, sum_axis};
use super::{Int, Tensor};

/// A size as a divisor.
#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn count(size: usize) -> f64 {
    size as f64
}

impl<const D: usize> Tensor<D> {
    /// The sum of all numbers.
    #[must_use]
    pub fn sum(self) -> Tensor<1> {
        let shape = self.array.shape;
        self.linear(
            |x| sum(&x),
            move |gradient| expand(&gradient.reshaped([1; D]), shape),
        )
    }

    /// The mean of all numbers.
    #[must_use]
    pub fn mean(self) -> Tensor<1> {
        let numbers = count(self.array.shape.num_elements());
        self.sum() / numbers
    }

    /// The sums over an axis, which then has size 1.
    #[must_use]
    pub fn sum_dim(self, axis: usize) -> Self {
        let shape = self.array.shape;
        self.linear(
            |x| sum_axis(&x, axis),
            move |gradient| expand(&gradient, shape),
        )
    }

    /// The means over an axis, which then has size 1.
    #[must_use]
    pub fn mean_dim(self, axis: usize) -> Self {
        let (shape, size) = (self.array.shape, count(self.dims()[axis]));
        self.linear(
            |x| scalar(Binary::Divide, sum_axis(&x, axis), size),
            move |gradient| expand(&scalar(Binary::Divide, gradient, size), shape),
        )
    }

    /// The maxima over an axis, which then has size 1. The first of equals has the gradient; what is no number is the maximum.
    #[must_use]
    pub fn max_dim(self, axis: usize) -> Self {
        let (x, track) = self.into_parts();
        let (shape, (most, places)) = (x.shape, max_axis(&x, axis));
        Self::recorded(most, vec![track], move |gradient, parents| {
            let zeros = full(shape, 0.0, gradient.dtype(), gradient.device());
            parents.give(0, scatter_add(zeros, axis, &places, &gradient));
        })
    }

    /// The places of the maxima over an axis, which then has size 1; as [`Self::max_dim`] finds them.
    #[must_use]
    pub fn argmax(self, axis: usize) -> Tensor<D, Int> {
        Tensor::constant(max_axis(&self.array, axis).1)
    }
}
