//! The deployed model: its layers as certificates see them, and the model itself to run counterexamples on.

use thickset_engine::layer::Part;
use thickset_engine::{Chain, DType, Network, Output};

use super::case::{Deployed, largest};
use super::explained::{Explained, Ranked};
use super::network::{DenseLayer, DenseNetwork};
use super::rounding::Arithmetic;
use crate::host::read;
use crate::{Error, Result};

/// What certificates are of.
const EXPECTED: &str = "chains of dense layers with ReLU between them and a linear last layer";

impl DenseNetwork {
    /// The layers of a network.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] if it is anything but dense layers with `ReLU` between them.
    pub fn of(network: &Network) -> Result<Self> {
        let refused = |got: &str| Error::CertifyInput {
            expected: EXPECTED,
            got: got.to_owned(),
        };
        let parts = network
            .chain_parts()
            .ok_or_else(|| refused("a network with other layers"))?;
        let arithmetic = match network.dtype() {
            DType::F32 => Arithmetic::SINGLE,
            DType::F64 => Arithmetic::DOUBLE,
            _ => return Err(refused("a network that computes neither in f32 nor in f64")),
        };
        let mut layers: Vec<DenseLayer> = Vec::new();
        let mut is_behind_relu = true;
        for part in parts {
            match part {
                Part::Linear { weight, bias } => {
                    if !is_behind_relu {
                        return Err(refused("two linear layers without a ReLU between them"));
                    }
                    let [_, inputs] = weight.dims();
                    layers.push(DenseLayer {
                        weight: read(weight.clone()),
                        bias: read(bias.clone()),
                        inputs,
                    });
                    is_behind_relu = false;
                }
                Part::Relu if is_behind_relu => {
                    return Err(refused("a ReLU that follows no linear layer"));
                }
                Part::Relu => is_behind_relu = true,
                Part::Softplus { .. } => return Err(refused("a network with softplus")),
            }
        }
        match layers.pop() {
            Some(head) if !is_behind_relu => Ok(Self {
                hidden: layers,
                head,
                arithmetic,
            }),
            _ => Err(refused("a network that ends in a ReLU")),
        }
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
        if self.arithmetic == Arithmetic::SINGLE {
            #[expect(clippy::cast_possible_truncation, reason = "the model takes f32")]
            let single = value as f32;
            f64::from(single)
        } else {
            value
        }
    }

    fn run(&self, x: &[f64], class: usize) -> (usize, Vec<f64>) {
        let output = match self.ranked {
            Ranked::Probability => Output::Probability,
            Ranked::Logit => Output::Logit,
            Ranked::Loss => Output::Loss,
        };
        let mut tile = self.chain.tile();
        tile.run(x, output, &[class]);
        let importance = self.explained.importance(tile.gradient(), x);
        (largest(tile.logits()), importance)
    }
}
