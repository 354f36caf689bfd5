//! Adversarial training: `L = CE(f(x~), y)`, x~ by projected gradient ascent of the same loss (Madry et al. 2018; `L_at`
//! of IGR's Algorithm 1).

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use super::term::inner_attack::InnerAttack;
use super::term::logit_rows::add_cross_entropy;
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::as_f64;
use crate::host::read;
use crate::registry::{Family, Info, Setting};
use thickset_engine::kernel::cross_entropy;

/// The registry's entry.
pub static INFO: Info = Info {
    id: "pgd-at",
    label: "AT",
    family: Family::Objective,
    summary: "The class loss on inputs whose class is attacked",
    formula: "L = CE(f(x~), y), x~ = argmax over the ball of CE(f(x~), y)",
    source: "IGR, Algorithm 1 (L_at), after Madry et al. 2018; the budget for tables is ours",
    direction: None,
    cost: "one forward and one backward pass a step of the attack, and a vanilla step",
    defaults: &[Setting::new("attack", "the search for x~")],
};

/// The search for perturbed inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PgdAtConfig {
    /// The search for x~.
    pub attack: InnerAttack,
}

impl PgdAtConfig {
    pub(super) fn perturbed(&self, batch: &Batch<'_>) -> Result<Tensor<2>> {
        perturbed(&self.attack, batch)
    }

    pub(super) fn loss_at(batch: &Batch<'_>, perturbed: Tensor<2>) -> Loss {
        batch.class_loss(perturbed)
    }
}

/// The rows that raise the cross-entropy most.
pub(super) fn perturbed(attack: &InnerAttack, batch: &Batch<'_>) -> Result<Tensor<2>> {
    batch.perturbed_or(|draws| {
        let labels = read(batch.labels.clone());
        let classes = batch.network.classes();
        let share = 1.0 / as_f64(labels.len() / classes);
        let slopes = |first: usize, logits: &[f64], slopes: &mut [f64]| {
            let labels = &labels[first * classes..];
            add_cross_entropy(logits, labels, classes, share, slopes);
        };
        if let Some(found) = attack.climb_logits(batch.network, &batch.x, draws, slopes) {
            return Ok(found);
        }
        attack.perturb(batch.network, &batch.x, draws, |network, x| {
            Ok(cross_entropy(network.logits(x), batch.labels.clone()))
        })
    })
}

impl Objective for PgdAtConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        self.attack.check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        Ok(Self::loss_at(batch, self.perturbed(batch)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn the_worst_corner_of_the_cube_by_hand() {
        // Every feature moves by 0.1 against its weight.
        let got = sample::toy_loss(PgdAtConfig::default(), toy::row(), None);
        let expected = sample::cross_entropy(3.0_f64.ln() - 0.7);
        toy::assert_close(&[got], &[expected]);
    }
}
