//! Gradient descent with momentum, as `PyTorch` computes it: `v = mu v + g`, `w -= rate v`.

use crate::tensor::{DType, Gradients};

use super::{Memory, Numbers, Optimizer, State, finished, for_each_weight, slice_mut};
use crate::Result;
use crate::network::Network;

/// The settings and one velocity per weight.
#[derive(Clone, Debug)]
pub struct Sgd {
    /// Step size.
    pub rate: f64,
    /// Share of the velocity that is kept.
    pub momentum: f64,
    steps: u32,
    velocity: Memory,
}

impl Sgd {
    /// Descent with this rate and momentum; 0 is plain descent.
    #[must_use]
    pub fn new(rate: f64, momentum: f64) -> Self {
        Self {
            rate,
            momentum,
            steps: 0,
            velocity: Memory::default(),
        }
    }
}

impl Optimizer for Sgd {
    fn step(&mut self, network: &mut Network, gradients: Gradients) {
        self.steps = self.steps.saturating_add(1);
        let (rate, momentum) = (self.rate, self.momentum);
        let velocity = &mut self.velocity;
        for_each_weight(network, gradients, |place, numbers| match numbers {
            Numbers::F32(weights, gradient) => {
                let velocity = slice_mut::<f32>(velocity.of(place, weights.len(), DType::F32));
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "settings in the weights' type"
                )]
                let (rate, momentum) = (rate as f32, momentum as f32);
                for ((w, &g), v) in weights.iter_mut().zip(gradient).zip(velocity) {
                    *v = momentum * *v + g;
                    *w -= rate * *v;
                }
            }
            Numbers::F64(weights, gradient) => {
                let velocity = slice_mut::<f64>(velocity.of(place, weights.len(), DType::F64));
                for ((w, &g), v) in weights.iter_mut().zip(gradient).zip(velocity) {
                    *v = momentum * *v + g;
                    *w -= rate * *v;
                }
            }
        });
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    fn state(&self) -> State {
        let mut tensors = Vec::new();
        self.velocity.store("velocity", &mut tensors);
        State {
            steps: self.steps,
            tensors,
        }
    }

    fn restore(&mut self, mut state: State) -> Result<()> {
        self.velocity = Memory::restore("velocity", &mut state.tensors);
        self.steps = state.steps;
        finished(&state.tensors)
    }
}
