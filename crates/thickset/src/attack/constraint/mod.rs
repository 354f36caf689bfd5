//! How an attack weighs its objective against keeping the prediction.
//!
//! With the objective `g_0` and, for each prediction to keep, the divergence `g_s` from the original one (s = 1 to S; S is 1
//! for a classifier, 3 for a Siamese pair), an attack descends on `sum of w_s g_s(x)` (R2ET Eq. 57). The weights are not
//! negative and sum to 1; a [`Multipliers`] is the rule by which one row's weights change from step to step.

pub mod early_stop;
pub mod gda;
pub mod hedge;
pub mod no_update;
pub mod none;
pub mod qp;

use crate::Result;
use crate::check::{as_f64, check_finite, check_length, check_not_empty};
use crate::kinds::kinds;
use crate::registry::Info;

/// A way to keep the prediction, with its settings.
pub trait Constraint {
    /// The registry's entry.
    fn info(&self) -> &'static Info;

    /// Whether a row goes no further once a step changes its prediction.
    fn stops_at_change(&self) -> bool {
        false
    }

    /// Whether points of another prediction count like all others.
    fn ignores_predictions(&self) -> bool {
        false
    }

    /// The rule of one row for this many predictions; none where the objective alone is followed.
    ///
    /// # Errors
    /// When a setting is out of range.
    fn multipliers(&self, _constraints: usize) -> Result<Option<Box<dyn Multipliers>>> {
        Ok(None)
    }
}

kinds! {
    /// How an attack keeps the prediction: `constraint = { kind = "gda", rate = 1e-4 }`.
    #[derive(Copy)]
    pub enum ConstraintConfig of Constraint, read as "the constraint" {
        EarlyStop(early_stop::EarlyStopConfig),
        Gda(gda::GdaConfig),
        Hedge(hedge::HedgeConfig),
        NoUpdate(no_update::NoUpdateConfig),
        None(none::NoneConfig),
        Qp(qp::QpConfig),
    }
}

impl Default for ConstraintConfig {
    fn default() -> Self {
        Self::EarlyStop(early_stop::EarlyStopConfig {})
    }
}

/// The registry's entries of this family.
pub(crate) fn infos() -> impl Iterator<Item = &'static Info> {
    let kinds = ConstraintConfig::all().into_iter();
    kinds.map(|kind| kind.behaviour().info())
}

/// What an attack sees before a step: the objective first, then the constraints.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// The values `g_0` to `g_S`.
    pub values: &'a [f64],
    /// Their gradients.
    pub gradients: &'a [Vec<f64>],
}

/// A rule for the weights of one row.
pub trait Multipliers {
    /// The weights of the objective and the constraints; not negative, with sum 1.
    fn weights(&self) -> &[f64];

    /// Changes the weights before the next step.
    ///
    /// # Errors
    /// When the observation does not fit the number of weights, or is not finite.
    fn update(&mut self, observation: Observation) -> Result<()>;
}

/// Equal weights for an objective and this many constraints.
fn uniform(constraints: usize) -> Vec<f64> {
    vec![1.0 / as_f64(constraints + 1); constraints + 1]
}

/// Refuses values that do not fit the weights.
fn check_values(weights: &[f64], values: &[f64]) -> Result<()> {
    check_not_empty("the weights", weights)?;
    check_length(
        "the values of the objective and the constraints",
        values,
        weights.len(),
    )?;
    check_finite("the values of the objective and the constraints", values)
}

/// Divides by the sum.
fn normalise(weights: &mut [f64]) {
    let sum: f64 = weights.iter().sum();
    for weight in weights {
        *weight /= sum;
    }
}
