//! The deployed model: its layers as certificates see them, and the model itself to run counterexamples on.

use thickset_engine::layer::Part;
use thickset_engine::{Chain, DType, Network};

use super::bounds::{Activation, SmoothNetwork};
use super::case::{Deployed, largest};
use super::explained::{Explained, Ranked};
use super::network::{DenseLayer, DenseNetwork};
use super::rounding::Arithmetic;
use crate::host::read;
use crate::{Error, Result};

/// What certificates are of.
const EXPECTED: &str = "chains of dense layers with ReLU between them and a linear last layer";

impl SmoothNetwork {
    /// The layers of a network.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] if it is anything but dense layers with activations between them.
    pub(super) fn of(network: &Network) -> Result<Self> {
        let parts = network
            .chain_parts()
            .ok_or_else(|| refused("a network with other layers"))?;
        let arithmetic = match network.dtype() {
            DType::F32 => Arithmetic::SINGLE,
            DType::F64 => Arithmetic::DOUBLE,
            _ => return Err(refused("a network that computes neither in f32 nor in f64")),
        };
        let (mut layers, mut activations) = (Vec::<DenseLayer>::new(), Vec::new());
        for part in parts {
            let activation = match part {
                Part::Linear { weight, bias } => {
                    if layers.len() > activations.len() {
                        return Err(refused("two linear layers without a ReLU between them"));
                    }
                    let [_, inputs] = weight.dims();
                    layers.push(DenseLayer {
                        weight: read(weight.clone()),
                        bias: read(bias.clone()),
                        inputs,
                    });
                    continue;
                }
                Part::Relu => Activation::Relu,
                Part::Softplus { beta } => Activation::Softplus { beta },
            };
            if layers.len() == activations.len() {
                return Err(refused("an activation that follows no linear layer"));
            }
            activations.push(activation);
        }
        match layers.pop() {
            Some(head) if layers.len() == activations.len() => Ok(Self {
                dense: DenseNetwork {
                    hidden: layers,
                    head,
                    arithmetic,
                },
                activations,
            }),
            _ => Err(refused("a network that ends in an activation")),
        }
    }
}

impl DenseNetwork {
    /// The layers of a network.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] if it is anything but dense layers with `ReLU` between them.
    pub fn of(network: &Network) -> Result<Self> {
        let SmoothNetwork { dense, activations } = SmoothNetwork::of(network)?;
        if activations.iter().any(|one| *one != Activation::Relu) {
            return Err(refused("a network with softplus"));
        }
        Ok(dense)
    }
}

fn refused(got: &str) -> Error {
    Error::CertifyInput {
        expected: EXPECTED,
        got: got.to_owned(),
    }
}

/// A network that is run as attacks and audits run it.
pub(super) struct DeployedChain<'a> {
    pub chain: &'a Chain,
    pub arithmetic: Arithmetic,
    pub ranked: Ranked,
    pub explained: &'a Explained,
}

impl Deployed for DeployedChain<'_> {
    fn nearest_input(&self, value: f64) -> f64 {
        self.arithmetic.nearest(value)
    }

    fn run(&self, x: &[f64], class: usize) -> (usize, Vec<f64>) {
        let mut tile = self.chain.tile();
        tile.run(x, self.ranked.output(), &[class]);
        let mut importance = self.explained.importance(tile.gradient(), x);
        if self.explained.times_input {
            // The model rounds these products, and near a tie that decides the order.
            for value in &mut importance {
                *value = self.arithmetic.nearest(*value);
            }
        }
        (largest(tile.logits()), importance)
    }
}
