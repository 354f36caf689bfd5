//! Integrated gradients: the gradient averaged along the straight way from a baseline b to x, times that way.
//!
//! `I = (x - b) mean_j ∂f_c/∂x at b + a_j (x - b)`, with `a_j = (j + 1/2) / steps` (the midpoint rule; never at the baseline
//! itself). The attributions of a row add up to `f_c(x) - f_c(b)`, but for the error of the rule.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Tensor};

use super::stack::{add, groups, sum};
use super::{Attribution, Explanation, Of, check_count};
use crate::check::as_f64;
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

impl IntegratedGradientsConfig {
    pub(super) fn check(&self) -> Result<()> {
        check_count(
            "`integrated-gradients.steps`",
            "in 1..=10000",
            self.steps,
            MOST_STEPS,
        )?;
        if self.baseline.is_finite() {
            return Ok(());
        }
        Err(Error::OutOfRange {
            what: "`integrated-gradients.baseline`",
            expected: "finite",
            got: self.baseline,
        })
    }

    /// The points' places on the way, from 0 at the baseline to 1.
    fn places(&self) -> Vec<f64> {
        let shift = match self.rule {
            Rule::Midpoint => 0.5,
            Rule::Right => 1.0,
        };
        let place = |step: usize| (as_f64(step) + shift) / as_f64(self.steps);
        (0..self.steps).map(place).collect()
    }

    pub(super) fn path(&self, classes: Tensor<2>) -> IntegratedGradients {
        IntegratedGradients {
            of: self.of.into(),
            baseline: self.baseline,
            places: self.places(),
            classes,
        }
    }
}

pub(super) struct IntegratedGradients {
    of: Output,
    baseline: f64,
    places: Vec<f64>,
    classes: Tensor<2>,
}

impl IntegratedGradients {
    fn share(&self) -> f64 {
        1.0 / as_f64(self.places.len())
    }

    /// The points of some steps of all rows.
    fn points(&self, way: &Tensor<2>, places: &[f64]) -> Tensor<2> {
        let at = |place: &f64| way.clone() * *place + self.baseline;
        Tensor::cat(places.iter().map(at).collect(), 0)
    }

    /// The mean gradient on the way.
    fn mean_gradient(&self, network: &Network, way: &Tensor<2>) -> Tensor<2> {
        let mut total = None;
        for group in groups(self.places.len()) {
            let copies = group.len();
            let pass = network.pass(self.points(way, &self.places[group]));
            let classes = self.classes.clone().repeat_dim(0, copies);
            let gradients = pass.input_gradient(self.of, classes).value();
            add(&mut total, sum(&gradients, copies));
        }
        total.unwrap_or_else(|| way.zeros_like()) * self.share()
    }
}

impl Explanation for IntegratedGradients {
    fn attribute(&self, network: &Network, x: Tensor<2>) -> Attribution {
        let way = x - self.baseline;
        Attribution {
            value: self.mean_gradient(network, &way) * way,
            logits: None,
        }
    }

    /// `u mean_j g_j + mean_j a_j H_j (u (x - b))`.
    fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        slope: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let way = x - self.baseline;
        let mean = self.mean_gradient(network, &way);
        let u = slope(Attribution {
            value: mean.clone() * way.clone(),
            logits: None,
        });
        let direction = u.clone() * way.clone();
        let mut total = None;
        for group in groups(self.places.len()) {
            let copies = group.len();
            let places = &self.places[group];
            let pass = network.pass(self.points(&way, places));
            let classes = self.classes.clone().repeat_dim(0, copies);
            let directions = places.iter().map(|place| direction.clone() * *place);
            let products = pass
                .input_gradient(self.of, classes)
                .hessian_product(Tensor::cat(directions.collect(), 0));
            add(&mut total, sum(&products, copies));
        }
        let curved = total.unwrap_or_else(|| way.zeros_like()) * self.share();
        u * mean + curved
    }
}
