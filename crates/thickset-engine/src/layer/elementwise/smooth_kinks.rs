//! The smooth stand-in for functions that are linear but for kinks: `slope x + offset + sum of weight softplus(x - place)`.

use crate::tensor::Tensor;

use super::{Elementwise, complement};
use crate::kernel::{softplus, softplus_slope};

/// A line and kinks rounded off.
#[derive(Clone, Debug)]
pub(super) struct SmoothKinks {
    beta: f64,
    slope: f64,
    offset: f64,
    /// How much the slope changes, and where.
    kinks: Vec<(f64, f64)>,
}

impl SmoothKinks {
    /// Of this sharpness, with pairs of a change of slope and its place.
    pub(super) fn new(beta: f64, slope: f64, offset: f64, kinks: Vec<(f64, f64)>) -> Self {
        Self {
            beta,
            slope,
            offset,
            kinks,
        }
    }

    /// `start + sum of weight part(x - place)`
    fn sum(
        &self,
        start: Tensor<2>,
        x: &Tensor<2>,
        part: impl Fn(Tensor<2>) -> Tensor<2>,
    ) -> Tensor<2> {
        self.kinks.iter().fold(start, |sum, (weight, place)| {
            sum + part(x.clone() - *place) * *weight
        })
    }
}

impl Elementwise for SmoothKinks {
    const KIND: &'static str = "smooth-kinks";

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        let line = x.clone() * self.slope + self.offset;
        self.sum(line, &x, |x| softplus(x, self.beta))
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        let line = x.zeros_like() + self.slope;
        self.sum(line, &x, |x| softplus_slope(x, self.beta))
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        Some(self.sum(x.zeros_like(), &x, |x| {
            let slope = softplus_slope(x, self.beta);
            slope.clone() * complement(slope) * self.beta
        }))
    }
}
