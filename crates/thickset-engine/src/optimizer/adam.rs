//! Adam with bias correction, as PyTorch computes it.
//!
//! `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`,
//! `w -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`.
//!
//! Weights are updated where they lie, in one pass over memory: composed of tensor operations the
//! same step would read and write each weight a dozen times.

use burn::tensor::Gradients;
use rayon::prelude::*;

use super::{Numbers, Optimizer, for_each_weight};
use crate::network::Network;

/// Numbers that one task updates.
const TASK: usize = 16 * 1024;

/// Adam's settings and its two running moments per weight.
#[derive(Clone, Debug)]
pub struct Adam {
    /// Step size.
    pub rate: f64,
    /// Decay of the two moments.
    pub betas: (f64, f64),
    /// Added to the root of the second moment.
    pub epsilon: f64,
    steps: i32,
    moments: Vec<Moments>,
}

#[derive(Clone, Debug)]
enum Moments {
    F32(Vec<f32>, Vec<f32>),
    F64(Vec<f64>, Vec<f64>),
}

impl Adam {
    /// The usual decays (0.9, 0.999) and epsilon (1e-8).
    #[must_use]
    pub fn new(rate: f64) -> Self {
        Self {
            rate,
            betas: (0.9, 0.999),
            epsilon: 1e-8,
            steps: 0,
            moments: Vec::new(),
        }
    }
}

impl Optimizer for Adam {
    fn step(&mut self, network: &mut Network, gradients: Gradients) {
        self.steps += 1;
        let factors = [
            self.betas.0,
            self.betas.1,
            self.rate / (1.0 - self.betas.0.powi(self.steps)),
            (1.0 - self.betas.1.powi(self.steps)).sqrt(),
            self.epsilon,
        ];
        let moments = &mut self.moments;
        for_each_weight(network, gradients, |place, numbers| match numbers {
            Numbers::F32(weights, gradient) => {
                let moments = moments_f32(moments, place, weights.len());
                update_f32(weights, gradient, moments, factors);
            }
            Numbers::F64(weights, gradient) => {
                let moments = moments_f64(moments, place, weights.len());
                update_f64(weights, gradient, moments, factors);
            }
        });
    }
}

/// The two moments of one weight, and its step.
macro_rules! adam_of {
    ($moments:ident, $update:ident, $variant:ident, $number:ty) => {
        /// The moments of the weight at `place`, zero before its first step.
        fn $moments(
            moments: &mut Vec<Moments>,
            place: usize,
            length: usize,
        ) -> (&mut [$number], &mut [$number]) {
            while moments.len() <= place {
                moments.push(Moments::$variant(Vec::new(), Vec::new()));
            }
            if !matches!(&moments[place], Moments::$variant(first, _) if first.len() == length) {
                moments[place] = Moments::$variant(vec![0.0; length], vec![0.0; length]);
            }
            match &mut moments[place] {
                Moments::$variant(first, second) => (first, second),
                _ => unreachable!("just made of this type"),
            }
        }

        fn $update(
            weights: &mut [$number],
            gradient: &[$number],
            (first, second): (&mut [$number], &mut [$number]),
            factors: [f64; 5],
        ) {
            #[allow(clippy::cast_possible_truncation, reason = "settings in the weights' type")]
            let [b1, b2, rate, root, epsilon] = factors.map(|factor| factor as $number);
            let task = |weights: &mut [$number],
                        gradient: &[$number],
                        first: &mut [$number],
                        second: &mut [$number]| {
                for (((w, &g), m), v) in weights.iter_mut().zip(gradient).zip(first).zip(second) {
                    *m = b1 * *m + (1.0 - b1) * g;
                    *v = b2 * *v + (1.0 - b2) * g * g;
                    *w -= rate * *m / (v.sqrt() / root + epsilon);
                }
            };
            if weights.len() <= TASK {
                return task(weights, gradient, first, second);
            }
            weights
                .par_chunks_mut(TASK)
                .zip(gradient.par_chunks(TASK))
                .zip(first.par_chunks_mut(TASK))
                .zip(second.par_chunks_mut(TASK))
                .for_each(|(((weights, gradient), first), second)| {
                    task(weights, gradient, first, second);
                });
        }
    };
}

adam_of!(moments_f32, update_f32, F32, f32);
adam_of!(moments_f64, update_f64, F64, f64);
