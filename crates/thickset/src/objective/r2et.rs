//! R2ET: `L = CE + w1 * R + w2 * ||H z||`, or with the paper's gap `L = CE - w1 * mean gap + w2 * ||H z||` (R2ET, Eq. 6).
//!
//! `gap = "ranking"`, the default, is the [ranking loss](super::term::ranking) R of the model's own salient set: it ends at a margin
//! and does not depend on the scale of the explanation. The paper's `gap = "difference"` has no end: once the classes are told
//! apart it is had cheapest by larger weights, and a long training loses its AUC to it. `docs/deviations.md` has numbers.
//!
//! The gap is between salient features and others, of the explanation I of the class c predicted at x, which is the
//! gradient of `f_c`, absolute, for tables; H is its Jacobian. For `concept` the features are the units that the last layer
//! reads (R2ET, section 6.2). The salient set is the model's own ranking before the step when training from scratch, and the reference
//! model's when retraining (B.1.2); it is a constant for the gradient. The paper sums the gaps; we divide by the number of
//! pairs, so that a weight means the same for every number of features. The four rows of Table 1 are `pairs` "all" or
//! "closest", with or without `hessian_weight`.

pub(super) mod at_once;

use serde::{Deserialize, Serialize};

use super::term::gap::Pairs;
use super::term::hessian_norm::{self, HessianMethod};
use super::term::ranking::RankingMargin;
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
    formula: "L = CE + w1 mean over pairs of tau softplus((gamma - l_i + l_j) / tau) + w2 ||H z||_2, l = log(I / mean I + 0.05); \
              with gap = \"difference\" CE - w1 mean over pairs of (I_i - I_j) + w2 ||H z||_2; z = sign(g) / ||sign(g)||_2",
    source: "R2ET, Eq. 6; the bounded gap and the weights are ours",
    direction: None,
    cost: "two input gradients and one Hessian product a step, about three vanilla steps",
    defaults: &[
        Setting::new("gap", "or \"difference\", the paper's, which has no bound"),
        Setting::new("gap_weight", "w1, the weight of the gap"),
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
        Setting::new(
            "margin",
            "gamma, the log ratio of importances that the ranking loss asks for",
        ),
        Setting::new("softness", "tau, how softly the ranking loss ends there"),
        EXPLAIN,
    ],
};

/// What keeps salient features above the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gap {
    /// The ranking loss: log ratios up to a margin.
    #[default]
    Ranking,
    /// The paper's mean difference.
    Difference,
}

/// Weights and choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct R2etConfig {
    /// What keeps salient features above the others.
    pub gap: Gap,
    /// The weight of the gap.
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
    /// The log ratio of importances that the ranking loss asks for.
    pub margin: f64,
    /// How softly the ranking loss ends there.
    pub softness: f64,
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
            gap: Gap::default(),
            gap_weight: 0.05,
            hessian_weight: 0.01,
            pairs: Pairs::All,
            pair_count: None,
            hessian: HessianMethod::Exact,
            step: 0.01,
            adaptive: false,
            margin: 1.0,
            softness: 0.25,
            explain: None,
        }
    }
}

impl R2etConfig {
    fn ranking_margin(&self) -> RankingMargin {
        RankingMargin {
            margin: self.margin,
            softness: self.softness,
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
        check_weight("`r2et.margin`", self.margin)?;
        check_positive("`r2et.softness`", self.softness)?;
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
        if let Some(loss) = at_once::loss(self, batch)? {
            return Ok(loss);
        }
        let pass = batch.network.pass(batch.x.clone());
        let mut loss = batch.class_loss_of(&pass);
        let explainer = batch.explainer(&pass)?;
        let importance = explainer.at(&pass);
        if self.gap_weight > 0.0 {
            loss = match self.gap {
                Gap::Ranking => {
                    let pairs = batch.ranked_pairs(&importance, self.pairs, self.pair_count)?;
                    let ranking = pairs.mean_loss(&importance.value(), self.ranking_margin());
                    loss.plus("ranking", self.gap_weight, ranking, self.adaptive)
                }
                Gap::Difference => {
                    let weights = batch.pair_weights(&importance, self.pairs, self.pair_count)?;
                    let gap = weights.mean_gap(&importance);
                    loss.plus("gap", -self.gap_weight, gap, self.adaptive)
                }
            };
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
                gap: Gap::Difference,
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
    fn the_ranking_loss_of_one_row_by_hand() {
        // I = (12, 6, 3) / 16 has the mean 7 / 16, so the levels are ln(1 + 12 / 0.35) and so on.
        let level = |importance: f64| (importance / 0.35).ln_1p();
        let pair = |other: f64| {
            let short = (1.0 - level(12.0) + level(other)) / 0.25;
            0.25 * short.exp().ln_1p()
        };
        let of = |pairs: Pairs| {
            let config = R2etConfig {
                gap_weight: 0.5,
                hessian_weight: 0.0,
                pairs,
                ..R2etConfig::default()
            };
            sample::toy_loss(config, toy::row(), None)
        };
        let class = -0.75_f64.ln();
        let both = f64::midpoint(pair(6.0), pair(3.0));
        toy::assert_close(&[of(Pairs::All)], &[class + 0.5 * both]);
        toy::assert_close(&[of(Pairs::Closest)], &[class + 0.5 * pair(6.0)]);
    }

    #[test]
    fn on_concepts_the_gap_is_of_units_and_the_norm_of_their_jacobian() {
        // A linear model's last layer reads the row (x0, 1, 2) itself, whose change along a unit direction is that direction.
        let config = R2etConfig {
            gap: Gap::Difference,
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
