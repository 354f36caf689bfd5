//! The quick attack that validation rows go through after each epoch, so that epochs can be chosen by P@k.
//!
//! It is `ERAttack` with few steps: from x, `x' <- Proj(x' - step * grad / ||grad||)` of the mean gap of x's own salient set.
//! The score of a row is the least P@k over the points where its class is still the predicted one. A floor for what a
//! full attack finds, not a measurement of stability.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Tensor};

use super::settings::check_count;
use crate::Result;
use crate::check::{as_f64, check_positive};
use crate::metric::precision_at_k::between;
use crate::metric::ranking::TopK;
use crate::objective::term::gap::{Pairs, pair_weights};
use crate::objective::term::hessian_norm::lengths;
use crate::objective::term::reading::{check_gradient, predicted, predicted_one_hot, values};

/// How far and how long the probe attacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeConfig {
    /// The most validation rows that are attacked; 0 attacks none, and the AUC alone selects.
    pub rows: usize,
    /// Steps of the attack.
    pub steps: usize,
    /// Radius of the l2 ball in encoded units; the dataset's own, or 0.5, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Takes directions from a softplus twin of this sharpness; from the network itself where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<f64>,
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self {
            rows: 256,
            steps: 20,
            epsilon: None,
            twin: None,
        }
    }
}

impl ProbeConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`].
    pub fn check(&self) -> Result<()> {
        check_count("`probe.steps`", self.steps)?;
        if let Some(epsilon) = self.epsilon {
            check_positive("`probe.epsilon`", epsilon)?;
        }
        self.twin
            .map_or(Ok(()), |twin| check_positive("`probe.twin`", twin))
    }
}

/// Attacks explanations and says how much of them holds.
pub trait Probe {
    /// The mean P@k of the rows under attack, in `[0, 1]`.
    ///
    /// # Errors
    /// If the model has diverged, or k does not fit the features.
    fn precision_at_k(&self, network: &Network, x: &Tensor<2>, k: usize) -> Result<f64>;
}

/// The quick `ERAttack`.
#[derive(Clone, Debug)]
pub struct ErProbe {
    /// Radius of the l2 ball.
    pub epsilon: f64,
    /// Steps of the attack.
    pub steps: usize,
    /// Sharpness of the softplus twin that gives directions.
    pub twin: Option<f64>,
}

impl Probe for ErProbe {
    fn precision_at_k(&self, network: &Network, x: &Tensor<2>, k: usize) -> Result<f64> {
        let guide = match self.twin {
            None => network.clone(),
            Some(beta) => network.smooth_twin(beta),
        };
        let features = network.features();
        let pass = network.pass(x.clone());
        let kept_classes = predicted(&pass.logits())?;
        let classes = predicted_one_hot(network, &pass.logits())?;
        let explain = |at: &Tensor<2>| -> Result<(Vec<usize>, Vec<TopK>, Vec<f64>)> {
            let pass = network.pass(at.clone());
            let gradient = pass.input_gradient(Output::Probability, classes.clone());
            let explanation = values(&gradient.value());
            check_gradient(&explanation)?;
            let sets = explanation
                .chunks(features)
                .map(|row| {
                    let magnitudes: Vec<f64> = row.iter().map(|value| value.abs()).collect();
                    TopK::of(&magnitudes, k)
                })
                .collect::<Result<_>>()?;
            Ok((predicted(&pass.logits())?, sets, explanation))
        };
        let (_, own, explanation) = explain(x)?;
        let weights = pair_weights(&explanation, features, k, Pairs::All, None)?;
        let mut least = vec![1.0_f64; own.len()];
        let mut at = x.clone();
        let step = 2.5 * self.epsilon / as_f64(self.steps);
        for _ in 0..self.steps {
            let moving = at.clone().autodiff().require_grad();
            let pass = guide.pass(moving.clone());
            let gradient = pass.input_gradient(Output::Probability, classes.clone());
            let gradients = weights.mean_gap(gradient.value()).backward();
            let Some(direction) = moving.grad(&gradients) else {
                break;
            };
            let change = at - direction.clone() / lengths(direction) * step - x.clone();
            let shrink = (lengths(change.clone()).recip() * self.epsilon).clamp_max(1.0);
            at = x.clone() + change * shrink;
            let (now, sets, _) = explain(&at)?;
            for (row, set) in sets.iter().enumerate() {
                if now[row] == kept_classes[row] {
                    least[row] = least[row].min(between(&own[row], set)?);
                }
            }
        }
        Ok(least.iter().sum::<f64>() / as_f64(least.len().max(1)))
    }
}
