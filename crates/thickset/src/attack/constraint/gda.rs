//! Gradient descent ascent: the weight of a prediction grows with how far it has moved.
//!
//! `w_s <- w_s + rate * g_s` for the constraints s = 1 to S; the objective's weight changes only by the division through
//! the sum that follows (R2ET Eq. 58). Weights start equal, which the paper leaves open.

use serde::{Deserialize, Serialize};

use super::{Constraint, Multipliers, Observation, check_values, normalise, uniform};
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "gda",
    label: "GDA",
    family: Family::Constraint,
    summary: "Weights of moved predictions grow by gradient ascent",
    formula: "w_s <- w_s + rate g_s(x) for s >= 1, then w <- w / sum(w)",
    source: "R2ET, Eq. 57 and 58",
    direction: None,
    cost: "one more gradient a step",
    defaults: &[Setting::new("rate", "step of the ascent")],
};

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GdaConfig {
    /// Step of the ascent.
    pub rate: f64,
}

impl Default for GdaConfig {
    fn default() -> Self {
        Self { rate: 1e-4 }
    }
}

impl Constraint for GdaConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn multipliers(&self, constraints: usize) -> Result<Option<Box<dyn Multipliers>>> {
        Ok(Some(Box::new(Gda::new(constraints, self.rate)?)))
    }
}

/// The rule's state for one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Gda {
    weights: Vec<f64>,
    rate: f64,
}

impl Gda {
    /// Equal weights for this many constraints.
    ///
    /// # Errors
    /// When the rate is negative or not finite.
    pub fn new(constraints: usize, rate: f64) -> Result<Self> {
        if !(rate >= 0.0 && rate.is_finite()) {
            return Err(Error::OutOfRange {
                what: "`gda.rate`",
                expected: "finite and not negative",
                got: rate,
            });
        }
        Ok(Self {
            weights: uniform(constraints),
            rate,
        })
    }
}

impl Multipliers for Gda {
    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn update(&mut self, observation: Observation) -> Result<()> {
        check_values(&self.weights, observation.values)?;
        for (weight, value) in self.weights.iter_mut().zip(observation.values).skip(1) {
            // A divergence is never negative; a rounding error below zero must not take a weight there.
            *weight = (*weight + self.rate * value).max(0.0);
        }
        normalise(&mut self.weights);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_prediction_gains_weight_and_the_objective_loses_it() {
        let mut rule = Gda::new(1, 0.5).unwrap();
        // (1/2, 1/2 + 1/2 * 2) = (1/2, 3/2), divided by 2.
        rule.update(Observation {
            values: &[100.0, 2.0],
            gradients: &[],
        })
        .unwrap();
        assert_eq!(rule.weights(), [0.25, 0.75]);
    }

    #[test]
    fn predictions_that_hold_change_nothing() {
        let mut rule = Gda::new(3, 1.0).unwrap();
        rule.update(Observation {
            values: &[-7.0, 0.0, 0.0, 0.0],
            gradients: &[],
        })
        .unwrap();
        assert_eq!(rule.weights(), [0.25; 4]);
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let mut rule = Gda::new(1, 1.0).unwrap();
        assert!(
            rule.update(Observation {
                values: &[1.0],
                gradients: &[]
            })
            .is_err()
        );
        assert!(
            rule.update(Observation {
                values: &[1.0, f64::NAN],
                gradients: &[]
            })
            .is_err()
        );
        assert!(Gda::new(1, -1.0).is_err());
    }

    #[test]
    fn a_rate_of_nothing_is_taken_and_one_without_end_is_not() {
        assert!(Gda::new(1, 0.0).is_ok());
        assert!(Gda::new(1, f64::INFINITY).is_err() && Gda::new(1, f64::NAN).is_err());
        let rule = GdaConfig::default().multipliers(3).unwrap().unwrap();
        assert_eq!(rule.weights(), [0.25; 4]);
    }
}
