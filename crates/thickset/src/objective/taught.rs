//! A network that is taught which features shall be salient: `L = CE + lambda [R(I(x_a), T) + R(I(x), T) / 2]`.
//!
//! T are the top-k sets of a teacher, which is fitted first on the same rows. A segmented model's sets hold by construction and differ
//! between rows, and the network learns them where it may explain by more than the teacher can. Where segments describe the data badly, as on tables
//! of numbers alone, the teacher can be the same network trained by the class loss alone: its sets are as distinct as the data make them, and
//! the student learns to keep them. R is the
//! [ranking loss](super::term::ranking). `x_a` is the worst of a short search in the ball: a random start, and three steps of unit
//! length times 0.7, 0.4 and 0.4 of the radius up the gradient of R, each projected; the prediction is not held. The network must be smooth for that
//! search to have a direction, so softplus replaces `ReLU`.

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use super::distinct::{DistinctConfig, check_share, ramped};
use super::softplus::SoftplusConfig;
use super::term::gap::Pairs;
use super::term::ranking::{RankedPairs, RankingMargin};
use super::term::reading::constant;
use super::{Batch, EXPLAIN, Loss, Objective, ObjectiveConfig, Teacher};
use crate::Result;
use crate::attack::threat::{BallConfig, Norm};
use crate::check::{check_positive, check_weight};
use crate::explain::{Explainer, InlineExplain};
use crate::model::{Activation, ModelConfig, SegmentedConfig};
use crate::registry::{Family, Info, Setting};
use crate::train::{OptimizerConfig, Schedule, TrainConfig};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "taught",
    label: "Taught",
    family: Family::Objective,
    summary: "The class loss, and the salient sets of a segmented teacher, kept at the worst point of a short search",
    formula: "L = CE + lambda [R(I(x_a), T) + R(I(x), T) / 2], T the teacher's top-k sets",
    source: "thickset",
    direction: None,
    cost: "a segmented model first; then five input gradients and three second-order steps a batch",
    defaults: &[
        Setting::new("weight", "lambda, of the ranking losses"),
        Setting::in_words("radius", "the data's", "of the search, in encoded units"),
        Setting::new("margin", "gamma of the ranking loss"),
        Setting::new("softness", "tau of the ranking loss"),
        Setting::new("rho", "sharpness of the softplus that replaces ReLU"),
        Setting::new(
            "warmup",
            "share of the training that is the class loss alone",
        ),
        Setting::new("ramp", "share over which the weight then rises"),
        Setting::in_words(
            "taught_by",
            "\"segmented\"",
            "or \"plain\": the same network by the class loss alone",
        ),
        Setting::in_words(
            "teacher",
            "the defaults of `distinct`",
            "the settings of a segmented teacher's objective",
        ),
        Setting::in_words(
            "teacher_model",
            "a segmented model with its defaults",
            "a segmented teacher's architecture",
        ),
        EXPLAIN,
    ],
};

/// Step lengths of the search, in radii.
const STEPS: [f64; 3] = [0.7, 0.4, 0.4];

/// Whose sets are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaughtBy {
    /// A segmented model's.
    #[default]
    Segmented,
    /// The same network's, trained by the class loss alone.
    Plain,
}

impl TaughtBy {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The weight, the search and the teacher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaughtConfig {
    /// Of the ranking losses.
    pub weight: f64,
    /// Of the search; the data's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// The log ratio of importances that is asked for.
    pub margin: f64,
    /// How softly the ranking loss ends there.
    pub softness: f64,
    /// Sharpness of the softplus that replaces `ReLU`.
    pub rho: f64,
    /// Share of the training that is the class loss alone.
    pub warmup: f64,
    /// Share of the training over which the weight then rises.
    pub ramp: f64,
    /// Whose sets are kept.
    #[serde(skip_serializing_if = "TaughtBy::is_usual")]
    pub taught_by: TaughtBy,
    /// A segmented teacher's objective; its defaults where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher: Option<DistinctConfig>,
    /// A segmented teacher's architecture; the usual segmented model where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher_model: Option<Box<SegmentedConfig>>,
    /// What is ranked; the papers' explanation for the kind of data if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
}

impl Default for TaughtConfig {
    fn default() -> Self {
        Self {
            weight: 0.2,
            radius: None,
            margin: 0.5,
            softness: 0.25,
            rho: 5.0,
            warmup: 0.25,
            ramp: 0.15,
            taught_by: TaughtBy::default(),
            teacher: None,
            teacher_model: None,
            explain: None,
        }
    }
}

impl TaughtConfig {
    /// How such a network is trained: the settings that the method was found with.
    #[must_use]
    pub fn training() -> TrainConfig {
        TrainConfig {
            epochs: 36,
            batch: 256,
            schedule: Schedule::FlatThenLinear,
            clip: Some(5.0),
            optimizer: OptimizerConfig::Adam { rate: 3e-3 },
            ..TrainConfig::default()
        }
    }

    fn ranking(&self) -> RankingMargin {
        RankingMargin {
            margin: self.margin,
            softness: self.softness,
        }
    }

