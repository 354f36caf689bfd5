//! The class loss and the whole Hessian's norm: `L = CE + w ||H||_F`, H the input Hessian of the predicted class's
//! probability, by one exact product a feature.

use serde::{Deserialize, Serialize};
use thickset_engine::Output;

use super::term::hessian_norm::frobenius;
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::check_weight;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "exact-h",
    label: "Exact-H",
    family: Family::Objective,
    summary: "The class loss and the Frobenius norm of the input Hessian",
    formula: "L = CE + w ||H||_F",
    source: "R2ET, section 6.1 (Exact-H); the weight is ours, that of Est-H",
    direction: None,
    cost: "one Hessian product a feature and step: for tables",
    defaults: &[
        Setting::new("weight", "w, the weight of the norm"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// The norm's weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExactHConfig {
    /// The weight of the norm.
    pub weight: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
}

impl Default for ExactHConfig {
    fn default() -> Self {
        Self {
            weight: 0.01,
            adaptive: false,
        }
    }
}

impl Objective for ExactHConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`exact-h.weight`", self.weight)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        if self.weight == 0.0 {
            return Ok(batch.class_loss(batch.x.clone()));
        }
        let pass = batch.network.pass(batch.x.clone());
        let loss = batch.class_loss_of(&pass);
        let gradient = pass.input_gradient(Output::Probability, batch.predicted(&pass)?);
        let norm = frobenius(&gradient);
        Ok(loss.plus("hessian", self.weight, norm, self.adaptive))
    }
}
