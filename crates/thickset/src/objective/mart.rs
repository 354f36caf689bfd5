//! MART: `L = BCE(q, y) + beta (1 - p_y) KL(p || q)` with p = p(x), q = p(x~) and
//! `BCE = CE(q, y) - log(1 - max over other classes of q)` (Wang et al. 2020). x~ by ascent of the cross-entropy, or of
//! the loss itself under IGR.
//!
//! The small constants that keep logarithms finite are those of its authors' code.

use serde::{Deserialize, Serialize};
use thickset_engine::{Slopes, Tensor, activation::log_softmax};

use super::term::inner_attack::InnerAttack;
use super::term::logit_rows::{Probabilities, add_cross_entropy};
use super::term::reading::{constant, mean_over_rows};
use super::{Batch, Loss, Objective, pgd_at};
use crate::Result;
use crate::check::{as_f64, check_weight};
use crate::host::read;
use crate::registry::{Family, Info, Setting};
use thickset_engine::kernel::cross_entropy;

/// The registry's entry.
pub static INFO: Info = Info {
    id: "mart",
    label: "MART",
    family: Family::Objective,
    summary: "Adversarial training with more weight on rows that are classified wrongly",
    formula: "L = CE(q, y) - log(1 - max over j != y of q_j) + beta (1 - p_y) KL(p || q), p = p(x), q = p(x~)",
    source: "IGR, Algorithm 1 (L_mart), after Wang et al. 2020, whose beta is 5 or 6",
    direction: None,
    cost: "one forward and one backward pass a step of the attack, and two vanilla steps",
    defaults: &[
        Setting::new("beta", "the weight of the divergence"),
        Setting::new("attack", "the search for x~"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// Added to 1 before the best wrong class is taken off.
const MARGIN: f64 = 1.0001;
/// Added to 1 before the true class's probability is taken off.
const CONFIDENCE: f64 = 1.000_000_1;
/// Added inside logarithms.
const TINY: f64 = 1e-12;

/// The divergence's weight and the search for perturbed inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MartConfig {
    /// The weight of the divergence.
    pub beta: f64,
    /// The search for x~.
    pub attack: InnerAttack,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
}

impl Default for MartConfig {
    fn default() -> Self {
        Self {
            beta: 5.0,
            attack: InnerAttack::default(),
            adaptive: false,
        }
    }
}

impl MartConfig {
    pub(super) fn perturbed(&self, batch: &Batch<'_>) -> Result<Tensor<2>> {
        pgd_at::perturbed(&self.attack, batch)
    }

    /// The rows that raise this loss itself most, not the cross-entropy alone: what IGR adds to (IGR, C.1).
    pub(super) fn perturbed_by_itself(&self, batch: &Batch<'_>) -> Result<Tensor<2>> {
        batch.perturbed_or(|draws| {
            let clean = constant(&batch.network.logits(constant(&batch.x)));
            let classes = batch.network.classes();
            let (logits, labels) = (read(clean.clone()), read(batch.labels.clone()));
            let slopes = |first: usize, attacked: &[f64], slopes: &mut [f64]| {
                let labels = &labels[first * classes..];
                let share = 1.0 / as_f64(logits.len() / classes);
                add_cross_entropy(attacked, labels, classes, share, slopes);
                let rows = PlainRows {
                    attacked,
                    clean: &logits[first * classes..],
                    labels,
                    classes,
                    share,
                };
                // What is a constant here has slopes that nobody reads.
                self.add_slopes(&rows, [slopes, &mut vec![0.0; attacked.len()]]);
            };
            let network = batch.network;
            if let Some(found) = self.attack.climb_logits(network, &batch.x, draws, slopes) {
                return Ok(found);
            }
            self.attack
                .perturb(batch.network, &batch.x, draws, |network, x| {
                    let attacked = network.logits(x);
                    let loss = self.loss_of(attacked, &batch.labels, || clean.clone());
                    Ok(loss.total)
                })
        })
    }

    pub(super) fn loss_at(&self, batch: &Batch<'_>, perturbed: Tensor<2>) -> Loss {
        if let Some(loss) = self.loss_at_once(batch, &perturbed) {
            return loss;
        }
        let (attacked, mut statistics) = batch.fitting_logits(perturbed);
        let mut loss = self.loss_of(attacked, &batch.labels, || {
            let (clean, more) = batch.fitting_logits(batch.x.clone());
            statistics.extend(more);
            clean
        });
        loss.statistics = statistics;
        loss
    }

    /// The loss in plain numbers, where the network has that way: perturbed rows and clean ones are one batch.
    fn loss_at_once(&self, batch: &Batch<'_>, perturbed: &Tensor<2>) -> Option<Loss> {
        // An adaptive weight is known only after its term.
        if self.adaptive {
            return None;
        }
        let mut step = batch.step_of_both([perturbed, &batch.x])?;
        let class = step.cross_entropy(&batch.labels);
        let labels = read(batch.labels.clone());
        let classes = batch.network.classes();
        let logits = step.logits();
        let mut slopes = vec![0.0; logits.len()];
        let middle = logits.len() / 2;
        let (attacked, clean) = logits.split_at(middle);
        let (of_attacked, of_clean) = slopes.split_at_mut(middle);
        let rows = PlainRows {
            attacked,
            clean,
            labels: &labels,
            classes,
            share: 1.0 / as_f64(labels.len() / classes),
        };
        let (margin, divergence) = self.add_slopes(&rows, [of_attacked, of_clean]);
        let slopes = Slopes {
            logits: slopes,
            ..Slopes::default()
        };
        let mut terms = vec![("class", 1.0, class + margin)];
        if self.beta > 0.0 {
            terms.push(("divergence", self.beta, divergence));
        }
        let total = terms.iter().map(|(_, weight, value)| weight * value).sum();
        Some(Loss::of_whole(step.loss(total, slopes), &terms))
    }

    /// Margin and divergence, each the mean over rows; the slopes of `margin + beta divergence` in the logits of perturbed and clean
    /// rows are added.
    fn add_slopes(
        &self,
        rows: &PlainRows<'_>,
        [of_attacked, of_clean]: [&mut [f64]; 2],
    ) -> (f64, f64) {
        let (classes, share) = (rows.classes, rows.share);
        let (mut p, mut q) = (Probabilities::new(classes), Probabilities::new(classes));
        let (mut margins, mut divergences) = (0.0, 0.0);
        let of_attacked = of_attacked.chunks_exact_mut(classes);
        let slopes = of_attacked.zip(of_clean.chunks_exact_mut(classes));
        for ((attacked, clean, label), (of_attacked, of_clean)) in rows.each().zip(slopes) {
            q.set(attacked);
            // A true class's probability less 2 is below every other one.
            let reduced = |class: usize| q.value[class] - label[class] * 2.0;
            let mut wrong = 0;
            for class in 1..classes {
                if reduced(class) > reduced(wrong) {
                    wrong = class;
                }
            }
            let rest = MARGIN + TINY - reduced(wrong);
            margins -= rest.ln();
            let of_wrong = |class: usize| if class == wrong { share / rest } else { 0.0 };
            if self.beta == 0.0 {
                q.add_slopes(|_, class| of_wrong(class), of_attacked);
                continue;
            }
            p.set(clean);
            let truth: f64 = p.value.iter().zip(label).map(|(p, it)| p * it).sum();
            let doubt = CONFIDENCE - truth;
            let surprise = |p: &Probabilities, q: &Probabilities, class: usize| {
                p.log[class] - (q.value[class] + TINY).ln()
            };
            let terms = (0..classes).map(|class| p.value[class] * surprise(&p, &q, class));
            let divergence: f64 = terms.sum();
            divergences += doubt * divergence;
            let weight = self.beta * share;
            q.add_slopes(
                |q, class| {
                    of_wrong(class) - weight * doubt * p.value[class] / (q.value[class] + TINY)
                },
                of_attacked,
            );
            p.add_slopes(
                |p, class| {
                    weight * (doubt * (surprise(p, &q, class) + 1.0) - label[class] * divergence)
                },
                of_clean,
            );
        }
        (margins * share, divergences * share)
    }

    /// The loss of the logits at x~ and, where they are needed, at x.
    fn loss_of(
        &self,
        attacked: Tensor<2>,
        labels: &Tensor<2>,
        clean: impl FnOnce() -> Tensor<2>,
    ) -> Loss {
        let labels = labels.clone();
        let q = log_softmax(attacked.clone(), 1).exp();
        // A true class's probability less 2 is below every other one.
        let wrong = (q.clone() - labels.clone() * 2.0).max_dim(1);
        let margin = -mean_over_rows((-wrong + MARGIN + TINY).log());
        let class = cross_entropy(attacked, labels.clone()) + margin;
        let mut loss = Loss::new("class", class);
        if self.beta > 0.0 {
            let log_p = log_softmax(clean(), 1);
            let p = log_p.clone().exp();
            let doubt = -(p.clone() * labels).sum_dim(1) + CONFIDENCE;
            let divergence = (p * (log_p - (q + TINY).log())).sum_dim(1);
            let divergence = mean_over_rows(doubt * divergence);
            loss = loss.plus("divergence", self.beta, divergence, self.adaptive);
        }
        loss
    }
}

/// Logits at perturbed and at clean rows, and their labels, row-major.
struct PlainRows<'a> {
    attacked: &'a [f64],
    clean: &'a [f64],
    labels: &'a [f64],
    classes: usize,
    /// Of a row in the mean.
    share: f64,
}

impl PlainRows<'_> {
    /// Each row's numbers of the three.
    fn each(&self) -> impl Iterator<Item = (&[f64], &[f64], &[f64])> {
        let rows = |numbers| <[f64]>::chunks_exact(numbers, self.classes);
        let pairs = rows(self.attacked).zip(rows(self.clean));
        let rows = pairs.zip(rows(self.labels));
        rows.map(|((attacked, clean), label)| (attacked, clean, label))
    }
}

