//! MSE attack: raises the squared change of the explanation.
//!
//! `max_x' ||I(x') - I(x)||^2` (R2ET section 6). At x itself the change and its gradient are zero, so the first step follows
//! `I(x') - I(x) + nudge` instead.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::goal::{Goal, Goals};
use super::{Attack, AttackOption, Plan, Setup, descent};
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "mse-attack",
    label: "MSE attack",
    family: Family::Attack,
    summary: "Raises the squared change of the explanation",
    formula: "max_x' ||I(x') - I(x)||_2^2",
    source: "R2ET, section 6; Dombrowski et al. 2019",
    direction: None,
    cost: "one explanation and one Hessian product a step",
    defaults: &[Setting::new(
        "nudge",
        "added to every change in the first step, whose gradient is zero else",
    )],
};

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MseAttackConfig {
    /// Added to every change in the first step.
    pub nudge: f64,
}

impl Default for MseAttackConfig {
    fn default() -> Self {
        Self { nudge: 0.01 }
    }
}

impl Attack for MseAttackConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        descent::OPTIONS
    }

    fn plan(&self, _: &Setup<'_>) -> Result<Plan> {
        if !self.nudge.is_finite() {
            return Err(Error::OutOfRange {
                what: "`mse-attack.nudge`",
                expected: "finite",
                got: self.nudge,
            });
        }
        Ok(Plan::Descent(Arc::new(*self)))
    }
}

impl Goals for MseAttackConfig {
    fn goal(&self, reference: &[f64], _: &TopK) -> Box<dyn Goal> {
        Box::new(Distance {
            reference: reference.to_vec(),
            nudge: self.nudge,
        })
    }
}

struct Distance {
    reference: Vec<f64>,
    nudge: f64,
}

impl Goal for Distance {
    fn evaluate(&mut self, step: usize, importance: &[f64], slope: &mut [f64]) -> f64 {
        let nudge = if step == 0 { self.nudge } else { 0.0 };
        let mut value = 0.0;
        let pairs = importance.iter().zip(&self.reference);
        for ((importance, reference), slope) in pairs.zip(slope) {
            let change = importance - reference + nudge;
            value -= change * change;
            *slope = -2.0 * change;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_the_squared_change_and_only_the_first_step_is_nudged() {
        let reference = [1.0, 2.0];
        let top = TopK::of(&reference, 1).unwrap();
        let mut goal = MseAttackConfig { nudge: 0.5 }.goal(&reference, &top);
        let mut slope = [0.0; 2];
        // At the row itself nothing changed: only the nudge shows a way.
        assert!((goal.evaluate(0, &reference, &mut slope) + 0.5).abs() < 1e-15);
        assert!(slope.iter().all(|slope| (slope + 1.0).abs() < 1e-15));
        // (3 - 1)^2 + (1 - 2)^2.
        assert!((goal.evaluate(1, &[3.0, 1.0], &mut slope) + 5.0).abs() < 1e-15);
        assert!((slope[0] + 4.0).abs() < 1e-15 && (slope[1] - 2.0).abs() < 1e-15);
    }
}
