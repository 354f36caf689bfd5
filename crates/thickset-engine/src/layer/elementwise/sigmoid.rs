//! The logistic function.

use crate::tensor::{Tensor, activation::sigmoid};

use super::Elementwise;
use crate::layer::Form;

/// `1 / (1 + exp(-x))`.
#[derive(Clone, Copy, Debug)]
pub struct Sigmoid;

impl Elementwise for Sigmoid {
    const KIND: &'static str = "sigmoid";

    fn form(&self) -> Option<Form> {
        Some(Form::Sigmoid)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        sigmoid(x)
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        // `s(-x)` in place of `1 - s(x)`, which cancels where `x` is large.
        sigmoid(x.clone()) * sigmoid(-x)
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        let down = sigmoid(-x.clone());
        let up = sigmoid(x);
        Some(up.clone() * down.clone() * (down - up))
    }
}
