//! The class loss and the radius in which the ranking holds, to first order: `L = CE - w r`,
//! `r = min over salient i and other j of (I_i - I_j) / (||H_i - H_j||_2 + 1e-6)`, capped at 5 (R2ET, Prop. 4.5 with the
//! Hessian taken at x; a Taylor estimate and no certificate).
//!
//! `I_i - I_j = <I, d>` and `H_i - H_j = H' d` for `d = e_i - e_j`, H the Jacobian of the importances. So once the least pair
//! is known, which takes the whole Jacobian as a constant, one exact product with d is all that is differentiated.

use serde::{Deserialize, Serialize};
use thickset_engine::{Tensor, one_hot};

use super::term::gap::Pairs;
use super::term::hessian_norm::lengths;
use super::term::reading::{constant, mean_over_rows};
use super::{Batch, EXPLAIN, Loss, Objective, ObjectiveConfig};
use crate::Result;
use crate::check::{check_finite, check_positive, check_weight};
use crate::explain::{Explainer, InlineExplain};
use crate::host::read;
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "cl",
    label: "CL",
    family: Family::Objective,
    summary: "The class loss and the radius in which the ranking holds, to first order",
    formula: "L = CE - w min over i <= k < j of (I_i - I_j) / (||H_i - H_j||_2 + 1e-6), capped",
    source: "R2ET, Prop. 4.5 and B.2.5 (CL), after Hein and Andriushchenko 2017; weight and cap are ours",
    direction: None,
    cost: "one Hessian product a feature and step, without a tape: for tables",
    defaults: &[
        Setting::new("weight", "w, the weight of the radius"),
        Setting::new("cap", "a radius above this counts as this"),
        Setting::new("adaptive", "weigh relative to the class loss"),
        EXPLAIN,
    ],
};

/// Keeps the quotient finite where two features change alike.
const LEAST_NORM: f64 = 1e-6;

/// The radius's weight and cap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClConfig {
    /// The weight of the radius.
    pub weight: f64,
    /// A radius above this counts as this.
    pub cap: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
    /// What is ranked; the papers' explanation for the kind of data if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
}

impl Default for ClConfig {
    fn default() -> Self {
        Self {
            weight: 0.01,
            cap: 5.0,
            adaptive: false,
            explain: None,
        }
    }
}

impl Objective for ClConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`cl.weight`", self.weight)?;
        check_positive("`cl.cap`", self.cap)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        if self.weight == 0.0 {
            return Ok(batch.class_loss(batch.x.clone()));
        }
        let pass = batch.network.pass(batch.x.clone());
        let loss = batch.class_loss_of(&pass);
        let explainer = batch.explainer(&pass)?;
        let pairs = least_pairs(batch, &explainer)?;
        let importance = explainer.at(&pass);
        let gaps = importance.weighted(pairs.clone()).sum_dim(1);
        let norms = lengths(importance.pull_back(pairs)) + LEAST_NORM;
        let radius = mean_over_rows((gaps / norms).clamp_max(self.cap));
        Ok(loss.plus("radius", -self.weight, radius, self.adaptive))
    }

    fn explain(&self) -> Option<&InlineExplain> {
        self.explain.as_ref()
    }

    fn with_explain(&self, explain: &InlineExplain) -> Option<ObjectiveConfig> {
        let explain = Some(explain.clone());
        Some(
            Self {
                explain,
                ..self.clone()
            }
            .into(),
        )
    }
}

/// `d` of each row's pair with the least quotient, a constant: 1 at the salient feature, -1 at the other.
fn least_pairs(batch: &Batch<'_>, explainer: &Explainer) -> Result<Tensor<2>> {
    let mut frozen = batch.network.clone();
    frozen.untrack();
    let pass = frozen.pass(constant(&batch.x));
    let importance = explainer.at(&pass);
    let own = read(importance.constant());
    check_finite("the explanation", &own)?;
    let ranked = batch.ranked(&importance)?;
    // Refuses a k that does not fit, in the same words as every other objective.
    batch.pair_weights(&importance, Pairs::All, None)?;
    let [rows, features] = batch.x.dims();
    let count = own.len() / rows.max(1);
    // The gradient of importance i at every row.
    let gradient = |i: usize| {
        let weights = one_hot(
            &vec![i; rows],
            count,
            frozen.dtype(),
            &pass.input().device(),
        );
        read(importance.pull_back(weights))
    };
    let gradients: Vec<Vec<f64>> = (0..count).map(gradient).collect();
    let mut pairs = vec![0.0; rows * count];
    for (row, pair) in pairs.chunks_mut(count).enumerate() {
        let of_row = row * count..(row + 1) * count;
        let salient = TopK::of(&ranked[of_row.clone()], batch.k)?;
        let gradient = |i: usize| &gradients[i][row * features..(row + 1) * features];
        let (i, j) = least_pair(&own[of_row], gradient, &salient);
        pair[i] = 1.0;
        pair[j] = -1.0;
    }
    Ok(batch.network.tensor(pairs, [rows, count]))
}

/// The pair with the least quotient, given the importances of a row and their gradients.
fn least_pair<'g>(
    importance: &[f64],
    gradient: impl Fn(usize) -> &'g [f64],
    salient: &TopK,
) -> (usize, usize) {
    let mut least = (f64::INFINITY, (0, 0));
    for i in salient.iter() {
        for j in (0..importance.len()).filter(|&j| !salient.contains(j)) {
            let (of_i, of_j) = (gradient(i), gradient(j));
            let square: f64 = of_i.iter().zip(of_j).map(|(a, b)| (a - b).powi(2)).sum();
            let quotient = (importance[i] - importance[j]) / (square.sqrt() + LEAST_NORM);
            if quotient < least.0 {
                least = (quotient, (i, j));
            }
        }
    }
    least.1
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn the_radius_of_one_row_by_hand() {
        // The gradient of I_i is -3/32 |w_i| w, so (I_i - I_j) / ||H_i - H_j|| is 2 / sqrt 21 for every pair; what keeps the
        // quotient finite weighs most on the shorter difference, that of the first two.
        let config = ClConfig {
            weight: 0.1,
            ..ClConfig::default()
        };
        let radius = (6.0 / 16.0) / (6.0 / 32.0 * 21.0_f64.sqrt() + LEAST_NORM);
        let expected = -0.75_f64.ln() - 0.1 * radius;
        toy::assert_close(&[sample::toy_loss(config, toy::row(), None)], &[expected]);
    }
}
