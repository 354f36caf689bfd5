//! Attacks of the region search in training: `L = CE + w [R(I(x_a), T) + R(I(x), T) / 2]`.
//!
//! `x_a` is the worst point that a small [region search](crate::attack::region_search) finds around each row with the network as it is, the prediction
//! held; T is the row's own salient set, and R the [ranking loss](super::term::ranking).

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use super::distinct::{check_share, ramped};
use super::term::gap::Pairs;
use super::term::ranking::RankingMargin;
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::attack::region_search::{BallRows, RegionSearchConfig};
use crate::check::{check_positive, check_weight};
use crate::host::read;
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "worst-region",
    label: "Worst region",
    family: Family::Objective,
    summary: "The class loss, and the row's own salient set kept in the worst region that a small search finds around it",
    formula: "L = CE + w [R(I(x_a), T) + R(I(x), T) / 2], x_a of the worst region found",
    source: "thickset",
    direction: None,
    cost: "`beam` times `depth` regions a row and step; dense ReLU chains alone",
    defaults: &[
        Setting::new("weight", "w, of the ranking losses"),
        Setting::in_words("radius", "the data's", "of the search, in encoded units"),
        Setting::new("beam", "regions that the search goes on with"),
        Setting::new("depth", "gates that are crossed one after the other"),
        Setting::new("margin", "gamma of the ranking loss"),
        Setting::new("softness", "tau of the ranking loss"),
        Setting::new(
            "warmup",
            "share of the training that is the class loss alone",
        ),
        Setting::new("ramp", "share over which the weight then rises"),
    ],
};

/// The weight and the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorstRegionConfig {
    /// Of the ranking losses.
    pub weight: f64,
    /// Of the search; the data's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Regions that the search goes on with.
    pub beam: usize,
    /// Gates that are crossed one after the other.
    pub depth: usize,
    /// The log ratio of importances that is asked for.
    pub margin: f64,
    /// How softly the ranking loss ends there.
    pub softness: f64,
    /// Share of the training that is the class loss alone.
    pub warmup: f64,
    /// Share of the training over which the weight then rises.
    pub ramp: f64,
}

impl Default for WorstRegionConfig {
    fn default() -> Self {
        Self {
            weight: 0.1,
            radius: None,
            beam: 1,
            depth: 6,
            margin: 0.5,
            softness: 0.25,
            warmup: 0.25,
            ramp: 0.15,
        }
    }
}

impl Objective for WorstRegionConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`worst-region.weight`", self.weight)?;
        check_weight("`worst-region.margin`", self.margin)?;
        check_positive("`worst-region.softness`", self.softness)?;
        check_share("`worst-region.warmup`", self.warmup)?;
        check_share("`worst-region.ramp`", self.ramp)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let share = ramped(batch.done, self.warmup, self.ramp);
        if share == 0.0 || self.weight == 0.0 {
            return Ok(batch.class_loss(batch.x.clone()));
        }
        let pass = batch.network.pass(batch.x.clone());
        let loss = batch.class_loss_of(&pass);
        let explainer = batch.explainer(&pass)?;
        let at = explainer.at(&pass);
        let pairs = batch.ranked_pairs(&at, Pairs::All, None)?;
        let margin = RankingMargin {
            margin: self.margin,
            softness: self.softness,
        };
        let here = pairs.mean_loss(&at.value(), margin);
        let point: Tensor<2> = batch.perturbed_or(|_| {
            let importances = read(at.constant());
            let x = read(super::term::reading::constant(&batch.x));
            let features = batch.network.features();
            let classes = super::term::reading::predicted(&pass.logits())?;
            let tops: Vec<TopK> = importances
                .chunks(features)
                .map(|row| TopK::of(row, batch.k))
                .collect::<Result<_>>()?;
            let search = RegionSearchConfig {
                beam: self.beam,
                depth: self.depth,
                tries: 4,
            };
            let mut frozen = batch.network.clone();
            frozen.untrack();
            let points = search.worst_in_ball(
                &frozen,
                &BallRows {
                    x: &x,
                    classes: &classes,
                    tops: &tops,
                    radius: self.radius.unwrap_or(batch.radius),
                },
            )?;
            Ok(batch.network.tensor(points, batch.x.dims()))
        })?;
        let beside = explainer.importance(batch.network, point);
        let worst = pairs.mean_loss(&beside, margin);
        Ok(loss
            .plus("ranking", share * self.weight / 2.0, here, false)
            .plus("worst ranking", share * self.weight, worst, false))
    }
}
