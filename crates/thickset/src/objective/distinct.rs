//! The objective of segmented models: rankings that hold beyond the border of a segment, and differ between rows.
//!
//! `L = CE + rho |V|^2 + lambda mean over x of [max over flips of R(I_flip, T) + R(I, T) / 2] + lambda_d relu(O - 1 + d*) + lambda_k
//! R(I, T_ref)`. R is the [ranking loss](super::term::ranking) of a row's own top-k set T, a constant; a flip is one gate that takes over
//! within the radius ([flips](super::term::flips)), and `I_flip` the explanation just beyond its border; O is the [mean
//! overlap](super::term::overlap) of two rows of the batch; `T_ref` are a reference model's sets, when retraining. The first `warmup` of
//! the training is `CE + rho |V|^2` alone, and over the next `ramp` the other weights rise from nothing.
//!
//! Where no border lies within the radius, rankings cannot change at all, and the weights of the ranking terms only widen gaps.

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use super::term::flips::Borders;
use super::term::gap::Pairs;
use super::term::overlap::mean_overlap;
use super::term::ranking::{RankedPairs, RankingMargin, levels};
use super::term::reading::mean_over_rows;
use super::{Batch, EXPLAIN, Loss, Objective, ObjectiveConfig};
use crate::check::{check_positive, check_weight};
use crate::explain::{Explainer, InlineExplain};
use crate::host::read;
use crate::model::{ModelConfig, SegmentedConfig};
use crate::registry::{Family, Info, Setting};
use crate::train::{OptimizerConfig, Schedule, TrainConfig};
use crate::{Error, Result};

/// The registry's entry; the model has the name `segmented`.
pub static INFO: Info = Info {
    id: "distinct",
    label: "Segmented",
    family: Family::Objective,
    summary: "The class loss of a segmented model, whose rankings hold beyond a segment's border and differ between rows",
    formula: "L = CE + rho |V|^2 + lambda mean [max over flips R(I_flip, T) + R(I, T) / 2] + lambda_d relu(O - 1 + d*) + lambda_k R(I, T_ref)",
    source: "thickset",
    direction: None,
    cost: "one explanation a border within the radius, and two input gradients a step",
    defaults: &[
        Setting::new("decay", "rho, on the squares of the segments' weights V"),
        Setting::new("weight", "lambda, of the ranking losses"),
        Setting::new("distinct_weight", "lambda_d, of too much overlap"),
        Setting::new("distinctness", "d*, the distinctness that is asked for"),
        Setting::new(
            "keep_weight",
            "lambda_k, of the reference's ranking when retraining",
        ),
        Setting::in_words(
            "radius",
            "the data's",
            "borders within this count, in encoded units",
        ),
        Setting::new("margin", "gamma of the ranking loss"),
        Setting::new("softness", "tau of the ranking loss"),
        Setting::new(
            "warmup",
            "share of the training that is the class loss alone",
        ),
        Setting::new("ramp", "share over which the weights then rise"),
        EXPLAIN,
    ],
};

/// Weights, the margin and when they begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DistinctConfig {
    /// On the squares of the segments' weights.
    pub decay: f64,
    /// Of the ranking losses.
    pub weight: f64,
    /// Of too much overlap.
    pub distinct_weight: f64,
    /// The distinctness that is asked for.
    pub distinctness: f64,
    /// Of the reference's ranking.
    pub keep_weight: f64,
    /// Borders within this count; the data's radius where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// The log ratio of importances that is asked for.
    pub margin: f64,
    /// How softly the ranking loss ends there.
    pub softness: f64,
    /// Share of the training that is the class loss alone.
    pub warmup: f64,
    /// Share of the training over which the weights then rise.
    pub ramp: f64,
    /// What is ranked; the papers' explanation for the kind of data if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
}

impl Default for DistinctConfig {
    fn default() -> Self {
        let RankingMargin { margin, softness } = RankingMargin::default();
        Self {
            decay: 3e-4,
            weight: 0.03,
            distinct_weight: 0.3,
            distinctness: 0.27,
            keep_weight: 0.0,
            radius: None,
            margin,
            softness,
            warmup: 0.3,
            ramp: 0.15,
            explain: None,
        }
    }
}

impl DistinctConfig {
    /// How such a model is trained: the settings that the method was found with.
    #[must_use]
    pub fn training() -> TrainConfig {
        TrainConfig {
            epochs: 40,
            batch: 256,
            schedule: Schedule::FlatThenLinear,
            clip: Some(5.0),
            optimizer: OptimizerConfig::Adam { rate: 1e-2 },
            ..TrainConfig::default()
        }
    }

    fn ranking(&self) -> RankingMargin {
        RankingMargin {
            margin: self.margin,
            softness: self.softness,
        }
    }

