//! Mish: `x` times the hyperbolic tangent of its softplus.

use crate::tensor::Tensor;

use super::{Elementwise, complement};
use crate::kernel::{softplus, softplus_slope};
use crate::layer::Form;

/// `x tanh(log(1 + exp(x)))`.
#[derive(Clone, Copy, Debug)]
pub struct Mish;

impl Mish {
    /// `t = tanh(softplus(x))`, its first derivative, and the factor of its second: `t'' = t' factor`.
    fn parts(x: Tensor<2>) -> [Tensor<2>; 3] {
        let t = softplus(x.clone(), 1.0).tanh();
        let s = softplus_slope(x, 1.0);
        let slope = complement(t.clone() * t.clone()) * s.clone();
        let factor = complement(s.clone()) - t.clone() * s * 2.0;
        [t, slope, factor]
    }
}

impl Elementwise for Mish {
    const KIND: &'static str = "mish";

    fn form(&self) -> Option<Form> {
        Some(Form::Mish)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        let [t, _, _] = Self::parts(x.clone());
        x * t
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        let [t, slope, _] = Self::parts(x.clone());
        t + x * slope
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        let [_, slope, factor] = Self::parts(x.clone());
        Some(slope * (x * factor + 2.0))
    }
}
