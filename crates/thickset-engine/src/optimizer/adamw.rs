//! Adam with decoupled weight decay (Loshchilov and Hutter 2019), as `PyTorch` computes it: each weight is first multiplied
//! by `1 - rate decay`, then moved as Adam moves it.

use crate::tensor::Gradients;

use super::{Adam, Optimizer, State};
use crate::Result;
use crate::network::Network;

/// `AdamW`'s settings and moments.
#[derive(Clone, Debug)]
pub struct AdamW(Adam);

impl AdamW {
    /// Adam of this rate, with this decay.
    #[must_use]
    pub fn new(rate: f64, decay: f64) -> Self {
        let mut adam = Adam::new(rate);
        adam.decay = decay;
        Self(adam)
    }
}

impl Optimizer for AdamW {
    fn step(&mut self, network: &mut Network, gradients: Gradients) {
        self.0.step(network, gradients);
    }

    fn set_rate(&mut self, rate: f64) {
        self.0.set_rate(rate);
    }

    fn state(&self) -> State {
        self.0.state()
    }

    fn restore(&mut self, state: State) -> Result<()> {
        self.0.restore(state)
    }
}
