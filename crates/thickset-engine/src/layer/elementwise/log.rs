//! The natural logarithm.

use crate::tensor::Tensor;

use super::Elementwise;
use crate::layer::Form;

/// `log(x)`, of positive numbers.
#[derive(Clone, Copy, Debug)]
pub struct Log;

impl Elementwise for Log {
    const KIND: &'static str = "log";

    fn form(&self) -> Option<Form> {
        Some(Form::Log)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.log()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        x.recip()
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some(-(x.clone() * x).recip())
    }
}
