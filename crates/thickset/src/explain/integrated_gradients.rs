//! Integrated gradients: the gradient averaged along the straight way from a baseline b to x, times that way.
//!
//! `I = (x - b) mean_j ∂f_c/∂x at b + a_j (x - b)`, with `a_j = (j + 1/2) / steps` (the midpoint rule; never at the baseline
//! itself). The attributions of a row add up to `f_c(x) - f_c(b)`, but for the error of the rule. [`along`] is the same between
//! any two inputs, as some objectives take it.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Pass, Tensor};

use super::stack::{add, groups, sum};
use super::{
    Binding, Explain, Explanation, ExplanationAt, ExplanationConfig, Of, check_count, hot,
};
use crate::check::as_f64;
use crate::data::Schema;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "integrated-gradients",
    label: "Integrated Gradients",
    family: Family::Explanation,
    summary: "Gradient averaged along the way from a baseline, times that way; adds up to the change of the output",
    formula: "I(x) = (x - b) mean_j ∂f_c/∂x (b + a_j (x - b)), a_j = (j + 1/2) / steps",
    source: "IGR, Eq. 2; Sundararajan et al. 2017",
    direction: None,
    cost: "`steps` forwards and pullbacks",
    defaults: &[
        Setting::new("of", "probability, logit or loss of the class"),
        Setting::new("steps", "points on the way"),
        Setting::new(
            "baseline",
            "where the way starts, the same encoded value in every feature",
        ),
        Setting::new("rule", "midpoint, or right for a_j = (j + 1) / steps"),
    ],
};

const MOST_STEPS: usize = 10_000;

/// Where on its step a point lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// In the middle.
    #[default]
    Midpoint,
    /// At the end nearer to x.
    Right,
}

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntegratedGradientsConfig {
    /// Which output.
    pub of: Of,
    /// Points on the way.
    pub steps: usize,
    /// The value of every feature where the way starts.
    pub baseline: f64,
    /// Where on its step a point lies.
    pub rule: Rule,
}

impl Default for IntegratedGradientsConfig {
    fn default() -> Self {
        Self {
            of: Of::default(),
            steps: 100,
            baseline: 0.0,
            rule: Rule::default(),
        }
    }
}

impl Explain for IntegratedGradientsConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self, _schema: &Schema) -> Result<ExplanationConfig> {
        check_count(
            "`integrated-gradients.steps`",
            "in 1..=10000",
            self.steps,
            MOST_STEPS,
        )?;
        if self.baseline.is_finite() {
            return Ok((*self).into());
        }
        Err(Error::OutOfRange {
            what: "`integrated-gradients.baseline`",
            expected: "finite",
            got: self.baseline,
        })
    }

    fn integrated_gradients(&self) -> Option<&IntegratedGradientsConfig> {
        Some(self)
    }

    fn bind(&self, network: &Network, to: Binding<'_>) -> Box<dyn Explanation> {
        Box::new(IntegratedGradients {
            config: *self,
            classes: hot(network, to.classes),
        })
    }
}

/// The attribution of an output along the straight path between two inputs: `path * mean_j g(from + a_j path)`, of the
/// classes, one-hot; `[rows, features]`, differentiable in weights and inputs.
#[must_use]
pub fn along(
    network: &Network,
    from: &Tensor<2>,
    to: &Tensor<2>,
    (output, classes): (Output, &Tensor<2>),
    rule: Rule,
    steps: usize,
) -> Tensor<2> {
    let path = Path::new(from.clone(), to.clone(), rule, steps);
    let sum = path.gradient_sum(network, output, classes);
    path.way.clone() * sum * path.share()
}

/// From a zero baseline, of the classes' logit, by the midpoint rule: the attribution that IGR and `AdvAAT` compare.
#[must_use]
pub fn of_logit(network: &Network, x: &Tensor<2>, classes: &Tensor<2>, steps: usize) -> Tensor<2> {
    let of = (Output::Logit, classes);
    along(network, &x.zeros_like(), x, of, Rule::Midpoint, steps)
}

/// A straight path between two inputs, and the places on it where gradients are taken.
struct Path {
    from: Tensor<2>,
    way: Tensor<2>,
    /// From 0 at the start to 1.
    places: Vec<f64>,
}

impl Rule {
    /// Where gradients are taken on a way of so many steps, from 0 at its start to 1.
    pub(super) fn places(self, steps: usize) -> Vec<f64> {
        let shift = match self {
            Self::Midpoint => 0.5,
            Self::Right => 1.0,
        };
        let place = |step: usize| (as_f64(step) + shift) / as_f64(steps);
        (0..steps).map(place).collect()
    }
}

impl Path {
    fn new(from: Tensor<2>, to: Tensor<2>, rule: Rule, steps: usize) -> Self {
        Self {
            way: to - from.clone(),
            from,
            places: rule.places(steps),
        }
    }

    fn share(&self) -> f64 {
        1.0 / as_f64(self.places.len())
    }