impl Objective for MartConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`mart.beta`", self.beta)?;
        self.attack.check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        Ok(self.loss_at(batch, self.perturbed(batch)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::super::igr::Base;
    use super::super::term::reading::value;
    use super::*;
    use crate::toy;

    #[test]
    fn under_igr_the_search_is_of_the_whole_loss() {
        let (network, explain) = (sample::network(), sample::explain());
        let batch = sample::batch(&network, &explain);
        let config = MartConfig {
            beta: 50.0,
            ..MartConfig::default()
        };
        let at = |rows: Tensor<2>| value(&config.loss_at(&batch, rows).total);
        let clean = at(batch.x.clone());
        let by_class = at(config.perturbed(&batch).unwrap());
        let by_loss = at(Base::Mart(config.clone()).perturbed(&batch).unwrap());
        assert!(clean < by_class, "{clean} {by_class}");
        assert!(by_class < by_loss, "{by_class} {by_loss}");
    }

    #[test]
    fn the_loss_of_one_row_by_hand() {
        // The margins are 4 and 2; the only wrong class has probability 1 - q.
        let p = 1.0 / (1.0 + (-4.0_f64).exp());
        let q = 1.0 / (1.0 + (-2.0_f64).exp());
        let divergence =
            p * (p / (q + TINY)).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q + TINY)).ln();
        let class = -q.ln() - (MARGIN - (1.0 - q) + TINY).ln();
        let got = sample::toy_loss(
            MartConfig::default(),
            [1.0, 0.0, 0.0],
            Some([1.0, 1.0, 0.0]),
        );
        toy::assert_close(&[got], &[class + 5.0 * (CONFIDENCE - p) * divergence]);
    }
}
