//! IGR: a base loss and the angle between the attributions of an input and of its attacked twin,
//! `L = L_base(x~) + w (1 - cos(IG(x), IG(x~)))` (IGR, Algorithm 1).
//!
//! IG is of the true class's logit, from a zero baseline, signed, and is differentiated through. x~ ascends the base loss
//! (section C.1): for MART that is more than the cross-entropy, which MART alone ascends; for TRADES the divergence is all
//! of it that x~ changes. The start is the base's own.

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use super::term::path_pairs::mean_pair_loss;
use super::term::reading::mean_over_rows;
use super::term::similarity::{cosine, cosine_slopes};
use super::{Batch, Loss, Objective, mart, pgd_at, trades};
use crate::check::check_weight;
use crate::explain::integrated_gradients::of_logit;
use crate::name_or_table::name_or_table;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "igr",
    label: "IGR",
    family: Family::Objective,
    summary: "An adversarial class loss and the angle between attributions of an input and its attacked twin",
    formula: "L = L_base + w (1 - cos(IG(x), IG(x~)))",
    source: "IGR, Algorithm 1 and C.1; weight and steps are not in the appendix, 1 is what a replication uses, steps are ours",
    direction: None,
    cost: "the base's, and 2 * steps input gradients",
    defaults: &[
        Setting::new("weight", "w, the weight of the angle"),
        Setting::new("steps", "steps of the integrated gradients"),
        Setting::new("base", "or \"trades\" or \"mart\", with their settings"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// What IGR is added to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", remote = "Self")]
pub enum Base {
    /// Adversarial training.
    PgdAt(pgd_at::PgdAtConfig),
    /// TRADES.
    Trades(trades::TradesConfig),
    /// MART.
    Mart(mart::MartConfig),
}

name_or_table!(Base);

impl Base {
    fn objective(&self) -> &dyn Objective {
        match self {
            Self::PgdAt(config) => config,
            Self::Trades(config) => config,
            Self::Mart(config) => config,
        }
    }

    pub(super) fn perturbed(&self, batch: &Batch<'_>) -> Result<Tensor<2>> {
        match self {
            Self::PgdAt(config) => config.perturbed(batch),
            Self::Trades(config) => config.perturbed(batch),
            Self::Mart(config) => config.perturbed_by_itself(batch),
        }
    }

    fn loss_at(&self, batch: &Batch<'_>, perturbed: Tensor<2>) -> Loss {
        match self {
            Self::PgdAt(_) => pgd_at::PgdAtConfig::loss_at(batch, perturbed),
            Self::Trades(config) => config.loss_at(batch, perturbed),
            Self::Mart(config) => config.loss_at(batch, perturbed),
        }
    }
}

/// The angle's weight and the base loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IgrConfig {
    /// The weight of the angle.
    pub weight: f64,
    /// Steps of the integrated gradients.
    pub steps: usize,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
    /// What it is added to.
    pub base: Base,
}

impl Default for IgrConfig {
    fn default() -> Self {
        Self {
            weight: 1.0,
            steps: 10,
            adaptive: false,
            base: Base::PgdAt(pgd_at::PgdAtConfig::default()),
        }
    }
}

impl Objective for IgrConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`igr.weight`", self.weight)?;
        check_steps("`igr.steps`", self.steps)?;
        self.base.objective().check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        if self.weight == 0.0 {
            return self.base.objective().loss(batch);
        }
        let perturbed = self.base.perturbed(batch)?;
        let loss = self.base.loss_at(batch, perturbed.clone());
        let rows = [&batch.x, &perturbed];
        let at_once = mean_pair_loss(
            batch.network,
            rows,
            &batch.labels,
            self.steps,
            one_minus_cosine,
        );
        let angle = at_once.unwrap_or_else(|| {
            let of = |x: &Tensor<2>| of_logit(batch.network, x, &batch.labels, self.steps);
            mean_over_rows(-cosine(of(&batch.x), of(&perturbed)) + 1.0)
        });
        Ok(loss.plus("angle", self.weight, angle, self.adaptive))
    }
}

fn one_minus_cosine(first: &mut [f64], second: &mut [f64]) -> f64 {
    let cosine = cosine_slopes(first, second);
    for slope in first.iter_mut().chain(second) {
        *slope = -*slope;
    }
    1.0 - cosine
}

/// Refuses integrated gradients without a step.
pub(super) fn check_steps(what: &'static str, steps: usize) -> Result<()> {
    if steps > 0 {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        expected: "at least 1",
        got: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn the_angle_between_two_attributions_by_hand() {
        // Of a linear logit they are the weights times the rows, (4, 0, 0) and (4, -2, 0); the attacked margin is 2.
        let got = sample::toy_loss(IgrConfig::default(), [1.0, 0.0, 0.0], Some([1.0, 1.0, 0.0]));
        let expected = sample::cross_entropy(2.0) + 1.0 - 2.0 / 5.0_f64.sqrt();
        toy::assert_close(&[got], &[expected]);
    }
}
