//! `AdvAAT`: `L = max over x~ of CE(f(x~), y) + w PCL(IG(x), IG(x~))`, `PCL = 1 - (PCC + 1) / 2` with Pearson's correlation
//! PCC (IGR, Eq. 41, after Ivankay et al. 2022).
//!
//! IG is of the true class's logit, from a zero baseline, by the midpoint rule.

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use super::igr::check_steps;
use super::term::inner_attack::InnerAttack;
use super::term::reading::{constant, mean_over_rows};
use super::term::similarity::pearson;
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::check_weight;
use crate::explain::integrated_gradients::of_logit;
use crate::registry::{Family, Info, Setting};
use thickset_engine::kernel::cross_entropy;

/// The registry's entry.
pub static INFO: Info = Info {
    id: "adv-aat",
    label: "AdvAAT",
    family: Family::Objective,
    summary: "The class loss on an attacked input and the correlation of its attribution with the input's",
    formula: "L = max over x~ of CE(f(x~), y) + w (1 - (PCC(IG(x), IG(x~)) + 1) / 2)",
    source: "IGR, Eq. 41, after Ivankay et al. 2022; weight, steps and the budget for tables are ours",
    direction: None,
    cost: "attack steps * attack_ig_steps + ig_steps input gradients a step, twice",
    defaults: &[
        Setting::new("weight", "w, the weight of the correlation"),
        Setting::new("ig_steps", "steps of IG in the loss"),
        Setting::new("attack_ig_steps", "steps of IG in the search"),
        Setting::new("attack", "the search for x~"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// The correlation's weight and the search for perturbed inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdvAatConfig {
    /// The weight of the correlation.
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

impl Default for AdvAatConfig {
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

impl Objective for AdvAatConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`adv-aat.weight`", self.weight)?;
        check_steps("`adv-aat.ig_steps`", self.ig_steps)?;
        check_steps("`adv-aat.attack_ig_steps`", self.attack_ig_steps)?;
        self.attack.check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let labels = &batch.labels;
        let perturbed = batch.perturbed_or(|draws| {
            let mut frozen = batch.network.clone();
            frozen.untrack();
            let clean = of_logit(&frozen, &constant(&batch.x), labels, self.attack_ig_steps);
            self.attack
                .perturb(batch.network, &batch.x, draws, |network, x| {
                    let class = cross_entropy(network.logits(x.clone()), labels.clone());
                    if self.weight == 0.0 {
                        return Ok(class);
                    }
                    let attacked = of_logit(network, &x, labels, self.attack_ig_steps);
                    Ok(class + correlation_loss(clean.clone(), attacked) * self.weight)
                })
        })?;
        let loss = batch.class_loss(perturbed.clone());
        if self.weight == 0.0 {
            return Ok(loss);
        }
        let of = |x: &Tensor<2>| of_logit(batch.network, x, labels, self.ig_steps);
        let correlation = correlation_loss(of(&batch.x), of(&perturbed));
        Ok(loss.plus("correlation", self.weight, correlation, self.adaptive))
    }
}

/// The mean over rows of PCL.
fn correlation_loss(first: Tensor<2>, second: Tensor<2>) -> Tensor<1> {
    mean_over_rows(pearson(first, second) * -0.5 + 0.5)
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn the_correlation_of_two_attributions_by_hand() {
        // (4, 0, 0) and (4, -2, 0) less their means are (8, -4, -4) / 3 and (10, -8, -2) / 3.
        let got = sample::toy_loss(
            AdvAatConfig::default(),
            [1.0, 0.0, 0.0],
            Some([1.0, 1.0, 0.0]),
        );
        let correlation = 120.0 / (96.0_f64 * 168.0).sqrt();
        let expected = sample::cross_entropy(2.0) + 0.5 - 0.5 * correlation;
        toy::assert_close(&[got], &[expected]);
    }
}
