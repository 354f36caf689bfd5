//! `AdvAAT`: `L = max over x~ of CE(f(x~), y) + w PCL(IG(x), IG(x~))`, `PCL = 1 - (PCC + 1) / 2` with Pearson's correlation
//! PCC (IGR, Eq. 41, after Ivankay et al. 2022).
//!
//! IG is of the true class's logit, from a zero baseline, by the midpoint rule.

use serde::{Deserialize, Serialize};
use thickset_engine::{InputSlopes, Tensor};

use super::igr::check_steps;
use super::term::inner_attack::InnerAttack;
use super::term::logit_rows::{add_cross_entropy, classes_of};
use super::term::path_pairs::{attributions, mean_pair_loss};
use super::term::reading::{constant, mean_over_rows};
use super::term::similarity::{pearson, pearson_slopes};
use super::{Batch, Loss, Objective};
use crate::check::{as_f64, check_weight};
use crate::explain::integrated_gradients::of_logit;
use crate::host::read;
use crate::registry::{Family, Info, Setting};
use crate::{Result, Stream};
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
            if let Some(found) = self.climb(batch, draws) {
                return Ok(found);
            }
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
        let rows = [&batch.x, &perturbed];
        let at_once = mean_pair_loss(batch.network, rows, labels, self.ig_steps, pearson_loss);
        let correlation = at_once.unwrap_or_else(|| {
            let of = |x: &Tensor<2>| of_logit(batch.network, x, labels, self.ig_steps);
            correlation_loss(of(&batch.x), of(&perturbed))
        });
        Ok(loss.plus("correlation", self.weight, correlation, self.adaptive))
    }
}

impl AdvAatConfig {
    /// The search for x~ in plain numbers, where the network has that way. Between kinks a mean gradient does not move with the
    /// row, so the slope of PCL in it is that in its attribution times the mean gradient.
    fn climb(&self, batch: &Batch<'_>, draws: &mut Stream) -> Option<Tensor<2>> {
        let (network, steps) = (batch.network, self.attack_ig_steps);
        let search = network.input_search(&batch.x)?;
        let (features, count) = (network.features(), network.classes());
        let labels = read(batch.labels.clone());
        let classes = classes_of(&labels, count)?;
        if !search.has_paths() {
            return None;
        }
        let share = 1.0 / as_f64(classes.len());
        let mut clean = read(batch.x.clone());
        search.run(&mut clean, steps, &|first, rows, slopes| {
            let classes = &classes[first..][..rows.len() / features];
            let gradient = slopes.path_gradient(rows, classes, steps);
            for (row, gradient) in rows.iter_mut().zip(gradient) {
                *row *= gradient;
            }
        });
        let gradient_at =
            |first: usize, rows: &[f64], slopes: &mut dyn InputSlopes, out: &mut [f64]| {
                let of_class = slopes.gradient(rows, &mut |logits, slopes| {
                    add_cross_entropy(logits, &labels[first * count..], count, share, slopes);
                });
                out.copy_from_slice(of_class);
                if self.weight == 0.0 {
                    return;
                }
                let classes = &classes[first..][..rows.len() / features];
                let gradient = slopes.path_gradient(rows, classes, steps);
                let mut clean = clean[first * features..][..rows.len()].to_vec();
                let mut attacked = attributions(rows, &gradient);
                let pairs = clean.chunks_exact_mut(features);
                for (clean, attacked) in pairs.zip(attacked.chunks_exact_mut(features)) {
                    pearson_loss(clean, attacked);
                }
                for ((out, slope), gradient) in out.iter_mut().zip(attacked).zip(gradient) {
                    *out += self.weight * share * slope * gradient;
                }
            };
        let passes = 1 + steps;
        self.attack
            .climb(network, &batch.x, draws, passes, &gradient_at)
    }
}

/// PCL of one row; its slopes in the attributions are written over them.
fn pearson_loss(first: &mut [f64], second: &mut [f64]) -> f64 {
    let correlation = pearson_slopes(first, second);
    for slope in first.iter_mut().chain(second) {
        *slope *= -0.5;
    }
    0.5 - 0.5 * correlation
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
