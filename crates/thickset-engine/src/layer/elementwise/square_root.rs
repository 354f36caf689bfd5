//! The square root.

use crate::tensor::Tensor;

use super::Elementwise;
use crate::layer::Form;

/// `sqrt(x)`, of positive numbers.
#[derive(Clone, Copy, Debug)]
pub struct SquareRoot;

impl Elementwise for SquareRoot {
    const KIND: &'static str = "square-root";

    fn form(&self) -> Option<Form> {
        Some(Form::SquareRoot)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.sqrt()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        x.sqrt().recip() * 0.5
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some((x.clone() * x.sqrt()).recip() * -0.25)
    }
}
