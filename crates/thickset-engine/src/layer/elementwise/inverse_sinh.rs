//! The inverse of the hyperbolic sine, a logarithm for numbers of both signs.

use crate::tensor::Tensor;

use super::Elementwise;
use crate::layer::Form;

/// `asinh(x)`, with derivative `1 / sqrt(1 + x^2)`.
#[derive(Clone, Copy, Debug)]
pub struct InverseSinh;

impl Elementwise for InverseSinh {
    const KIND: &'static str = "inverse_sinh";

    fn form(&self) -> Option<Form> {
        Some(Form::InverseSinh)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.asinh()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        (x.clone() * x + 1.0).sqrt().recip()
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        let slope = self.slope(x.clone());
        Some(slope.clone() * slope.clone() * slope * x * -1.0)
    }
}
