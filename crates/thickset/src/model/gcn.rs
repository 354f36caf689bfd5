//! The graph embedding: two graph convolutions over the normalised adjacency, then the node mean.
//!
//! `H1 = a(Â W1ᵀ + b1)`, `H2 = Â H1 W2ᵀ + b2`, embedding = mean of `H2` over the nodes. Node features
//! are the identity, so that the edges alone are the input; `Â` is normalised with absolute weights
//! because correlations may be negative.

use serde::{Deserialize, Serialize};
use thickset_engine::NetworkBuilder;
use thickset_engine::layer::{Adjacency, GraphConv, NodeMean};

use super::{Activation, check_size};
use crate::data::InputShape;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "gcn",
    label: "GCN",
    family: Family::Model,
    summary: "Two graph convolutions and the mean over nodes; an embedding for `siamese`",
    formula: "mean over nodes of Â a(Â W1' + b1) W2' + b2, Â = D^-1/2 (A + I) D^-1/2, D of |A| + I",
    source: "R2ET, appendix B.1.1",
    direction: None,
    cost: "nodes^2 x (hidden + embedding) multiply-adds a graph, and more",
    defaults: &[
        Setting::new("hidden", "features of a node after the first convolution"),
        Setting::new(
            "embedding",
            "features of a node after the second, and of the graph",
        ),
        Setting::new("activation", "or { softplus = { beta = 1.0 } }"),
    ],
};

/// Sizes and the activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GcnConfig {
    /// Features of a node after the first convolution.
    pub hidden: usize,
    /// Features of a node after the second, and of the graph.
    pub embedding: usize,
    /// After the first convolution.
    pub activation: Activation,
}

impl Default for GcnConfig {
    fn default() -> Self {
        Self {
            hidden: 256,
            embedding: 128,
            activation: Activation::Relu,
        }
    }
}

impl GcnConfig {
    pub(super) fn build(&self, input: &InputShape, network: &mut NetworkBuilder<'_>) -> Result<()> {
        let InputShape::Graph { nodes } = *input else {
            return Err(Error::ModelInput {
                model: INFO.id,
                expected: "graphs",
                got: input.to_string(),
            });
        };
        let (hidden, embedding) = (self.hidden, self.embedding);
        check_size("hidden", hidden)?;
        check_size("embedding", embedding)?;
        let adjacency = network.then(|_| Adjacency::new(nodes))?;
        network.then(|scope| GraphConv::new(nodes, nodes, hidden, scope))?;
        let features = self.activation.add(network)?;
        network.join(&[adjacency, features], |scope| {
            GraphConv::new(nodes, hidden, embedding, scope)
        })?;
        network.then(|_| Ok(NodeMean::new(nodes)))?;
        Ok(())
    }
}
