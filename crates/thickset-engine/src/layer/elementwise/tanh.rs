//! The hyperbolic tangent.

use crate::tensor::Tensor;

use super::{Elementwise, complement};
use crate::layer::Form;

/// `tanh(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Tanh;

impl Elementwise for Tanh {
    const KIND: &'static str = "tanh";

    fn form(&self) -> Option<Form> {
        Some(Form::Tanh)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.tanh()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        let t = x.tanh();
        complement(t.clone() * t)
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        let t = x.clone().tanh();
        Some(t * self.slope(x) * -2.0)
    }
}
