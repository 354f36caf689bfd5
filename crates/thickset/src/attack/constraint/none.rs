//! No constraint: all weight on the objective.

use serde::{Deserialize, Serialize};

use super::Constraint;
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

/// It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoneConfig {}

impl Constraint for NoneConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn ignores_predictions(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objective_alone_is_followed_and_every_point_counts() {
        let constraint = NoneConfig::default();
        assert!(constraint.multipliers(1).unwrap().is_none());
        assert!(constraint.ignores_predictions() && !constraint.stops_at_change());
    }
}
