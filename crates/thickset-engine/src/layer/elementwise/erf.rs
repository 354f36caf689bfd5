//! The error function, from which some frameworks write `GELU`.

use crate::tensor::Tensor;

use super::Elementwise;
use crate::layer::Form;

/// `2 / sqrt(pi)`
const SLOPE: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// `erf(x)`, with derivative `2 / sqrt(pi) exp(-x^2)`.
#[derive(Clone, Copy, Debug)]
pub struct Erf;

impl Elementwise for Erf {
    const KIND: &'static str = "erf";

    fn form(&self) -> Option<Form> {
        Some(Form::Erf)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.erf()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        (x.clone() * -x).exp() * SLOPE
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some(self.slope(x.clone()) * x * -2.0)
    }
}
