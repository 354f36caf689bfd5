//! Siamese network: one embedding for both inputs of a pair, their cosine similarity, a linear
//! classifier ("different", "same") on it.
//!
//! `z = w cos(emb(x_s), emb(x_t)) + b`; a row is `[x_s | x_t]`.

use serde::{Deserialize, Serialize};
use thickset_engine::NetworkBuilder;
use thickset_engine::layer::{Cosine, PairSplit};

use super::{Activation, check_size, cnn, dense, gcn};
use crate::data::InputShape;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "siamese",
    label: "Siamese network",
    family: Family::Model,
    summary: "Two inputs through one embedding, compared by cosine similarity",
    formula: "z = w cos(emb(x_s), emb(x_t)) + b",
    source: "R2ET, Eq. 56 and appendix B.1.5",
    direction: None,
    cost: "twice the embedding's",
    defaults: &[
        Setting::new("embedding", "or { kind = \"gcn\" }, with their settings"),
        Setting::new("size", "outputs of a `cnn` embedding; a `gcn` has its own"),
    ],
};

/// What embeds one input of a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Embedding {
    /// For images.
    Cnn(cnn::Config),
    /// For graphs.
    Gcn(gcn::Config),
}

/// The embedding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What embeds one input of a pair.
    pub embedding: Embedding,
    /// Outputs of a `cnn` embedding.
    pub size: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            embedding: Embedding::Cnn(cnn::Config::default()),
            size: 64,
        }
    }
}

impl Config {
    pub(super) fn build(
        &self,
        input: &InputShape,
        classes: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()> {
        let InputShape::Pair { of } = input else {
            return Err(Error::ModelInput {
                model: INFO.id,
                expected: "pairs of images or graphs",
                got: input.to_string(),
            });
        };
        network.then(|_| Ok(PairSplit))?;
        match &self.embedding {
            Embedding::Cnn(config) => {
                check_size("size", self.size)?;
                config.build(of, self.size, network)?;
            }
            Embedding::Gcn(config) => config.build(of, network)?,
        }
        network.then(|_| Ok(Cosine))?;
        dense(&[], classes, Activation::Relu, network)
    }
}
