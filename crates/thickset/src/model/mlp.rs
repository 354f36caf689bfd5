//! Fully connected layers, the network for tables.
//!
//! `z = W_L a(... a(W_1 x + b_1) ...) + b_L`.

use serde::{Deserialize, Serialize};
use thickset_engine::NetworkBuilder;

use super::{Activation, Architecture, ModelConfig, dense};
use crate::Result;
use crate::data::InputShape;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "mlp",
    label: "DNN",
    family: Family::Model,
    summary: "Fully connected layers, for tables",
    formula: "z = W_L a(... a(W_1 x + b_1) ...) + b_L",
    source: "R2ET, section 6 (DNNs for tabular data; sizes are not given)",
    direction: None,
    cost: "one multiply-add a weight and row",
    defaults: &[
        Setting::new("hidden", "sizes of the hidden layers"),
        Setting::new("activation", "or { softplus = { beta = 1.0 } }"),
    ],
};

/// Sizes of the hidden layers and the activation between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MlpConfig {
    /// Sizes of the hidden layers.
    pub hidden: Vec<usize>,
    /// Between layers.
    pub activation: Activation,
}

impl Default for MlpConfig {
    fn default() -> Self {
        Self {
            hidden: vec![64, 32],
            activation: Activation::Relu,
        }
    }
}

impl Architecture for MlpConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn build(
        &self,
        _: &InputShape,
        classes: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()> {
        dense(&self.hidden, classes, self.activation, network)
    }

    fn with_activation(&self, activation: Activation) -> ModelConfig {
        Self {
            activation,
            ..self.clone()
        }
        .into()
    }
}
