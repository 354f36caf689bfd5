//! Siamese network: one embedding for both inputs of a pair, their cosine similarity, a linear
//! classifier ("different", "same") on it.
//!
//! `z = w cos(emb(x_s), emb(x_t)) + b`; a row is `[x_s | x_t]`.
//!
//! The classifier starts as a similarity: "same" is more likely the larger the cosine is, and the two classes are equally likely
//! at a cosine of [`THRESHOLD`]. With a slope of the other sign "same" would have to mean "unlike", which inputs that were not
//! trained on do not follow, and training does not turn the sign.

use serde::{Deserialize, Serialize};
use thickset_engine::layer::{Cosine, Linear, PairSplit};
use thickset_engine::{Init, NetworkBuilder};

use super::{Activation, Architecture, CnnConfig, GcnConfig, ModelConfig, check_size};
use crate::data::InputShape;
use crate::name_or_table::name_or_table;
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
#[serde(tag = "kind", rename_all = "kebab-case", remote = "Self")]
pub enum Embedding {
    /// For images.
    Cnn(CnnConfig),
    /// For graphs.
    Gcn(GcnConfig),
}

name_or_table!(Embedding);

/// The embedding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiameseConfig {
    /// What embeds one input of a pair.
    pub embedding: Embedding,
    /// Outputs of a `cnn` embedding.
    pub size: usize,
}

impl Default for SiameseConfig {
    fn default() -> Self {
        Self {
            embedding: Embedding::Cnn(CnnConfig::default()),
            size: 64,
        }
    }
}

impl Architecture for SiameseConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn build(
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
        network.then(|scope| Linear::starting(1, classes, similarity(), scope))?;
        Ok(())
    }

    fn with_activation(&self, activation: Activation) -> ModelConfig {
        let mut changed = self.clone();
        match &mut changed.embedding {
            Embedding::Cnn(config) => config.activation = activation,
            Embedding::Gcn(config) => config.activation = activation,
        }
        changed.into()
    }
}

/// The cosine at which a fresh network calls a pair as likely the same as different: in the middle of what fresh embeddings of
/// images have, since they do not point away from each other.
const THRESHOLD: f64 = 0.5;

/// How far a fresh network's logit of "same" rises with the cosine, and that of "different" falls.
const SLOPE: f64 = 1.0;

/// Weight and bias of a head that prefers the last class, "same", above the threshold.
fn similarity() -> [Init; 2] {
    let apart = |last| Init::LastApart { last, rest: -last };
    [apart(SLOPE), apart(-SLOPE * THRESHOLD)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::host::read;
    use crate::model::Fresh;

    #[test]
    fn a_fresh_head_prefers_same_for_larger_cosines_and_its_threshold_is_a_cosine() {
        let image = InputShape::Image {
            channels: 1,
            height: 8,
            width: 8,
        };
        let graph = InputShape::Graph { nodes: 5 };
        let of = |embedding| SiameseConfig { embedding, size: 4 };
        let cases = [
            (of(Embedding::Cnn(CnnConfig::default())), image, 64),
            (of(Embedding::Gcn(GcnConfig::default())), graph, 10),
        ];
        for (config, input, features) in cases {
            let pair = InputShape::Pair {
                of: Box::new(input),
            };
            for seed in 0..10 {
                let mut source = Fresh::new(Seed::new(seed));
                let model = ModelConfig::Siamese(config.clone());
                let network = model.network(&pair, 2 * features, 2, &mut source).unwrap();
                let parameters = network.parameters();
                let [weight, bias] = &parameters[parameters.len() - 2..] else {
                    panic!("a head has a weight and a bias")
                };
                let difference = |values: Vec<f64>| values[1] - values[0];
                let slope = difference(read(weight.value.clone()));
                let offset = difference(read(bias.value.clone()));
                assert!(slope > 0.0, "seed {seed}: slope {slope}");
                let threshold = -offset / slope;
                assert!(threshold.abs() < 1.0, "seed {seed}: threshold {threshold}");
            }
        }
    }
}
