//! A line clipped to 0..1 in place of the logistic function, with derivative 0 at its ends.

use crate::tensor::Tensor;

use super::smooth_kinks::SmoothKinks;
use super::{Clip, Elementwise, finite};
use crate::layer::{Form, Layer};
use crate::{Error, Result};

/// `min(max(alpha x + beta, 0), 1)`.
#[derive(Clone, Copy, Debug)]
pub struct HardSigmoid {
    alpha: f64,
    beta: f64,
}

impl HardSigmoid {
    /// With this slope, and this value at 0.
    ///
    /// # Errors
    /// If `alpha` is not finite and positive or `beta` is not finite.
    pub fn new(alpha: f64, beta: f64) -> Result<Self> {
        let beta = finite("beta", beta)?;
        if alpha.is_finite() && alpha > 0.0 {
            Ok(Self { alpha, beta })
        } else {
            Err(Error::Positive {
                name: "alpha",
                got: alpha,
            })
        }
    }

    pub(super) const fn of(alpha: f64, beta: f64) -> Self {
        Self { alpha, beta }
    }

    fn line(self, x: Tensor<2>) -> Tensor<2> {
        x * self.alpha + self.beta
    }
}

impl Elementwise for HardSigmoid {
    const KIND: &'static str = "hard-sigmoid";

    fn form(&self) -> Option<Form> {
        Some(Form::HardSigmoid {
            alpha: self.alpha,
            beta: self.beta,
        })
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        Clip::unit().value(self.line(x))
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        Clip::unit().slope(self.line(x)) * self.alpha
    }

    fn curvature(&self, _: Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn smooth(&self, beta: f64) -> Option<Box<dyn Layer>> {
        let kinks = vec![
            (self.alpha, -self.beta / self.alpha),
            (-self.alpha, (1.0 - self.beta) / self.alpha),
        ];
        Some(Box::new(SmoothKinks::new(beta, 0.0, 0.0, kinks)))
    }
}
