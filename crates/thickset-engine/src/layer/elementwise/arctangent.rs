//! The angle of a slope, which some networks bend their scores with.

use crate::tensor::Tensor;

use super::Elementwise;
use crate::layer::Form;

/// `atan(x)`, with derivative `1 / (1 + x^2)`.
#[derive(Clone, Copy, Debug)]
pub struct Arctangent;

impl Elementwise for Arctangent {
    const KIND: &'static str = "arctangent";

    fn form(&self) -> Option<Form> {
        Some(Form::Arctangent)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.atan()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        (x.clone() * x + 1.0).recip()
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        let slope = self.slope(x.clone());
        Some(slope.clone() * slope * x * -2.0)
    }
}
