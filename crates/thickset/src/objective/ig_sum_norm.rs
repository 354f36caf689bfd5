//! IG-SUM-NORM: `L = max over x~ of CE(f(x~), y) + w ||IG(x, x~)||_1` (IGR, Eq. 40, after Chen et al. 2019).
//!
//! IG is of the loss `CE(., y)` along the path from x to x~, by the right rule.

use serde::{Deserialize, Serialize};

use super::ig_norm::norm;
use super::igr::check_steps;
use super::term::inner_attack::InnerAttack;
use super::term::reading::constant;
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::check_weight;
use crate::registry::{Family, Info, Setting};
use thickset_engine::kernel::cross_entropy;

/// The registry's entry.
pub static INFO: Info = Info {
    id: "ig-sum-norm",
    label: "IG-SUM-NORM",
    family: Family::Objective,
    summary: "The class loss on an attacked input and the size of the attribution on the way to it",
    formula: "L = max over x~ of CE(f(x~), y) + w ||IG(x, x~)||_1",
    source: "IGR, Eq. 40, after Chen et al. 2019, whose weight is 0.1 (1 for GTSRB) and whose IG has 50 steps, 5 or 10 in the search; weight, steps in the loss and the budget for tables are ours",
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
pub struct IgSumNormConfig {
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

impl Default for IgSumNormConfig {
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

impl Objective for IgSumNormConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`ig-sum-norm.weight`", self.weight)?;
        check_steps("`ig-sum-norm.ig_steps`", self.ig_steps)?;
        check_steps("`ig-sum-norm.attack_ig_steps`", self.attack_ig_steps)?;
        self.attack.check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let labels = &batch.labels;
        let perturbed = batch.perturbed_or(|draws| {
            let from = constant(&batch.x);
            self.attack
                .perturb(batch.network, &batch.x, draws, |network, x| {
                    let class = cross_entropy(network.logits(x.clone()), labels.clone());
                    if self.weight == 0.0 {
                        return Ok(class);
                    }
                    let norm = norm(network, &from, &x, labels, self.attack_ig_steps);
                    Ok(class + norm * self.weight)
                })
        })?;
        let loss = batch.class_loss(perturbed.clone());
        if self.weight == 0.0 {
            return Ok(loss);
        }
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
        // As in IG-NORM, with the class loss where the margin is 2.
        let config = IgSumNormConfig {
            ig_steps: 1,
            ..IgSumNormConfig::default()
        };
        let q = 1.0 / (1.0 + (-2.0_f64).exp());
        let got = sample::toy_loss(config, [1.0, 0.0, 0.0], Some([1.0, 1.0, 0.0]));
        toy::assert_close(&[got], &[-q.ln() + 2.0 * (1.0 - q)]);
    }
}