    /// Runs all places of all rows, some at once; `of` gives a batch for each group's pass, classes and places.
    fn sum(
        &self,
        network: &Network,
        classes: &Tensor<2>,
        of: impl Fn(&Pass<'_>, Tensor<2>, &[f64]) -> Tensor<2>,
    ) -> Tensor<2> {
        let mut total = None;
        for group in groups(self.places.len()) {
            let places = &self.places[group];
            let point = |place: &f64| self.way.clone() * *place + self.from.clone();
            let points = Tensor::cat(places.iter().map(point).collect(), 0);
            let classes = classes.clone().repeat_dim(0, places.len());
            let batch = of(&network.pass(points), classes, places);
            add(&mut total, sum(&batch, places.len()));
        }
        total.unwrap_or_else(|| self.way.zeros_like())
    }

    /// The sum of the gradients.
    fn gradient_sum(&self, network: &Network, output: Output, classes: &Tensor<2>) -> Tensor<2> {
        self.sum(network, classes, |pass, classes, _| {
            pass.input_gradient(output, classes).value()
        })
    }

    /// `sum_j a_j H_j v`: how the sum of the gradients changes when the end of the path moves along v.
    fn product_sum(
        &self,
        network: &Network,
        output: Output,
        classes: &Tensor<2>,
        direction: &Tensor<2>,
    ) -> Tensor<2> {
        self.sum(network, classes, |pass, classes, places| {
            let directions = places.iter().map(|place| direction.clone() * *place);
            pass.input_gradient(output, classes)
                .hessian_product(Tensor::cat(directions.collect(), 0))
        })
    }
}

struct IntegratedGradients {
    config: IntegratedGradientsConfig,
    classes: Tensor<2>,
}

struct IntegratedGradientsAt<'p> {
    explanation: &'p IntegratedGradients,
    network: &'p Network,
    path: Path,
    mean: Tensor<2>,
}

impl Explanation for IntegratedGradients {
    fn at<'p>(&'p self, pass: &'p Pass<'p>) -> Box<dyn ExplanationAt + 'p> {
        let (config, network, x) = (self.config, pass.network(), pass.input());
        let from = x.zeros_like() + config.baseline;
        let path = Path::new(from, x, config.rule, config.steps);
        let sum = path.gradient_sum(network, config.of.into(), &self.classes);
        Box::new(IntegratedGradientsAt {
            explanation: self,
            network,
            mean: sum * path.share(),
            path,
        })
    }
}

impl IntegratedGradientsAt<'_> {
    /// `mean_j a_j H_j v`.
    fn mean_product(&self, direction: &Tensor<2>) -> Tensor<2> {
        let IntegratedGradients { config, classes } = self.explanation;
        let of = config.of.into();
        self.path.product_sum(self.network, of, classes, direction) * self.path.share()
    }
}

impl ExplanationAt for IntegratedGradientsAt<'_> {
    fn value(&self) -> Tensor<2> {
        self.mean.clone() * self.path.way.clone()
    }

    /// `v mean_j g_j + (x - b) mean_j a_j H_j v`.
    fn tangent(&self, direction: Tensor<2>) -> Tensor<2> {
        let curved = self.path.way.clone() * self.mean_product(&direction);
        direction * self.mean.clone() + curved
    }

    /// `u mean_j g_j + mean_j a_j H_j (u (x - b))`.
    fn pull_back(&self, weights: Tensor<2>) -> Tensor<2> {
        let curved = self.mean_product(&(weights.clone() * self.path.way.clone()));
        weights * self.mean.clone() + curved
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::explained;
    use super::*;
    use crate::toy;

    #[test]
    fn of_a_logit_that_is_linear_they_are_the_weights_times_the_way() {
        let config = IntegratedGradientsConfig {
            of: Of::Logit,
            steps: 3,
            baseline: 1.0,
            ..IntegratedGradientsConfig::default()
        };
        let [value, tangent, pulled] = explained(config, [2.0, 3.0, 0.0], [1.0, 10.0, 100.0]);
        toy::assert_close(&value, &[4.0, -4.0, -1.0]);
        toy::assert_close(&tangent, &[4.0, -20.0, 100.0]);
        toy::assert_close(&pulled, &[4.0, -20.0, 100.0]);
    }

    #[test]
    fn one_step_by_the_right_rule_is_the_gradient_times_the_way() {
        let config = IntegratedGradientsConfig {
            steps: 1,
            rule: Rule::Right,
            ..IntegratedGradientsConfig::default()
        };
        let x = toy::row();
        let [value, tangent, _] = explained(config, x, [1.0, 0.0, 0.0]);
        toy::assert_close(&value, &[0.75 * x[0], -0.375, 0.375]);
        toy::assert_close(&tangent, &[0.75 - 1.5 * x[0], 0.75, -0.75]);
    }

    #[test]
    fn between_two_inputs_they_are_the_weights_times_the_way_there() {
        let network = toy::network();
        let (from, to) = (
            network.batch(&[1.0, 0.0, 0.0]),
            network.batch(&[1.0, 1.0, 2.0]),
        );
        let classes = hot(&network, &[0]);
        let of = (Output::Logit, &classes);
        let found = along(&network, &from, &to, of, Rule::Right, 12);
        toy::assert_close(&crate::host::read(found), &[0.0, -2.0, 2.0]);
    }
}
