//! No constraint: all weight on the objective.

use super::{Multipliers, Observation, check_values};
use crate::Result;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "none",
    label: "unconstrained",
    family: Family::Constraint,
    summary: "The attack ignores the prediction",
    formula: "w = (1, 0, …, 0)",
    source: "R2ET, B.2.3",
    direction: None,
    cost: "none",
    defaults: &[],
};

/// The weights `(1, 0, …, 0)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Unconstrained {
    weights: Vec<f64>,
}

impl Unconstrained {
    /// For this many constraints, all of them ignored.
    #[must_use]
    pub fn new(constraints: usize) -> Self {
        let mut weights = vec![0.0; constraints + 1];
        weights[0] = 1.0;
        Self { weights }
    }
}

impl Multipliers for Unconstrained {
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
    fn the_objective_keeps_all_weight() {
        let mut rule = Unconstrained::new(3);
        rule.update(Observation {
            values: &[1.0, 9.0, 9.0, 9.0],
            gradients: &[],
        })
        .unwrap();
        assert_eq!(rule.weights(), [1.0, 0.0, 0.0, 0.0]);
    }
}