    /// The worst point of the search for each row, a constant.
    fn searched(
        &self,
        batch: &Batch<'_>,
        explainer: &Explainer,
        pairs: &RankedPairs,
    ) -> Result<Tensor<2>> {
        batch.perturbed_or(|draws| {
            let ball = BallConfig {
                norm: Norm::L2,
                radius: self.radius.unwrap_or(batch.radius),
            };
            let mut frozen = batch.network.clone();
            frozen.untrack();
            let x = constant(&batch.x);
            let size = x.dims();
            // A direction that is uniform, and a length that makes the point uniform in the ball.
            let shifts = (0..size[0]).flat_map(|_| {
                let direction: Vec<f64> = (0..size[1]).map(|_| draws.normal()).collect();
                let length = direction.iter().map(|part| part * part).sum::<f64>().sqrt();
                #[expect(clippy::cast_precision_loss, reason = "features are far below 2^53")]
                let share = draws.uniform().powf(1.0 / size[1] as f64);
                let factor = ball.radius * share / length.max(f64::MIN_POSITIVE);
                direction.into_iter().map(move |part| part * factor)
            });
            let shifts: Vec<f64> = shifts.collect();
            let mut point = x.clone() + frozen.tensor(shifts, size);
            for step in STEPS {
                let at = point.clone().autodiff().require_grad();
                let importance = explainer.importance(&frozen, at.clone());
                // An explanation that does not move with x is recorded by the second term alone.
                let loss = pairs.mean_loss(&importance, self.ranking()) + (at.clone() * 0.0).sum();
                let gradients = loss.backward();
                let Some(gradient) = at.grad(&gradients) else {
                    break;
                };
                let moved = point + ball.directions(gradient) * (step * ball.radius);
                point = ball.nearest(&x, moved);
            }
            Ok(point)
        })
    }
}

impl Objective for TaughtConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`taught.weight`", self.weight)?;
        check_weight("`taught.margin`", self.margin)?;
        check_positive("`taught.softness`", self.softness)?;
        check_positive("`taught.rho`", self.rho)?;
        check_share("`taught.warmup`", self.warmup)?;
        check_share("`taught.ramp`", self.ramp)?;
        if let Some(radius) = self.radius {
            check_positive("`taught.radius`", radius)?;
        }
        self.teacher.as_ref().map_or(Ok(()), Objective::check)
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
        let here = pairs.mean_loss(&at.value(), self.ranking());
        let point = self.searched(batch, &explainer, &pairs)?;
        let beside = explainer.importance(batch.network, point);
        let worst = pairs.mean_loss(&beside, self.ranking());
        Ok(loss
            .plus("ranking", share * self.weight / 2.0, here, false)
            .plus("worst ranking", share * self.weight, worst, false))
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

    fn model(&self, model: ModelConfig) -> ModelConfig {
        model.with_activation(Activation::Softplus { beta: self.rho })
    }

    fn teacher(&self) -> Option<Teacher> {
        if self.taught_by == TaughtBy::Plain {
            return Some(Teacher {
                model: None,
                objective: SoftplusConfig { rho: self.rho }.into(),
                train: Self::training(),
            });
        }
        let model = self.teacher_model.as_deref().cloned().unwrap_or_default();
        let given = self.teacher.clone().unwrap_or_default();
        let objective = DistinctConfig {
            explain: self.explain.clone().or(given.explain.clone()),
            ..given
        };
        Some(Teacher {
            model: Some(ModelConfig::Segmented(model)),
            objective: objective.into(),
            train: DistinctConfig::training(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::batch::sample;
    use crate::toy;

    #[test]
    fn on_a_linear_model_the_worst_point_ranks_like_the_row() {
        // The gradient's shares are the same everywhere: (12, 6, 3) / 16 with the mean 7 / 16. So both ranking losses are one
        // number, and the weights are one and a half times `weight`.
        let level = |importance: f64| (importance / 0.35).ln_1p();
        let pair = |other: f64| {
            let short = (0.5 - level(12.0) + level(other)) / 0.25;
            0.25 * short.exp().ln_1p()
        };
        let config = TaughtConfig {
            weight: 0.4,
            radius: Some(0.5),
            warmup: 0.0,
            ramp: 0.0,
            ..TaughtConfig::default()
        };
        let ranking = f64::midpoint(pair(6.0), pair(3.0));
        let got = sample::toy_loss(config, toy::row(), None);
        toy::assert_close(&[got], &[-0.75_f64.ln() + 0.6 * ranking]);
    }

    #[test]
    fn a_plain_teacher_is_the_network_itself_by_the_class_loss_alone() {
        let text = "weight = 0.4\nrho = 2.0\ntaught_by = \"plain\"";
        let config: TaughtConfig = toml::from_str(text).unwrap();
        let teacher = config.teacher().unwrap();
        assert_eq!(teacher.model, None);
        assert_eq!(teacher.objective, SoftplusConfig { rho: 2.0 }.into());
        let usual = TaughtConfig::default().teacher().unwrap();
        assert_eq!(usual.model, Some(SegmentedConfig::default().into()));
        assert_eq!(usual.objective, DistinctConfig::default().into());
    }
}
