//! Adam with bias correction, as `PyTorch` computes it.
//!
//! `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`,
//! `w -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`.
//!
//! Weights are updated where they lie, in one pass over memory: composed of tensor operations the
//! same step would read and write each weight a dozen times.

use crate::tensor::{DType, Gradients};
use rayon::prelude::*;

use super::{Memory, Numbers, Optimizer, State, finished, for_each_weight, slice_mut};
use crate::Result;
use crate::kernel::{VectorLoop, vectorised};
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
    /// What `AdamW` takes off each weight, relative to the rate.
    pub(super) decay: f64,
    steps: u32,
    first: Memory,
    second: Memory,
}

impl Adam {
    /// The usual decays (0.9, 0.999) and epsilon (1e-8).
    #[must_use]
    pub fn new(rate: f64) -> Self {
        Self {
            rate,
            betas: (0.9, 0.999),
            epsilon: 1e-8,
            decay: 0.0,
            steps: 0,
            first: Memory::default(),
            second: Memory::default(),
        }
    }
}

impl Optimizer for Adam {
    fn step(&mut self, network: &mut Network, gradients: Gradients) {
        self.steps = self.steps.saturating_add(1);
        let exponent = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let factors = [
            self.betas.0,
            self.betas.1,
            self.rate / (1.0 - self.betas.0.powi(exponent)),
            (1.0 - self.betas.1.powi(exponent)).sqrt(),
            self.epsilon,
            1.0 - self.rate * self.decay,
        ];
        let (first, second) = (&mut self.first, &mut self.second);
        for_each_weight(network, gradients, |place, numbers| match numbers {
            Numbers::F32(weights, gradient) => {
                let first = slice_mut(first.of(place, weights.len(), DType::F32));
                let second = slice_mut(second.of(place, weights.len(), DType::F32));
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "settings in the weights' type"
                )]
                let factors = factors.map(|factor| factor as f32);
                update_f32(weights, gradient, (first, second), factors);
            }
            Numbers::F64(weights, gradient) => {
                let first = slice_mut(first.of(place, weights.len(), DType::F64));
                let second = slice_mut(second.of(place, weights.len(), DType::F64));
                update_f64(weights, gradient, (first, second), factors);
            }
        });
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    fn state(&self) -> State {
        let mut tensors = Vec::new();
        self.first.store("first", &mut tensors);
        self.second.store("second", &mut tensors);
        State {
            steps: self.steps,
            tensors,
        }
    }

    fn restore(&mut self, mut state: State) -> Result<()> {
        self.first = Memory::restore("first", &mut state.tensors);
        self.second = Memory::restore("second", &mut state.tensors);
        self.steps = state.steps;
        finished(&state.tensors)
    }
}

/// One weight's step.
macro_rules! adam_of {
    ($update:ident, $number:ty) => {
        fn $update(
            weights: &mut [$number],
            gradient: &[$number],
            (first, second): (&mut [$number], &mut [$number]),
            factors: [$number; 6],
        ) {
            struct Update<'a> {
                weights: &'a mut [$number],
                gradient: &'a [$number],
                first: &'a mut [$number],
                second: &'a mut [$number],
                factors: [$number; 6],
            }
            impl VectorLoop for Update<'_> {
                type Output = ();

                #[inline(always)]
                fn run(self) {
                    let [b1, b2, rate, root, epsilon, kept] = self.factors;
                    let weights = self.weights.iter_mut().zip(self.gradient);
                    for (((w, &g), m), v) in weights.zip(self.first).zip(self.second) {
                        *m = b1 * *m + (1.0 - b1) * g;
                        *v = b2 * *v + (1.0 - b2) * g * g;
                        *w = *w * kept - rate * *m / (v.sqrt() / root + epsilon);
                    }
                }
            }
            let task = |weights: &mut [$number],
                        gradient: &[$number],
                        first: &mut [$number],
                        second: &mut [$number]| {
                vectorised(Update {
                    weights,
                    gradient,
                    first,
                    second,
                    factors,
                });
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

adam_of!(update_f32, f32);
adam_of!(update_f64, f64);
