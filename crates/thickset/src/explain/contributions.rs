//! Contributions: what each of a row's own values adds to its score, compared with a reference row.
//!
//! Integrated gradients of the score `m = z_c - mean of the other logits` (with two classes the log-odds of the class) from a
//! reference row b to x: `I = (x - b) ∫ ∂m/∂x (b + t (x - b)) dt` over t from 0 to 1. They are signed, a value that equals the
//! reference's contributes nothing, and they add up: their sum is `m(x) - m(b)`. Summed over the features of a column, they name
//! nothing that a person does not have: a category's contribution is that of having it instead of the reference's.
//!
//! On dense layers with `ReLU` the gradient is constant between the kinks of the way, so the integral is a sum, and
//! [lines](line) find every kink: no error but rounding, for about the work of one gradient. Everywhere else, and where an objective
//! differentiates contributions in the weights, it is a Gauss-Legendre rule of `points` points.

pub(crate) mod line;
mod quadrature;
mod reference;

pub use reference::Reference;

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Pass, Tensor};

use self::quadrature::Rule;
use super::reduce::ReductionConfig;
use super::stack::{add, groups};
use super::{
    Binding, Explain, ExplainConfig, Explanation, ExplanationAt, ExplanationConfig, Per,
    check_count,
};
use crate::Result;
use crate::check::as_f64;
use crate::data::Schema;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "contributions",
    label: "contributions",
    family: Family::Explanation,
    summary: "What each value adds to the score, compared with a reference row; signed, and they add up to the difference",
    formula: "I(x) = (x - b) ∫ ∂m/∂x (b + t (x - b)) dt, m = z_c - mean of the other logits",
    source: "thickset; integrated gradients (Sundararajan et al. 2017) without error on ReLU networks",
    direction: None,
    cost: "about one forward and one pullback for dense layers with ReLU, else `points` of them",
    defaults: &[
        Setting::new(
            "reference",
            "median, mean-of-class:NAME, or a file with one row",
        ),
        Setting::new(
            "points",
            "of the quadrature, where kinks cannot be found: other layers than dense ones with ReLU",
        ),
        Setting::in_words(
            "training_points",
            "2",
            "of the quadrature while an objective trains for them",
        ),
    ],
};

/// The most points of the quadrature.
const MOST_POINTS: usize = 1000;

/// Points of the quadrature in training. Each costs a pass and its gradient; `docs/results/models.md` has what fewer and more of them give.
const TRAINING_POINTS: usize = 2;

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn is_usual(points: &usize) -> bool {
    *points == TRAINING_POINTS
}

/// Its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContributionsConfig {
    /// What rows are compared with.
    pub reference: Reference,
    /// Points of the quadrature, where kinks cannot be found.
    pub points: usize,
    /// Points of the quadrature by which an objective differentiates them in the weights.
    #[serde(skip_serializing_if = "is_usual")]
    pub training_points: usize,
    /// The reference row itself, encoded; filled in from what the model or the data has learned where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<Vec<f64>>,
}

impl Default for ContributionsConfig {
    fn default() -> Self {
        Self {
            reference: Reference::default(),
            points: 8,
            training_points: TRAINING_POINTS,
            row: None,
        }
    }
}

impl Explain for ContributionsConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn contributions(&self) -> Option<&ContributionsConfig> {
        Some(self)
    }

    fn usual_form(&self) -> Option<(ReductionConfig, Per)> {
        Some((ReductionConfig::Signed, Per::Column))
    }

    fn check(&self, schema: &Schema) -> Result<ExplanationConfig> {
        check_count(
            "`contributions.points`",
            "in 1..=1000",
            self.points,
            MOST_POINTS,
        )?;
        check_count(
            "`contributions.training_points`",
            "in 1..=1000",
            self.training_points,
            MOST_POINTS,
        )?;
        let row = self.reference.row(self.row.as_deref(), schema)?;
        Ok(Self {
            row: Some(row),
            ..self.clone()
        }
        .into())
    }

    fn bind(&self, network: &Network, to: Binding<'_>) -> Box<dyn Explanation> {
        Box::new(Contributions {
            reference: self.row(network.features()),
            rule: Rule::new(self.points),
            seeds: seeds(network, to.classes),
            rows: to.classes.len(),
        })
    }
}

impl ContributionsConfig {
    /// The reference row of a checked configuration.
    pub(super) fn row(&self, features: usize) -> Vec<f64> {
        let row = self.row.clone();
        row.unwrap_or_else(|| vec![0.0; features])
    }
}

impl ExplainConfig {
    /// The same as an objective differentiates it.
    pub(crate) fn for_training(mut self) -> Self {
        if let ExplanationConfig::Contributions(config) = &mut self.explanation {
            config.points = config.training_points;
        }
        self
    }
}

/// The score of a class as weights of the logits: 1 for its own, and minus one shared out among the others.
pub(crate) fn score_weights(class: usize, classes: usize) -> Vec<f64> {
    let other = -1.0 / as_f64(classes.saturating_sub(1).max(1));
    let mut weights = vec![other; classes];
    weights[class] = 1.0;
    weights
}

