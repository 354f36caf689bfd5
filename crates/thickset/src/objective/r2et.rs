//! R2ET: `L = CE - w1 * mean gap + w2 * ||H z||` (R2ET, Eq. 6).
//!
//! The gap is between salient features and others, of the explanation I of the class c predicted at x, which is the
//! gradient of `f_c`, absolute, for tables; H is its Jacobian. For `concept` the features are the units that the last layer
//! reads (R2ET, section 6.2). The salient set is the model's own ranking before the step when training from scratch, and the reference
//! model's when retraining (B.1.2); it is a constant for the gradient. The paper sums the gaps; we divide by the number of
//! pairs, so that a weight means the same for every number of features. The four rows of Table 1 are `pairs` "all" or
//! "closest", with or without `hessian_weight`.

use serde::{Deserialize, Serialize};

use super::term::gap::Pairs;
use super::term::hessian_norm::{self, HessianMethod};
use super::{Batch, EXPLAIN, Loss, Objective, ObjectiveConfig};
use crate::check::{as_f64, check_positive, check_weight};
use crate::data::InputShape;
use crate::explain::InlineExplain;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "r2et",
    label: "R2ET",
    family: Family::Objective,
    summary: "The class loss, a wider gap between salient and other features, and a smaller Hessian",
    formula: "L = CE - w1 mean over pairs of (I_i - I_j) + w2 ||H z||_2, z = sign(g) / ||sign(g)||_2",
    source: "R2ET, Eq. 6; weights are ours, on the mean gap",
    direction: None,
    cost: "two input gradients and one Hessian product a step, about three vanilla steps",
    defaults: &[
        Setting::new("gap_weight", "w1, the weight of the mean gap"),
        Setting::new(
            "hessian_weight",
            "w2; 0 gives the paper's variants without H, images want about 1",
        ),
        Setting::new("pairs", "or \"closest\" (-mm), \"mirrored\", \"boundary\""),
        Setting::in_words(
            "pair_count",
            "k",
            "k', the number of pairs where they are not all",
        ),
        Setting::new("hessian", "or \"finite-difference\", as the paper"),
        Setting::new("step", "length of the finite difference"),
        Setting::new("adaptive", "weigh relative to the class loss"),
        EXPLAIN,
    ],
};

/// Weights and choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct R2etConfig {
    /// The weight of the mean gap.
    pub gap_weight: f64,
    /// The weight of the Hessian norm.
    pub hessian_weight: f64,
    /// Which pairs of features the gap is of.
    pub pairs: Pairs,
    /// How many pairs, where they are not all; k where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_count: Option<usize>,
    /// How the Hessian norm is computed.
    pub hessian: HessianMethod,
    /// Length of the finite difference.
    pub step: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
    /// What is ranked; the papers' explanation for the kind of data if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
}

/// The weight of the Hessian norm that serves inputs of this shape. As the paper finds, gaps do most for a few features, and
/// curvature for the many of images and graphs.
#[must_use]
pub fn hessian_weight(shape: &InputShape) -> f64 {
    match shape {
        InputShape::Table => R2etConfig::default().hessian_weight,
        _ => 1.0,
    }
}

impl Default for R2etConfig {
    fn default() -> Self {
        Self {
            gap_weight: 0.2,
            hessian_weight: 0.01,
            pairs: Pairs::All,
            pair_count: None,
            hessian: HessianMethod::Exact,
            step: 0.01,
            adaptive: false,
            explain: None,
        }
    }
}

impl Objective for R2etConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`r2et.gap_weight`", self.gap_weight)?;
        check_weight("`r2et.hessian_weight`", self.hessian_weight)?;
        check_positive("`r2et.step`", self.step)?;
        if self.pair_count == Some(0) {
            return Err(Error::OutOfRange {
                what: "`r2et.pair_count`",
                expected: "at least 1",
                got: 0.0,
            });
        }
        Ok(())
    }

    fn check_k(&self, k: usize) -> Result<()> {
        match self.pair_count {
            Some(count) if count > k => Err(Error::OutOfRange {
                what: "`r2et.pair_count`",
                expected: "at most k",
                got: as_f64(count),
            }),
            _ => Ok(()),
        }
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        if self.gap_weight == 0.0 && self.hessian_weight == 0.0 {
            return Ok(batch.class_loss(batch.x.clone()));
        }
        let pass = batch.network.pass(batch.x.clone());
        let mut loss = batch.class_loss_of(&pass);
        let explainer = batch.explainer(&pass)?;
        let importance = explainer.at(&pass);
        if self.gap_weight > 0.0 {
            let weights = batch.pair_weights(&importance, self.pairs, self.pair_count)?;
            let gap = weights.mean_gap(&importance);
            loss = loss.plus("gap", -self.gap_weight, gap, self.adaptive);
        }
        if self.hessian_weight > 0.0 {
            let norm = match self.hessian {
                HessianMethod::Exact => hessian_norm::exact(&importance),
                HessianMethod::FiniteDifference => hessian_norm::finite_difference(
                    batch.network,
                    &batch.x,
                    &explainer,
                    &importance,
                    self.step,
                ),
            };
            loss = loss.plus("hessian", self.hessian_weight, norm, self.adaptive);
        }
        Ok(loss)
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

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn gap_and_hessian_norm_of_one_row_by_hand() {
        // I = (12, 6, 3) / 16, and the first is salient: the mean of 6/16 and 9/16. With z = (1, -1, 1) / sqrt 3,
        // H z = -3/32 * 7 / sqrt 3 * (4, -2, 1), whose length is 21/32 sqrt 7.
        let (gap, hessian) = (7.5 / 16.0, 21.0 / 32.0 * 7.0_f64.sqrt());
        let of = |pairs: Pairs, gap_weight: f64, hessian_weight: f64| {
            let config = R2etConfig {
                gap_weight,
                hessian_weight,
                pairs,
                ..R2etConfig::default()
            };
            sample::toy_loss(config, toy::row(), None)
        };
        let class = -0.75_f64.ln();
        toy::assert_close(&[of(Pairs::All, 0.5, 0.0)], &[class - 0.5 * gap]);
        toy::assert_close(&[of(Pairs::All, 0.0, 0.1)], &[class + 0.1 * hessian]);
        toy::assert_close(
            &[of(Pairs::All, 0.5, 0.1)],
            &[class - 0.5 * gap + 0.1 * hessian],
        );
        toy::assert_close(&[of(Pairs::Closest, 0.5, 0.0)], &[class - 0.5 * 6.0 / 16.0]);
    }

    #[test]
    fn on_concepts_the_gap_is_of_units_and_the_norm_of_their_jacobian() {
        // A linear model's last layer reads the row (x0, 1, 2) itself, whose change along a unit direction is that direction.
        let config = R2etConfig {
            gap_weight: 0.5,
            hessian_weight: 0.1,
            explain: Some(InlineExplain {
                explanation: crate::explain::concept::ConceptConfig {}.into(),
                ..InlineExplain::default()
            }),
            ..R2etConfig::default()
        };
        let x = toy::row();
        let gap = f64::midpoint(2.0 - 1.0, 2.0 - x[0]);
        let expected = -0.75_f64.ln() - 0.5 * gap + 0.1;
        toy::assert_close(&[sample::toy_loss(config, x, None)], &[expected]);
    }
}
