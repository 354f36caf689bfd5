//! The exponential function.

use crate::tensor::Tensor;

use super::Elementwise;
use crate::layer::Form;

/// `exp(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Exp;

impl Elementwise for Exp {
    const KIND: &'static str = "exp";

    fn form(&self) -> Option<Form> {
        Some(Form::Exp)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.exp()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        x.exp()
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some(x.exp())
    }
}
