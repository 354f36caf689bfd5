//! Logistic regression: the baseline that every table must show.
//!
//! `z = W x + b`. On two classes its explanation is the same ranking for every row, so it is
//! perfectly stable and tells everyone the same.

use serde::{Deserialize, Serialize};
use thickset_engine::NetworkBuilder;

use super::{Activation, Architecture, ModelConfig, dense};
use crate::Result;
use crate::data::InputShape;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "linear",
    label: "Logistic regression",
    family: Family::Model,
    summary: "One linear layer: the baseline whose explanations cannot move",
    formula: "z = W x + b",
    source: "standard; the baseline of every table",
    direction: None,
    cost: "features x classes multiply-adds a row",
    defaults: &[],
};

/// It has no settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearConfig {}

impl Architecture for LinearConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn build(
        &self,
        _: &InputShape,
        classes: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()> {
        dense(&[], classes, Activation::Relu, network)
    }

    fn with_activation(&self, _: Activation) -> ModelConfig {
        self.clone().into()
    }
}
