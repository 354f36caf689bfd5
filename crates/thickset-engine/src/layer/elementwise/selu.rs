//! Scaled exponential linear unit, with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017).

use crate::tensor::Tensor;

use super::{Elementwise, Elu};
use crate::layer::Form;

const SCALE: f64 = 1.050_700_987_355_480_5;
const ELU: Elu = Elu::of(1.673_263_242_354_377_2);

/// `1.0507 elu(x)` with `alpha = 1.6733`.
#[derive(Clone, Copy, Debug)]
pub struct Selu;

impl Elementwise for Selu {
    const KIND: &'static str = "selu";

    fn form(&self) -> Option<Form> {
        Some(Form::Selu)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        ELU.value(x) * SCALE
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        Elementwise::slope(&ELU, x) * SCALE
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        ELU.curvature(x).map(|curvature| curvature * SCALE)
    }
}
