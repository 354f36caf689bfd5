//! A margin for neurons: `L = CE + w mean over rows and hidden neurons of max(0, 1 - |z| / rho)`.
//!
//! Around each row the pre-activation z of a dense `ReLU` chain moves by at most rho within a ball: `epsilon |W_n|` in the first layer, and what
//! intervals say in later ones. A gate whose kink is further away than rho cannot switch; where none can, the gradient is constant in the ball,
//! whatever it ranks first.

use serde::{Deserialize, Serialize};

use super::term::pre_activations::{doubt, pre_activations};
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::{as_f64, check_weight};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "neuron-margin",
    label: "Neuron margin",
    family: Family::Objective,
    summary: "The class loss, and pre-activations pushed away from their kinks, so that no gate switches within a ball",
    formula: "L = CE + w mean over hidden neurons of max(0, 1 - |z| / rho), rho how far z can move within the ball",
    source: "thickset",
    direction: None,
    cost: "about two vanilla steps; dense ReLU chains alone",
    defaults: &[
        Setting::new("weight", "w, the weight of the margin"),
        Setting::in_words("radius", "the data's", "of the ball, in encoded units"),
    ],
};

/// Weight and ball.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NeuronMarginConfig {
    /// The weight of the margin.
    pub weight: f64,
    /// The radius of the ball; the data's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
}

impl Default for NeuronMarginConfig {
    fn default() -> Self {
        Self {
            weight: 0.3,
            radius: None,
        }
    }
}

impl Objective for NeuronMarginConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`neuron-margin.weight`", self.weight)?;
        check_weight("`neuron-margin.radius`", self.radius.unwrap_or(0.0))
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let loss = batch.class_loss(batch.x.clone());
        if self.weight == 0.0 {
            return Ok(loss);
        }
        let radius = self.radius.unwrap_or(batch.radius);
        let layers = pre_activations(batch.network, &batch.x, radius)?;
        let count = as_f64(layers.len().max(1));
        let doubts = layers
            .iter()
            .map(|layer| doubt(&layer.center, &layer.reach).mean());
        Ok(match doubts.reduce(|sum, one| sum + one) {
            Some(sum) => loss.plus("margin", self.weight, sum * (1.0 / count), false),
            None => loss,
        })
    }
}
