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

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::check::{as_f64, check_finite, check_length, check_not_empty};

/// How an attack keeps the prediction: `constraint = { kind = "gda", rate = 1e-4 }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ConstraintConfig {
    /// A row stops before its prediction changes.
    #[default]
    EarlyStop,
    /// Weights by gradient ascent.
    Gda {
        /// Step of the ascent.
        #[serde(default = "default_rate")]
        rate: f64,
    },
    /// Weights by the exponential of values.
    Hedge {
        /// Factor in the exponent.
        #[serde(default = "default_rate")]
        rate: f64,
    },
    /// Equal weights.
    NoUpdate,
    /// The prediction is ignored.
    None,
    /// Weights of the shortest combined gradient.
    Qp,
}

fn default_rate() -> f64 {
    1e-4
}

impl ConstraintConfig {
    /// The registry's id.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::EarlyStop => early_stop::INFO.id,
            Self::Gda { .. } => gda::INFO.id,
            Self::Hedge { .. } => hedge::INFO.id,
            Self::NoUpdate => no_update::INFO.id,
            Self::None => none::INFO.id,
            Self::Qp => qp::INFO.id,
        }
    }

    /// The rule of one row for this many predictions; none where the objective alone is followed.
    pub(super) fn multipliers(self, constraints: usize) -> Result<Option<Box<dyn Multipliers>>> {
        Ok(match self {
            Self::EarlyStop | Self::None => None,
            Self::Gda { rate } => Some(Box::new(gda::Gda::new(constraints, rate)?)),
            Self::Hedge { rate } => Some(Box::new(hedge::Hedge::new(constraints, rate)?)),
            Self::NoUpdate => Some(Box::new(no_update::NoUpdate::new(constraints))),
            Self::Qp => Some(Box::new(qp::Qp::new(constraints))),
        })
    }
}

impl std::str::FromStr for ConstraintConfig {
    type Err = crate::Error;

    /// Reads an id, or an inline TOML table with settings.
    fn from_str(text: &str) -> Result<Self> {
        crate::inline::parse("the constraint", text)
    }
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
