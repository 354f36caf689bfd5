//! The class loss and the radius in which the ranking holds, to first order: `L = CE - w r`,
//! `r = min over salient i and other j of (I_i - I_j) / (||H_i - H_j||_2 + 1e-6)`, capped at 5 (R2ET, Prop. 4.5 with the
//! Hessian taken at x; a Taylor estimate and no certificate).
//!
//! With s the gradient's signs, `I_i - I_j = <g, d>` and `H_i - H_j = H d` for `d = s_i e_i - s_j e_j`. So once the least
//! pair is known, which takes the whole Hessian as a constant, one exact product along d is all that is differentiated.

use serde::{Deserialize, Serialize};
use thickset_engine::{Output, Tensor};

use super::term::gap::Pairs;
use super::term::hessian_norm::lengths;
use super::term::reading::{check_gradient, constant, explanation, mean_over_rows, values};
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::{check_positive, check_weight};
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
}

impl Default for ClConfig {
    fn default() -> Self {
        Self {
            weight: 0.01,
            cap: 5.0,
            adaptive: false,
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
        let classes = batch.predicted(&pass)?;
        let direction = least_pairs(batch, &classes)?;
        let gradient = pass.input_gradient(Output::Probability, classes);
        let gaps = (gradient.value() * direction.clone()).sum_dim(1);
        let norms = lengths(gradient.hessian_product(direction)) + LEAST_NORM;
        let radius = mean_over_rows((gaps / norms).clamp_max(self.cap));
        Ok(loss.plus("radius", -self.weight, radius, self.adaptive))
    }
}

/// `d` of each row's pair with the least quotient, a constant.
fn least_pairs(batch: &Batch<'_>, classes: &Tensor<2>) -> Result<Tensor<2>> {
    let mut frozen = batch.network.clone();
    frozen.untrack();
    let pass = frozen.pass(constant(&batch.x));
    let gradient = pass.input_gradient(Output::Probability, classes.clone());
    let [rows, features] = batch.x.dims();
    let (gradients, hessians) = (values(&gradient.value()), values(&gradient.hessian()));
    check_gradient(&gradients)?;
    let ranked = match batch.reference {
        None => gradients.clone(),
        Some(reference) => explanation(reference, constant(&batch.x))?,
    };
    // Refuses a k that does not fit, in the same words as every other objective.
    batch.pair_weights(&gradient.value(), Pairs::All, None)?;
    let mut directions = vec![0.0; rows * features];
    for (row, direction) in directions.chunks_mut(features).enumerate() {
        let of_row = row * features..(row + 1) * features;
        let (g, ranked) = (&gradients[of_row.clone()], &ranked[of_row]);
        let hessian = &hessians[row * features * features..(row + 1) * features * features];
        let magnitudes: Vec<f64> = ranked.iter().map(|value| value.abs()).collect();
        let salient = TopK::of(&magnitudes, batch.k)?;
        let (i, j) = least_pair(g, hessian, &salient);
        direction[i] = sign(g[i]);
        direction[j] = -sign(g[j]);
    }
    Ok(batch.network.tensor(directions, [rows, features]))
}

fn least_pair(g: &[f64], hessian: &[f64], salient: &TopK) -> (usize, usize) {
    let features = g.len();
    let mut least = (f64::INFINITY, (0, 0));
    for i in salient.iter() {
        for j in (0..features).filter(|&j| !salient.contains(j)) {
            let (of_i, of_j) = (&hessian[i * features..], &hessian[j * features..]);
            let square: f64 = of_i[..features]
                .iter()
                .zip(&of_j[..features])
                .map(|(a, b)| (sign(g[i]) * a - sign(g[j]) * b).powi(2))
                .sum();
            let quotient = (g[i].abs() - g[j].abs()) / (square.sqrt() + LEAST_NORM);
            if quotient < least.0 {
                least = (quotient, (i, j));
            }
        }
    }
    least.1
}

/// 1, -1, or 0 at zero.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}
