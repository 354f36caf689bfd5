//! Hard swish: `x` times a line clipped to 0..1.

use crate::tensor::Tensor;

use super::{Elementwise, HardSigmoid};
use crate::layer::Form;

/// The clipped line, `x / 6 + 1 / 2`.
const GATE: HardSigmoid = HardSigmoid::of(1.0 / 6.0, 0.5);

/// `x min(max(x / 6 + 1 / 2, 0), 1)`.
#[derive(Clone, Copy, Debug)]
pub struct HardSwish;

impl Elementwise for HardSwish {
    const KIND: &'static str = "hard-swish";

    fn form(&self) -> Option<Form> {
        Some(Form::HardSwish)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        x.clone() * GATE.value(x)
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        GATE.value(x.clone()) + x.clone() * GATE.slope(x)
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some(GATE.slope(x) * 2.0)
    }
}
