//! Sigmoid linear unit, also called swish.

use crate::tensor::{Tensor, activation::sigmoid};

use super::{Elementwise, complement};
use crate::layer::Form;

/// `x sigmoid(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Silu;

impl Elementwise for Silu {
    const KIND: &'static str = "silu";

    fn form(&self) -> Option<Form> {
        Some(Form::Silu)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.clone() * sigmoid(x)
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        let s = sigmoid(x.clone());
        s.clone() + x * s.clone() * complement(s)
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        let s = sigmoid(x.clone());
        let rest = complement(s.clone());
        Some(s.clone() * rest.clone() * (x * (rest - s) + 2.0))
    }
}
