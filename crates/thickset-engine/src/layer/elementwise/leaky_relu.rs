//! Leaky ReLU: a small slope below zero, and that slope at zero.

use crate::tensor::Tensor;

use super::smooth_kinks::SmoothKinks;
use super::{Elementwise, complement, finite, is_positive, positive_part};
use crate::Result;
use crate::layer::{Form, Layer};

/// `x` where it is positive, else `alpha x`.
#[derive(Clone, Copy, Debug)]
pub struct LeakyRelu {
    alpha: f64,
}

impl LeakyRelu {
    /// With this slope below zero.
    ///
    /// # Errors
    /// If `alpha` is not finite.
    pub fn new(alpha: f64) -> Result<Self> {
        Ok(Self {
            alpha: finite("alpha", alpha)?,
        })
    }
}

impl Elementwise for LeakyRelu {
    const KIND: &'static str = "leaky-relu";

    fn form(&self) -> Option<Form> {
        Some(Form::LeakyRelu { alpha: self.alpha })
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        let positive = positive_part(x.clone());
        positive.clone() + (x - positive) * self.alpha
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        let positive = is_positive(&x);
        positive.clone() + complement(positive) * self.alpha
    }

    fn curvature(&self, _: Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn smooth(&self, beta: f64) -> Option<Box<dyn Layer>> {
        let kinks = vec![(1.0 - self.alpha, 0.0)];
        Some(Box::new(SmoothKinks::new(beta, self.alpha, 0.0, kinks)))
    }
}
