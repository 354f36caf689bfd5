//! Hedge, or multiplicative weights: every weight grows by the exponential of its value.
//!
//! `w <- w * exp(rate * (g_0, g_1, …, g_S))`, then division by the sum (R2ET Eq. 59). The paper divides before it
//! multiplies; dividing after gives the same direction of descent and keeps the weights in range. Weights start equal.

use serde::{Deserialize, Serialize};

use super::{Constraint, Multipliers, Observation, check_values, normalise, uniform};
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "hedge",
    label: "Hedge",
    family: Family::Constraint,
    summary: "Weights grow by the exponential of their values",
    formula: "w <- w exp(rate g(x)), then w <- w / sum(w)",
    source: "R2ET, Eq. 57 and 59",
    direction: None,
    cost: "one more gradient a step",
    defaults: &[Setting::new("rate", "factor in the exponent")],
};

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HedgeConfig {
    /// Factor in the exponent.
    pub rate: f64,
}

impl Default for HedgeConfig {
    fn default() -> Self {
        Self { rate: 1e-4 }
    }
}

impl Constraint for HedgeConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn multipliers(&self, constraints: usize) -> Result<Option<Box<dyn Multipliers>>> {
        Ok(Some(Box::new(Hedge::new(constraints, self.rate)?)))
    }
}

/// The rule's state for one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Hedge {
    /// Logarithms of weights up to a common term, so that none is ever lost to underflow.
    logarithms: Vec<f64>,
    weights: Vec<f64>,
    rate: f64,
}

impl Hedge {
    /// Equal weights for this many constraints.
    ///
    /// # Errors
    /// When the rate is negative or not finite.
    pub fn new(constraints: usize, rate: f64) -> Result<Self> {
        if !(rate >= 0.0 && rate.is_finite()) {
            return Err(Error::OutOfRange {
                what: "`hedge.rate`",
                expected: "finite and not negative",
                got: rate,
            });
        }
        Ok(Self {
            logarithms: vec![0.0; constraints + 1],
            weights: uniform(constraints),
            rate,
        })
    }
}

impl Multipliers for Hedge {
    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn update(&mut self, observation: Observation) -> Result<()> {
        check_values(&self.weights, observation.values)?;
        for (logarithm, value) in self.logarithms.iter_mut().zip(observation.values) {
            *logarithm += self.rate * value;
        }
        let largest = self
            .logarithms
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        for (weight, logarithm) in self.weights.iter_mut().zip(&mut self.logarithms) {
            *logarithm -= largest;
            *weight = logarithm.exp();
        }
        normalise(&mut self.weights);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_a_softmax_of_the_summed_values() {
        let mut rule = Hedge::new(1, 0.5).unwrap();
        for _ in 0..2 {
            rule.update(Observation {
                values: &[0.0, 3.0_f64.ln()],
                gradients: &[],
            })
            .unwrap();
        }
        // Two steps of half of ln 3: the second weight is three times the first.
        assert!((rule.weights()[0] - 0.25).abs() < 1e-15);
        assert!((rule.weights()[1] - 0.75).abs() < 1e-15);
    }

    #[test]
    fn huge_values_neither_overflow_nor_bury_a_weight_for_good() {
        let mut rule = Hedge::new(1, 1.0).unwrap();
        rule.update(Observation {
            values: &[1e4, 0.0],
            gradients: &[],
        })
        .unwrap();
        assert_eq!(rule.weights(), [1.0, 0.0]);
        rule.update(Observation {
            values: &[0.0, 1e4],
            gradients: &[],
        })
        .unwrap();
        assert_eq!(rule.weights(), [0.5, 0.5]);
    }

    #[test]
    fn a_rate_of_nothing_is_taken_and_one_without_end_is_not() {
        assert!(Hedge::new(1, 0.0).is_ok());
        assert!(Hedge::new(1, f64::INFINITY).is_err() && Hedge::new(1, f64::NAN).is_err());
        let rule = HedgeConfig::default().multipliers(3).unwrap().unwrap();
        assert_eq!(rule.weights(), [0.25; 4]);
    }
}
