//! Gaussian error linear unit: `x` times the probability that a standard normal draw lies below it.
//!
//! Exact, `x P(x)` with `P(x) = (1 + erf(x / sqrt 2)) / 2` and density `p`: the derivatives are `P + x p` and `p (2 - x^2)`. Or
//! `x (1 + tanh u) / 2` with `u = sqrt(2 / pi) (x + 0.044715 x^3)`.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use crate::tensor::Tensor;

use super::{Elementwise, complement};
use crate::layer::Form;

/// The cubic term of the approximation.
const CUBIC: f64 = 0.044_715;
/// `sqrt(2 / pi)`
const FACTOR: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;

/// `x P(x)`, exact or by the hyperbolic tangent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gelu {
    /// By the error function.
    Exact,
    /// By the hyperbolic tangent, as many networks were trained.
    Tanh,
}

impl Gelu {
    /// The probability and the density of the standard normal distribution.
    fn normal(x: Tensor<2>) -> [Tensor<2>; 2] {
        let probability = ((x.clone() * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
        let density = (x.clone() * x * -0.5).exp() * (0.5 * FACTOR);
        [probability, density]
    }

    /// `tanh u`, and the first and second derivative of `u`.
    fn bent(x: Tensor<2>) -> [Tensor<2>; 3] {
        let square = x.clone() * x.clone();
        let u = (square.clone() * CUBIC + 1.0) * x.clone() * FACTOR;
        let first = (square * (3.0 * CUBIC) + 1.0) * FACTOR;
        [u.tanh(), first, x * (6.0 * CUBIC * FACTOR)]
    }
}

impl Elementwise for Gelu {
    const KIND: &'static str = "gelu";

    fn form(&self) -> Option<Form> {
        Some(Form::Gelu {
            tanh: matches!(self, Self::Tanh),
        })
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Exact => {
                let [probability, _] = Self::normal(x.clone());
                x * probability
            }
            Self::Tanh => {
                let [t, _, _] = Self::bent(x.clone());
                x * (t + 1.0) * 0.5
            }
        }
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Exact => {
                let [probability, density] = Self::normal(x.clone());
                probability + x * density
            }
            Self::Tanh => {
                let [t, first, _] = Self::bent(x.clone());
                let rest = complement(t.clone() * t.clone());
                (t + 1.0 + x * rest * first) * 0.5
            }
        }
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some(match self {
            Self::Exact => {
                let [_, density] = Self::normal(x.clone());
                density * (-(x.clone() * x) + 2.0)
            }
            Self::Tanh => {
                let [t, first, second] = Self::bent(x.clone());
                let rest = complement(t.clone() * t.clone());
                let change = second - t * first.clone() * first.clone() * 2.0;
                rest * (first + x * change * 0.5)
            }
        })
    }
}
