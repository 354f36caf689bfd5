//! The sine, which periodic features of columns are made of; a cosine is a sine a quarter of a turn on.

use crate::tensor::Tensor;

use super::Elementwise;
use crate::layer::Form;

/// `sin(x)`, with derivative `cos(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Sine;

impl Elementwise for Sine {
    const KIND: &'static str = "sine";

    fn form(&self) -> Option<Form> {
        Some(Form::Sine)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.sin()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        x.cos()
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some(-x.sin())
    }
}
