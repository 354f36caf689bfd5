//! The absolute value, with derivative 0 at 0.

use crate::tensor::Tensor;

use super::Elementwise;
use super::smooth_kinks::SmoothKinks;
use crate::layer::{Form, Layer};

/// `|x|`.
#[derive(Clone, Copy, Debug)]
pub struct Absolute;

impl Elementwise for Absolute {
    const KIND: &'static str = "absolute";

    fn form(&self) -> Option<Form> {
        Some(Form::Absolute)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.abs()
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        x.without_autodiff().sign()
    }

    fn curvature(&self, _: Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn smooth(&self, beta: f64) -> Option<Box<dyn Layer>> {
        Some(Box::new(SmoothKinks::new(
            beta,
            -1.0,
            0.0,
            vec![(2.0, 0.0)],
        )))
    }
}
