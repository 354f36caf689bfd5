//! The probability of two classes as libsvm, and so scikit-learn and onnxruntime, give it for a support-vector machine.
//!
//! The calibrated score says `r = P(first)`. The probabilities are then looked for by an iteration (Wu, Lin and Weng 2004, algorithm
//! 2) that begins at one half and stops when `max_t |(Qp)_t - p'Qp| < 0.005 / 2`, where `Q = [[s^2, -rs], [-rs, r^2]]` and
//! `s = 1 - r`. Its limit is `(r, s)` itself, so without the early stop this layer would be the identity on logits; with it, up
//! to two rounds are made and the probability is off by up to 0.005.
//!
//! As a function of the score the stopped iteration jumps where the number of rounds changes and is flat where no round is made,
//! within 0.02 of the border between the classes. Its own slope would thus be zero exactly where decisions are closest, and no explanation.
//! So the value is the stopped one, which agrees with the other programs, and **the derivative is that of the limit, 1**.

use burn::tensor::{Tensor, TensorData};

use super::Elementwise;
use crate::layer::Form;

/// As libsvm has them: the stop of the iteration for two classes, the most rounds, and the least probability of a pair.
const STOP: f64 = 0.005 / 2.0;
const MOST_ROUNDS: usize = 100;
const LEAST: f64 = 1e-7;

/// The logit of the second class, from that of the calibrated score to that of the stopped iteration.
#[derive(Clone, Copy, Debug)]
pub struct PairwiseCoupling;

/// The probabilities of both classes after the iteration, for the first one's probability of the pair.
fn coupled(first: f64) -> [f64; 2] {
    let r = first.clamp(LEAST, 1.0 - LEAST);
    let s = 1.0 - r;
    let q = [[s * s, -r * s], [-r * s, r * r]];
    let mut p = [0.5; 2];
    for _ in 0..MOST_ROUNDS {
        let mut q_p = [0, 1].map(|t: usize| q[t][0] * p[0] + q[t][1] * p[1]);
        let mut product = p[0] * q_p[0] + p[1] * q_p[1];
        if q_p.iter().all(|value| (value - product).abs() < STOP) {
            break;
        }
        for t in 0..2 {
            let step = (product - q_p[t]) / q[t][t];
            let sum = 1.0 + step;
            p[t] += step;
            product = (product + step * (step * q[t][t] + 2.0 * q_p[t])) / (sum * sum);
            for j in 0..2 {
                q_p[j] = (q_p[j] + step * q[t][j]) / sum;
                p[j] /= sum;
            }
        }
    }
    p
}

/// The logit that the iteration stops at.
fn stopped(logit: f64) -> f64 {
    let [first, second] = coupled(1.0 / (1.0 + logit.exp()));
    (second / first).ln()
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
#[expect(clippy::float_cmp, reason = "no round leaves one half exactly")]
mod tests {
    use super::*;

    #[test]
    fn it_stops_where_libsvm_stops() {
        // With d = r - s, the first errors are |d| / 4: no round is made below 0.01.
        assert_eq!(coupled(0.504_9), [0.5, 0.5]);
        assert_ne!(coupled(0.505_1), [0.5, 0.5]);
        // One round at r = 2/5, by hand: Qp = (3, -2) / 50 and p'Qp = 1/100, so p_0 moves by -5/36 and p becomes (13, 18) / 31;
        // there Qp = (0.36, -0.24) / 31 and p'Qp = 0.36 / 961, so p_1 moves by 48.75 / 961 and p becomes (1612, 2427) / 4039.
        let [first, second] = coupled(0.4);
        assert!((first - 1612.0 / 4039.0).abs() < 1e-12, "{first}");
        assert!((second - 2427.0 / 4039.0).abs() < 1e-12, "{second}");
    }

    #[test]
    fn it_is_near_the_identity_and_its_limit_is() {
        for place in 0..=100 {
            let logit = (f64::from(place) - 50.0) / 10.0;
            let r = 1.0 / (1.0 + logit.exp());
            let [first, second] = coupled(r);
            assert!((first - r).abs() <= 0.005, "{logit}: {first} and {r}");
            assert!((first + second - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn logits_beyond_all_bounds_stay_finite() {
        for logit in [-1e4, -90.0, 90.0, 1e4] {
            assert!(stopped(logit).is_finite(), "{logit}");
        }
    }
}
