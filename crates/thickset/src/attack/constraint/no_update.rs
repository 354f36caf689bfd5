//! Fixed equal weights.

use serde::{Deserialize, Serialize};

use super::{Constraint, Multipliers, Observation, check_values, uniform};
use crate::Result;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "no-update",
    label: "no update",
    family: Family::Constraint,
    summary: "The objective and each kept prediction weigh the same throughout",
    formula: "w_s = 1 / (S + 1)",
    source: "R2ET, B.2.3",
    direction: None,
    cost: "one more gradient a step",
    defaults: &[],
};

/// It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoUpdateConfig {}

impl Constraint for NoUpdateConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn multipliers(&self, constraints: usize) -> Result<Option<Box<dyn Multipliers>>> {
        Ok(Some(Box::new(NoUpdate::new(constraints))))
    }
}

/// The weights `1 / (S + 1)`.
#[derive(Debug, Clone, PartialEq)]
pub struct NoUpdate {
    weights: Vec<f64>,
}

impl NoUpdate {
    /// For this many constraints.
    #[must_use]
    pub fn new(constraints: usize) -> Self {
        Self {
            weights: uniform(constraints),
        }
    }
}

impl Multipliers for NoUpdate {
    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn update(&mut self, observation: Observation) -> Result<()> {
        check_values(&self.weights, observation.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_stay_equal() {
        let mut rule = NoUpdate::new(3);
        rule.update(Observation {
            values: &[1.0, 9.0, 0.0, 2.0],
            gradients: &[],
        })
        .unwrap();
        assert_eq!(rule.weights(), [0.25; 4]);
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let mut rule = NoUpdateConfig {}.multipliers(1).unwrap().unwrap();
        let mut update = |values: &[f64]| {
            rule.update(Observation {
                values,
                gradients: &[],
            })
        };
        assert!(update(&[1.0, 2.0]).is_ok());
        assert!(update(&[1.0]).is_err() && update(&[1.0, f64::NAN]).is_err());
    }
}
