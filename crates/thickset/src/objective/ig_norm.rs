//! IG-NORM: `L = CE(f(x), y) + w max over x~ of ||IG(x, x~)||_1` (IGR, Eq. 39, after Chen et al. 2019).
//!
//! IG is of the loss `CE(., y)` along the path from x to x~, by the right rule.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Tensor};

use super::igr::check_steps;
use super::term::inner_attack::InnerAttack;
use super::term::reading::{constant, mean_over_rows};
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::check_weight;
use crate::explain::integrated_gradients::{Rule, along};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "ig-norm",
    label: "IG-NORM",
    family: Family::Objective,
    summary: "The class loss and the size of the loss's attribution on the way to an attacked input",
    formula: "L = CE(f(x), y) + w max over x~ of ||IG(x, x~)||_1",
    source: "IGR, Eq. 39, after Chen et al. 2019, whose weight is 1 (0.1 for Flower) and whose IG has 50 steps, 5 or 10 in the search; steps in the loss and the budget for tables are ours",
    direction: None,
    cost: "attack steps * attack_ig_steps + ig_steps input gradients a step",
    defaults: &[
        Setting::new("weight", "w, the weight of the norm"),
        Setting::new("ig_steps", "steps of IG in the loss"),
        Setting::new("attack_ig_steps", "steps of IG in the search"),
        Setting::new("attack", "the search for x~"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// The norm's weight and the search for perturbed inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IgNormConfig {
    /// The weight of the norm.
    pub weight: f64,
    /// Steps of the integrated gradients in the loss.
    pub ig_steps: usize,
    /// Steps of the integrated gradients in the search.
    pub attack_ig_steps: usize,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
    /// The search for x~.
    pub attack: InnerAttack,
}

impl Default for IgNormConfig {
    fn default() -> Self {
        Self {
            weight: 1.0,
            ig_steps: 10,
            attack_ig_steps: 5,
            adaptive: false,
            attack: InnerAttack::default(),
        }
    }
}

/// The mean over rows of `||IG(x, x~)||_1`, of the loss with these labels.
pub(super) fn norm(
    network: &Network,
    x: &Tensor<2>,
    perturbed: &Tensor<2>,
    labels: &Tensor<2>,
    steps: usize,
) -> Tensor<1> {
    let of = (Output::Loss, labels);
    mean_over_rows(along(network, x, perturbed, of, Rule::Right, steps).abs())
}

impl Objective for IgNormConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`ig-norm.weight`", self.weight)?;
        check_steps("`ig-norm.ig_steps`", self.ig_steps)?;
        check_steps("`ig-norm.attack_ig_steps`", self.attack_ig_steps)?;
        self.attack.check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let loss = batch.class_loss(batch.x.clone());
        if self.weight == 0.0 {
            return Ok(loss);
        }
        let labels = &batch.labels;
        let perturbed = batch.perturbed_or(|draws| {
            let from = constant(&batch.x);
            self.attack
                .perturb(batch.network, &batch.x, draws, |network, x| {
                    Ok(norm(network, &from, &x, labels, self.attack_ig_steps))
                })
        })?;
        let norm = norm(batch.network, &batch.x, &perturbed, labels, self.ig_steps);
        Ok(loss.plus("attribution", self.weight, norm, self.adaptive))
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn one_step_of_the_path_by_hand() {
        // The loss's gradient at the end of the path, where the margin is 2, is q - 1 times the weights; the path is (0, 1, 0).
        let config = IgNormConfig {
            ig_steps: 1,
            ..IgNormConfig::default()
        };
        let q = 1.0 / (1.0 + (-2.0_f64).exp());
        let got = sample::toy_loss(config, [1.0, 0.0, 0.0], Some([1.0, 1.0, 0.0]));
        toy::assert_close(&[got], &[sample::cross_entropy(4.0) + 2.0 * (1.0 - q)]);
    }
}
