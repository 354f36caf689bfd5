//! The class loss of a network with softplus for `ReLU`: `softplus(x) = log(1 + exp(rho x)) / rho`.
//!
//! The smaller rho, the smoother the network and the smaller its Hessian. It changes the architecture, not the loss.

use serde::{Deserialize, Serialize};

use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::check_positive;
use crate::model::{Activation, ModelConfig};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "softplus",
    label: "SP",
    family: Family::Objective,
    summary: "The class loss of a smooth network: softplus for ReLU",
    formula: "L = CE(f(x), y) with a(x) = log(1 + exp(rho x)) / rho",
    source: "R2ET, section 6.1 (SP), after Dombrowski et al. 2019; rho is ours, 0.5 to 3 work on the tables",
    direction: None,
    cost: "as vanilla",
    defaults: &[Setting::new("rho", "sharpness; ReLU in the limit")],
};

/// The sharpness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SoftplusConfig {
    /// Sharpness; `ReLU` in the limit.
    pub rho: f64,
}

impl Default for SoftplusConfig {
    fn default() -> Self {
        Self { rho: 1.0 }
    }
}

impl Objective for SoftplusConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_positive("`softplus.rho`", self.rho)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        Ok(batch.class_loss(batch.x.clone()))
    }

    fn model(&self, model: ModelConfig) -> ModelConfig {
        model.with_activation(Activation::Softplus { beta: self.rho })
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn a_network_without_an_activation_is_trained_as_it_is() {
        let got = sample::toy_loss(SoftplusConfig::default(), toy::row(), None);
        toy::assert_close(&[got], &[-0.75_f64.ln()]);
    }
}
