//! TRADES: `L = CE(f(x), y) + beta KL(p(x) || p(x~))`, x~ by ascent of the divergence (Zhang et al. 2019). The gradient
//! flows through both predictions.

use serde::{Deserialize, Deserializer, Serialize};
use thickset_engine::{Slopes, Tensor, activation::log_softmax};

use super::term::inner_attack::{InnerAttack, PartialAttack, Start};
use super::term::logit_rows::Probabilities;
use super::term::reading::{constant, mean_over_rows};
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::{as_f64, check_weight};
use crate::host::read;
use crate::registry::{Family, Info, Setting};
use thickset_engine::kernel::cross_entropy;

/// The registry's entry.
pub static INFO: Info = Info {
    id: "trades",
    label: "TRADES",
    family: Family::Objective,
    summary: "The class loss and the divergence of predictions on attacked inputs",
    formula: "L = CE(f(x), y) + beta KL(p(x) || p(x~)), x~ = argmax over the ball of the divergence",
    source: "IGR, Algorithm 1 (L_trades), after Zhang et al. 2019, whose beta is 6 for CIFAR-10 and 1 for MNIST",
    direction: None,
    cost: "one forward and one backward pass a step of the attack, and two vanilla steps",
    defaults: &[
        Setting::new("beta", "the weight of the divergence"),
        Setting::new("attack", "the search for x~"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// The divergence's weight and the search for perturbed inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TradesConfig {
    /// The weight of the divergence.
    pub beta: f64,
    /// The search for x~.
    #[serde(deserialize_with = "attack_over_defaults")]
    pub attack: InnerAttack,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
}

impl Default for TradesConfig {
    fn default() -> Self {
        Self {
            beta: 6.0,
            attack: InnerAttack {
                start: Start::Normal,
                ..InnerAttack::default()
            },
            adaptive: false,
        }
    }
}

/// The mean over rows of `KL(p || q)`, from logits.
fn divergence(of: Tensor<2>, from: Tensor<2>) -> Tensor<1> {
    let (of, from) = (log_softmax(of, 1), log_softmax(from, 1));
    mean_over_rows(of.clone().exp() * (of - from))
}

/// [`divergence`] of rows of logits in plain numbers; the slopes of `factor` times it in both are written.
fn divergence_slopes(
    [of, from]: [&[f64]; 2],
    classes: usize,
    factor: f64,
    [of_slopes, from_slopes]: [&mut [f64]; 2],
) -> f64 {
    let share = classes_share(of, classes);
    let (mut p, mut q) = (Probabilities::new(classes), Probabilities::new(classes));
    let mut sum = 0.0;
    let rows = of.chunks_exact(classes).zip(from.chunks_exact(classes));
    let of_slopes = of_slopes.chunks_exact_mut(classes);
    let slopes = of_slopes.zip(from_slopes.chunks_exact_mut(classes));
    for ((of, from), (of_slopes, from_slopes)) in rows.zip(slopes) {
        p.set(of);
        q.set(from);
        let terms = p.value.iter().zip(&p.log).zip(&q.log);
        sum += terms.map(|((p, of), from)| p * (of - from)).sum::<f64>();
        let weight = factor * share;
        p.add_slopes(|p, class| weight * (p.log[class] - q.log[class]), of_slopes);
        q.add_cross_entropy(&p.value, weight, from_slopes);
    }
    sum * share
}

/// The share of a row in a mean over rows.
fn classes_share(logits: &[f64], classes: usize) -> f64 {
    1.0 / as_f64((logits.len() / classes).max(1))
}

impl TradesConfig {
    pub(super) fn perturbed(&self, batch: &Batch<'_>) -> Result<Tensor<2>> {
        batch.perturbed_or(|draws| {
            let clean = constant(&batch.network.logits(constant(&batch.x)));
            let classes = batch.network.classes();
            let logits = read(clean.clone());
            let share = classes_share(&logits, classes);
            let slopes = |first: usize, attacked: &[f64], slopes: &mut [f64]| {
                let rows = logits[first * classes..].chunks_exact(classes);
                let rows = rows.zip(attacked.chunks_exact(classes));
                let (mut p, mut q) = (Probabilities::new(classes), Probabilities::new(classes));
                for ((clean, attacked), slopes) in rows.zip(slopes.chunks_exact_mut(classes)) {
                    p.set(clean);
                    q.set(attacked);
                    q.add_cross_entropy(&p.value, share, slopes);
                }
            };
            let found = self
                .attack
                .climb_logits(batch.network, &batch.x, draws, slopes);
            if let Some(found) = found {
                return Ok(found);
            }
            self.attack
                .perturb(batch.network, &batch.x, draws, |network, x| {
                    Ok(divergence(clean.clone(), network.logits(x)))
                })
        })
    }

    pub(super) fn loss_at(&self, batch: &Batch<'_>, perturbed: Tensor<2>) -> Loss {
        if let Some(loss) = self.loss_at_once(batch, &perturbed) {
            return loss;
        }
        let (clean, mut statistics) = batch.fitting_logits(batch.x.clone());
        let mut loss = Loss::new("class", cross_entropy(clean.clone(), batch.labels.clone()));
        if self.beta > 0.0 {
            let (attacked, more) = batch.fitting_logits(perturbed);
            statistics.extend(more);
            let divergence = divergence(clean, attacked);
            loss = loss.plus("divergence", self.beta, divergence, self.adaptive);
        }
        loss.statistics = statistics;
        loss
    }
}

impl TradesConfig {
    /// The loss in plain numbers, where the network has that way: clean rows and perturbed ones are one batch.
    fn loss_at_once(&self, batch: &Batch<'_>, perturbed: &Tensor<2>) -> Option<Loss> {
        // An adaptive weight is known only after its term.
        if self.beta == 0.0 || self.adaptive {
            return None;
        }
        let mut step = batch.step_of_both([&batch.x, perturbed])?;
        let class = step.cross_entropy(&batch.labels);
        let logits = step.logits();
        let mut slopes = vec![0.0; logits.len()];
        let middle = logits.len() / 2;
        let (clean, attacked) = logits.split_at(middle);
        let (of_clean, of_attacked) = slopes.split_at_mut(middle);
        let divergence = divergence_slopes(
            [clean, attacked],
            batch.network.classes(),
            self.beta,
            [of_clean, of_attacked],
        );
        let slopes = Slopes {
            logits: slopes,
            ..Slopes::default()
        };
        let total = step.loss(class + self.beta * divergence, slopes);
        let terms = [("class", 1.0, class), ("divergence", self.beta, divergence)];
        Some(Loss::of_whole(total, &terms))
    }
}

fn attack_over_defaults<'d, D: Deserializer<'d>>(
    text: D,
) -> std::result::Result<InnerAttack, D::Error> {
    Ok(PartialAttack::deserialize(text)?.over(&TradesConfig::default().attack))
}

impl Objective for TradesConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`trades.beta`", self.beta)?;
        self.attack.check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let perturbed = if self.beta > 0.0 {
            self.perturbed(batch)?
        } else {
            batch.x.clone()
        };
        Ok(self.loss_at(batch, perturbed))
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn the_divergence_of_two_predictions_by_hand() {
        // The margins are 4 and 2.
        let p = 1.0 / (1.0 + (-4.0_f64).exp());
        let q = 1.0 / (1.0 + (-2.0_f64).exp());
        let divergence = p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
        let got = sample::toy_loss(
            TradesConfig::default(),
            [1.0, 0.0, 0.0],
            Some([1.0, 1.0, 0.0]),
        );
        toy::assert_close(&[got], &[-p.ln() + 6.0 * divergence]);
    }
}