    /// The worst ranking loss of each row beyond the borders that it can reach, averaged; nothing where there is no border.
    fn beyond_borders(
        &self,
        batch: &Batch<'_>,
        explainer: &Explainer,
        pairs: &RankedPairs,
    ) -> Option<Tensor<1>> {
        let borders = Borders::of(batch.network)?;
        let radius = self.radius.unwrap_or(batch.radius);
        let x = read(batch.x.clone());
        let features = batch.network.features();
        let flips: Vec<_> = x
            .chunks(features)
            .map(|row| borders.flips(row, radius))
            .collect();
        let most = flips.iter().map(Vec::len).max().unwrap_or(0);
        if most == 0 {
            return None;
        }
        let mut frozen = batch.network.clone();
        frozen.untrack();
        let mut worst = vec![f64::NEG_INFINITY; flips.len()];
        let mut points = x.clone();
        let mut candidates = x.clone();
        for place in 0..most {
            for (row, flips) in flips.iter().enumerate() {
                // A row with fewer borders tries its last one again.
                if let Some(flip) = flips.get(place).or(flips.last()) {
                    candidates[row * features..(row + 1) * features].copy_from_slice(&flip.point);
                }
            }
            let importance = read(explainer.importance(&frozen, frozen.batch(&candidates)));
            let losses = pairs.losses_of(&importance, self.ranking());
            for (row, loss) in losses.into_iter().enumerate() {
                if loss > worst[row] {
                    worst[row] = loss;
                    let of = row * features..(row + 1) * features;
                    points[of.clone()].copy_from_slice(&candidates[of]);
                }
            }
        }
        let points = batch.network.batch(&points);
        let importance = explainer.importance(batch.network, points);
        Some(pairs.mean_loss(&importance, self.ranking()))
    }
}

/// The share of their weights that terms have when this share of the training is done.
pub(super) fn ramped(done: f64, warmup: f64, ramp: f64) -> f64 {
    if done < warmup {
        0.0
    } else if done < warmup + ramp {
        (done - warmup) / ramp
    } else {
        1.0
    }
}

pub(super) fn check_share(what: &'static str, got: f64) -> Result<()> {
    if (0.0..=1.0).contains(&got) {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        expected: "from 0 to 1",
        got,
    })
}

impl Objective for DistinctConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`distinct.decay`", self.decay)?;
        check_weight("`distinct.weight`", self.weight)?;
        check_weight("`distinct.distinct_weight`", self.distinct_weight)?;
        check_weight("`distinct.keep_weight`", self.keep_weight)?;
        check_weight("`distinct.margin`", self.margin)?;
        check_positive("`distinct.softness`", self.softness)?;
        check_share("`distinct.distinctness`", self.distinctness)?;
        check_share("`distinct.warmup`", self.warmup)?;
        check_share("`distinct.ramp`", self.ramp)?;
        match self.radius {
            Some(radius) => check_positive("`distinct.radius`", radius),
            None => Ok(()),
        }
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let pass = batch.network.pass(batch.x.clone());
        let mut loss = batch.class_loss_of(&pass);
        if let Some(gated) = batch.network.gated_linear().filter(|_| self.decay > 0.0) {
            let weights = gated.gated_weight().clone();
            let squares = (weights.clone() * weights).sum();
            loss = loss.plus("decay", self.decay, squares, false);
        }
        let share = ramped(batch.done, self.warmup, self.ramp);
        let is_asked = self.weight > 0.0 || self.distinct_weight > 0.0 || self.keep_weight > 0.0;
        if share == 0.0 || !is_asked {
            return Ok(loss);
        }
        let explainer = batch.explainer(&pass)?;
        let at = explainer.at(&pass);
        let importance = at.value();
        let levels = levels(&importance);
        let count = importance.dims()[1];
        if self.weight > 0.0 {
            let own = read(at.constant());
            let pairs = RankedPairs::new(&own, count, batch.k, Pairs::All, None)?;
            let here = mean_over_rows(pairs.loss(&levels, self.ranking()));
            loss = loss.plus("ranking", share * self.weight / 2.0, here, false);
            if let Some(beyond) = self.beyond_borders(batch, &explainer, &pairs) {
                loss = loss.plus("flips", share * self.weight, beyond, false);
            }
        }
        let overlap = mean_overlap(&levels, batch.k).filter(|_| self.distinct_weight > 0.0);
        if let Some(overlap) = overlap {
            let excess = (overlap + (self.distinctness - 1.0)).clamp_min(0.0);
            loss = loss.plus("overlap", share * self.distinct_weight, excess, false);
        }
        if self.keep_weight > 0.0 && batch.reference.is_some() {
            let pairs = batch.ranked_pairs(&at, Pairs::All, None)?;
            let kept = mean_over_rows(pairs.loss(&levels, self.ranking()));
            loss = loss.plus("kept", share * self.keep_weight, kept, false);
        }
        Ok(loss)
    }

    fn usual_training(&self) -> Option<TrainConfig> {
        Some(Self::training())
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

    /// A segmented one, whatever was named.
    fn model(&self, model: ModelConfig) -> ModelConfig {
        match model {
            ModelConfig::Segmented(config) => config.into(),
            _ => SegmentedConfig::default().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_begin_after_the_warm_up_and_rise_over_the_ramp() {
        for (done, expected) in [
            (0.0, 0.0),
            (0.29, 0.0),
            (0.375, 0.5),
            (0.5, 1.0),
            (1.0, 1.0),
        ] {
            assert!((ramped(done, 0.3, 0.15) - expected).abs() < 1e-12, "{done}");
        }
        assert!((ramped(0.0, 0.0, 0.0) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_model_is_segmented_whatever_was_named() {
        let config = DistinctConfig::default();
        let named = ModelConfig::Segmented(SegmentedConfig {
            prototypes: Some(3),
            ..SegmentedConfig::default()
        });
        assert_eq!(config.model(named.clone()), named);
        let other = ModelConfig::Linear(crate::model::LinearConfig::default());
        assert_eq!(config.model(other).kind(), "segmented");
    }
}
