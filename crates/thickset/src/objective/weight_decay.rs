//! The class loss with a penalty on the weights: `L = CE + w / 2 sum of squares of all weights and biases`.
//!
//! The penalty's gradient is `w` times the weight, as an optimiser's option of this name has it. Small weights bound the
//! Hessian.

use serde::{Deserialize, Serialize};
use thickset_engine::{Role, Slopes, Tensor};

use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::check_weight;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "weight-decay",
    label: "WD",
    family: Family::Objective,
    summary: "The class loss and half the squares of the weights",
    formula: "L = CE + w / 2 ||theta||_2^2",
    source: "R2ET, section 6.1 (WD), after Dombrowski et al. 2022; the weight is ours, measured on the tables",
    direction: None,
    cost: "as vanilla, and one look at each weight",
    defaults: &[
        Setting::new("weight", "w, the weight of the penalty"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// The penalty's weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WeightDecayConfig {
    /// The weight of the penalty.
    pub weight: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
}

impl Default for WeightDecayConfig {
    fn default() -> Self {
        Self {
            weight: 0.01,
            adaptive: false,
        }
    }
}

impl Objective for WeightDecayConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`weight-decay.weight`", self.weight)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        if self.weight > 0.0
            && !self.adaptive
            && let Some(mut step) = batch.network.training_step(&batch.x)
        {
            let class = step.cross_entropy(&batch.labels);
            let squares = step.half_squares(self.weight);
            let total = step.loss(class + self.weight * squares, Slopes::default());
            let terms = [("class", 1.0, class), ("decay", self.weight, squares)];
            return Ok(Loss::of_whole(total, &terms));
        }
        let loss = batch.class_loss(batch.x.clone());
        let weights = batch.network.parameters().into_iter();
        let squares = weights
            .filter(|parameter| parameter.role == Role::Weight)
            .map(|parameter| (parameter.value.clone() * parameter.value.clone()).sum())
            .reduce(|sum: Tensor<1>, square| sum + square);
        Ok(match squares {
            Some(squares) if self.weight > 0.0 => {
                loss.plus("decay", self.weight, squares * 0.5, self.adaptive)
            }
            _ => loss,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn half_the_squares_by_hand() {
        let config = WeightDecayConfig {
            weight: 0.1,
            ..WeightDecayConfig::default()
        };
        let expected = -0.75_f64.ln() + 0.05 * 21.0;
        toy::assert_close(&[sample::toy_loss(config, toy::row(), None)], &[expected]);
    }
}
