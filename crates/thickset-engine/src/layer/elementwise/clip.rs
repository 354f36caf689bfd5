//! Clipping to a range, with derivative 0 at its ends: `ReLU6` is `clip(x, 0, 6)`.

use crate::tensor::Tensor;

use super::Elementwise;
use super::smooth_kinks::SmoothKinks;
use crate::layer::{Form, Layer};
use crate::{Error, Result};

/// `min(max(x, least), most)`; either end may be infinite.
#[derive(Clone, Copy, Debug)]
pub struct Clip {
    least: f64,
    most: f64,
}

impl Clip {
    /// Clips to `least..=most`.
    ///
    /// # Errors
    /// If `least` is not below `most`.
    pub fn new(least: f64, most: f64) -> Result<Self> {
        if least < most {
            Ok(Self { least, most })
        } else {
            Err(Error::Range { least, most })
        }
    }

    /// `min(max(x, 0), 1)`.
    pub(super) const fn unit() -> Self {
        Self {
            least: 0.0,
            most: 1.0,
        }
    }

    /// `min(max(x, 0), 6)`.
    #[must_use]
    pub fn relu6() -> Self {
        Self {
            least: 0.0,
            most: 6.0,
        }
    }
}

impl Elementwise for Clip {
    const KIND: &'static str = "clip";

    fn form(&self) -> Option<Form> {
        Some(Form::Clip {
            least: self.least.is_finite().then_some(self.least),
            most: self.most.is_finite().then_some(self.most),
        })
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        let (below, above) = (
            x.clone().lower_equal_elem(self.least),
            x.clone().greater_equal_elem(self.most),
        );
        x.mask_fill(below, self.least).mask_fill(above, self.most)
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        let x = x.without_autodiff();
        let (below, above) = (
            x.clone().lower_equal_elem(self.least),
            x.clone().greater_equal_elem(self.most),
        );
        x.ones_like().mask_fill(below, 0.0).mask_fill(above, 0.0)
    }

    fn curvature(&self, _: Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn smooth(&self, beta: f64) -> Option<Box<dyn Layer>> {
        let (slope, offset, mut kinks) = if self.least.is_finite() {
            (0.0, self.least, vec![(1.0, self.least)])
        } else {
            (1.0, 0.0, Vec::new())
        };
        if self.most.is_finite() {
            kinks.push((-1.0, self.most));
        }
        Some(Box::new(SmoothKinks::new(beta, slope, offset, kinks)))
    }
}
