//! Exponential linear unit.

use crate::tensor::Tensor;

use super::{Elementwise, complement, finite, is_positive, positive_part};
use crate::Result;
use crate::layer::Form;

/// `x` where it is positive, else `alpha (exp(x) - 1)`.
#[derive(Clone, Copy, Debug)]
pub struct Elu {
    alpha: f64,
}

impl Elu {
    /// Tends to `-alpha` far below zero.
    ///
    /// # Errors
    /// If `alpha` is not finite.
    pub fn new(alpha: f64) -> Result<Self> {
        Ok(Self::of(finite("alpha", alpha)?))
    }

    pub(super) const fn of(alpha: f64) -> Self {
        Self { alpha }
    }

    /// `alpha exp(x)` where `x` is not positive, else 0.
    fn tail(self, x: Tensor<2>) -> Tensor<2> {
        let below = complement(is_positive(&x));
        let negative = x.clone() - positive_part(x);
        negative.exp() * below * self.alpha
    }
}

impl Elementwise for Elu {
    const KIND: &'static str = "elu";

    fn form(&self) -> Option<Form> {
        Some(Form::Elu { alpha: self.alpha })
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        let below = complement(is_positive(&x)) * self.alpha;
        positive_part(x.clone()) + (self.tail(x) - below)
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        is_positive(&x) + self.tail(x)
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some(self.tail(x))
    }
}
