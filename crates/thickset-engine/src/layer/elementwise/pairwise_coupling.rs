//! The probability of two classes as libsvm, and so scikit-learn and onnxruntime, give it for a support-vector machine.
//!
//! The calibrated score says `P(first)`, and the iteration of [`coupling`](crate::layer) is stopped early. For two classes its limit is
//! that probability itself, so without the stop this layer would be the identity on logits; with it, up to two rounds are made and
//! the probability is off by up to 0.005. The value is the stopped one, **the derivative is that of the limit, 1**.

use crate::tensor::{Tensor, TensorData};

use super::Elementwise;
use crate::layer::Form;
use crate::layer::coupling::coupled;

/// The logit of the second class, from that of the calibrated score to that of the stopped iteration.
#[derive(Clone, Copy, Debug)]
pub struct PairwiseCoupling;

/// The logit that the iteration stops at.
fn stopped(logit: f64) -> f64 {
    let p = coupled(&[1.0 / (1.0 + logit.exp())], 2);
    (p[1] / p[0]).ln()
}

impl Elementwise for PairwiseCoupling {
    const KIND: &'static str = "pairwise-coupling";

    fn form(&self) -> Option<Form> {
        Some(Form::PairwiseCoupling)
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        let (size, plain) = (x.dims(), x.clone().without_autodiff());
        let (device, dtype) = (plain.device(), plain.dtype());
        let logits = plain.into_data();
        let moved: Vec<f64> = logits
            .iter::<f64>()
            .map(|logit| stopped(logit) - logit)
            .collect();
        // Added as a constant, so that what is recorded has the limit's derivative too.
        x + Tensor::from_data(TensorData::new(moved, size), (&device, dtype))
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        x.without_autodiff().ones_like()
    }

    fn curvature(&self, _: Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    fn is_curved(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_near_the_identity_and_its_limit_is() {
        for place in 0..=100 {
            let logit = (f64::from(place) - 50.0) / 10.0;
            let second = |logit: f64| 1.0 / (1.0 + (-logit).exp());
            let (found, limit) = (second(stopped(logit)), second(logit));
            assert!(
                (found - limit).abs() <= 0.005,
                "{logit}: {found} and {limit}"
            );
        }
    }

    #[test]
    fn logits_beyond_all_bounds_stay_finite() {
        for logit in [-1e4, -90.0, 90.0, 1e4] {
            assert!(stopped(logit).is_finite(), "{logit}");
        }
    }
}