/// Places and weights of the quadrature of so many points.
pub(crate) fn quadrature_rule(points: usize) -> (Vec<f64>, Vec<f64>) {
    let rule = Rule::new(points);
    (rule.places, rule.weights)
}

/// The weights of each row's score, `[rows, classes]`.
fn seeds(network: &Network, classes: &[usize]) -> Tensor<2> {
    let count = network.classes();
    let weights = classes
        .iter()
        .flat_map(|&class| score_weights(class, count))
        .collect();
    network.tensor(weights, [classes.len(), count])
}

/// By quadrature, in tensors.
struct Contributions {
    reference: Vec<f64>,
    rule: Rule,
    seeds: Tensor<2>,
    rows: usize,
}

struct ContributionsAt<'p> {
    explanation: &'p Contributions,
    network: &'p Network,
    from: Tensor<2>,
    way: Tensor<2>,
    mean: Tensor<2>,
}

impl Explanation for Contributions {
    fn at<'p>(&'p self, pass: &'p Pass<'p>) -> Box<dyn ExplanationAt + 'p> {
        let (network, x) = (pass.network(), pass.input());
        let rows = self.reference.repeat(self.rows);
        let from = network.tensor(rows, [self.rows, network.features()]);
        let mut at = ContributionsAt {
            explanation: self,
            network,
            way: x.clone() - from.clone(),
            from,
            mean: x.zeros_like(),
        };
        at.mean = at.mean_of(|pass, seeds, _| pass.input_gradient(Output::Logit, seeds).value());
        Box::new(at)
    }
}

impl ContributionsAt<'_> {
    /// The weighted mean over the points of what `of` gives for a pass, its scores and the points' places.
    fn mean_of(&self, of: impl Fn(&Pass<'_>, Tensor<2>, &[f64]) -> Tensor<2>) -> Tensor<2> {
        let Contributions {
            rule, seeds, rows, ..
        } = self.explanation;
        let mut total = None;
        for group in groups(rule.places.len()) {
            let (places, weights) = (&rule.places[group.clone()], &rule.weights[group]);
            let point = |place: &f64| self.way.clone() * *place + self.from.clone();
            let points = Tensor::cat(places.iter().map(point).collect(), 0);
            let seeds = seeds.clone().repeat_dim(0, places.len());
            let batch = of(&self.network.pass(points), seeds, places);
            let width = batch.dims()[1];
            for (copy, weight) in weights.iter().enumerate() {
                let one = batch
                    .clone()
                    .slice([copy * rows..(copy + 1) * rows, 0..width]);
                add(&mut total, one * *weight);
            }
        }
        total.unwrap_or_else(|| self.way.zeros_like())
    }

    /// `∫ t H v dt`. The logits of a piecewise linear network have no second derivative.
    fn mean_product(&self, direction: &Tensor<2>) -> Tensor<2> {
        if self.network.is_piecewise_linear() {
            return direction.zeros_like();
        }
        self.mean_of(|pass, seeds, places| {
            let directions = places.iter().map(|place| direction.clone() * *place);
            pass.input_gradient(Output::Logit, seeds)
                .hessian_product(Tensor::cat(directions.collect(), 0))
        })
    }
}

impl ExplanationAt for ContributionsAt<'_> {
    fn value(&self) -> Tensor<2> {
        self.mean.clone() * self.way.clone()
    }

    /// `v ∫ g dt + (x - b) ∫ t H v dt`.
    fn tangent(&self, direction: Tensor<2>) -> Tensor<2> {
        let curved = self.way.clone() * self.mean_product(&direction);
        direction * self.mean.clone() + curved
    }

    /// `u ∫ g dt + ∫ t H (u (x - b)) dt`.
    fn pull_back(&self, weights: Tensor<2>) -> Tensor<2> {
        let curved = self.mean_product(&(weights.clone() * self.way.clone()));
        weights * self.mean.clone() + curved
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::explained;
    use super::*;
    use crate::toy;

    fn from(row: [f64; 3]) -> ContributionsConfig {
        ContributionsConfig {
            row: Some(row.to_vec()),
            ..ContributionsConfig::default()
        }
    }

    #[test]
    fn of_a_linear_score_they_are_its_weights_times_the_way() {
        // The toy's logits are (4, -2, 1) x and 0, so the score of the first class is the first logit.
        let config = from([1.0, 1.0, 1.0]);
        let [value, tangent, pulled] = explained(config, [2.0, 3.0, 0.0], [1.0, 10.0, 100.0]);
        toy::assert_close(&value, &[4.0, -4.0, -1.0]);
        toy::assert_close(&tangent, &[4.0, -20.0, 100.0]);
        toy::assert_close(&pulled, &[4.0, -20.0, 100.0]);
    }

    #[test]
    fn a_row_that_is_the_reference_has_none() {
        let [value, _, _] = explained(from(toy::row()), toy::row(), [1.0, 0.0, 0.0]);
        toy::assert_close(&value, &[0.0; 3]);
    }

    #[test]
    fn the_score_of_one_class_of_four_is_its_logit_minus_the_mean_of_the_others() {
        let weights = score_weights(1, 4);
        toy::assert_close(&weights, &[-1.0 / 3.0, 1.0, -1.0 / 3.0, -1.0 / 3.0]);
    }
}
