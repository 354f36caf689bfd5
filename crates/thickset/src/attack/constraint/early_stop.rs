//! Early stop: a row goes no further than the last step that kept its predictions.

use serde::{Deserialize, Serialize};

use super::Constraint;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "early-stop",
    label: "early stop",
    family: Family::Constraint,
    summary: "A row stays for ever where it was before the first step that changes its prediction",
    formula: "x_{t+1} = x_t from the first t with argmax f(x_{t+1}) != argmax f(x_0)",
    source: "R2ET's released code",
    direction: None,
    cost: "none",
    defaults: &[],
};

/// It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyStopConfig {}

impl Constraint for EarlyStopConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn stops_at_change(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objective_alone_is_followed_up_to_the_first_change() {
        let constraint = EarlyStopConfig::default();
        assert!(constraint.multipliers(1).unwrap().is_none());
        assert!(constraint.stops_at_change() && !constraint.ignores_predictions());
    }
}
